"""The page of `compare`: the paired table of each run against the first, and every sample with all answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.report import cells
from mm_eval.report.comparison_table import below, described, letters, with_margin
from mm_eval.report.page import page
from mm_eval.report.sample_rows import SampleRows, pictures
from mm_eval.runs.compare import Change, Comparison, number, p_text
from mm_eval.runs.recorded import RecordedRun

HEAD = ("task", "metric")
NUMBERS = ("95% interval", "", "p (Holm)", "lost", "gained", "McNemar p", "p alone", "detectable", "docs")


def write_comparison(path: Path, first: RecordedRun, compared: Sequence[Comparison]) -> Path:
    """Writes the page and returns its path."""
    runs = [first, *(comparison.run for comparison in compared)]
    rows = SampleRows(first, runs[1:])
    lines = page(
        " and ".join(dict.fromkeys(run.model for run in runs)),
        "differences.js",
        rows,
        lambda: pictures(rows.digests, [run.folder for run in runs], path.parent),
        lambda: _about(path.parent, first, compared),
    )
    return RunFolder(path.parent).write_lines(path.name, lines)


def _about(folder: Path, first: RecordedRun, compared: Sequence[Comparison]) -> dict[str, Any]:
    names = letters(len(compared))
    runs = [first, *(comparison.run for comparison in compared)]
    facts = [cells.facts_of(name, run, folder, described(run)) for name, run in zip(["A", *names], runs, strict=True)]
    labels = [f"{name}: {run.model}" for name, run in zip(["A", *names], runs, strict=True)]
    title = f"{', '.join(labels[1:])} against {labels[0]}"
    return {
        **cells.about_page("compare", title, runs, facts, labels[0], labels[1:]),
        "differs": [
            *cells.warned(zip(["A", *names], runs, strict=True)),
            *(
                {"title": f"A and {name} were not asked the same", "said": comparison.differs}
                for name, comparison in zip(names, compared, strict=True)
                if comparison.differs
            ),
        ],
        "sections": [_section(name, comparison) for name, comparison in zip(names, compared, strict=True)],
        "hint": "Positive differences are in favour of the later run, except where lower is better (↓). Only docs that both "
        "runs scored are paired; docs on one picture are drawn together. * can be told apart from 0 at 5%, corrected (Holm) "
        "for the numbers of all runs in this table. Detectable: what as many docs would tell apart in 80% of evaluations.",
    }


def _section(letter: str, comparison: Comparison) -> dict[str, Any]:
    head = [(name, cells.TEXT) for name in HEAD] + [(name, cells.NUMBER) for name in ("A", letter, f"{letter} − A")]
    head += [(name, cells.NUMBER if name else cells.TEXT) for name in NUMBERS]
    rows, last = [], ""
    for change in comparison.changes:
        far = cells.reach(
            each.difference
            for each in comparison.changes
            if each.task == change.task and each.headline == change.headline
        )
        rows.append(_row(change, change.task if change.task != last else "", letter, far))
        last = change.task
    return {
        "title": f"{letter} against A",
        "tables": [cells.table(head, rows)],
        "said": list(below(comparison, letter)),
    }


def _row(change: Change, task: str, letter: str, far: float) -> dict[str, Any]:
    found, flips = change.difference, change.flips
    scale = max(abs(change.first.value), abs(change.second.value))
    metric = change.key.removesuffix(",none")
    flipped: list[cells.Cell] = ["", "", ""]
    if flips is not None:
        for place, (way, ids) in enumerate((("lost", flips.lost), ("gained", flips.gained))):
            said = f"{way} by {letter} in {change.task} ({metric})"
            flipped[place] = cells.docs([(change.task, doc_id) for doc_id in ids], said)
        flipped[2] = p_text(flips.p_value)
    shown: list[cells.Cell] = [
        task,
        metric + ("" if change.better else " ↓"),
        with_margin(change.first, scale),
        with_margin(change.second, scale),
        cells.difference(found, scale, told_apart=change.told_apart),
        cells.interval(found, scale),
        cells.drawing(found, far),
        p_text(change.corrected),
        *flipped,
        p_text(found.p_value),
        number(found.detectable, scale),
        str(found.docs),
    ]
    return cells.row(shown, part=not change.headline, marked=change.told_apart)
