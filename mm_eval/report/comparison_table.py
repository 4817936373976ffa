"""Comparisons for people (a table on the terminal) and for programs (JSON)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mm_eval.metrics.paired import Estimate
from mm_eval.report.safe import in_line, json_safe
from mm_eval.report.table import aligned
from mm_eval.runs.compare import EXACT, EXACT_NOTE, Change, Comparison, number, p_text, signed, spread, verdict
from mm_eval.runs.recorded import RecordedRun
from mm_eval.runs.results import warnings_of


def render(first: RecordedRun, compared: Sequence[Comparison], listed: int = 10, page: Path | None = None) -> str:
    """All comparisons: what differs in the asking first, then the numbers, a verdict, and the docs that flipped.

    page: where the page of this comparison is, for links to docs; else they are to each run's own report.
    """
    parts = [f"A: {describe(first)}"]
    names = letters(len(compared))
    for letter, comparison in zip(names, compared, strict=True):
        parts.append(f"{letter}: {describe(comparison.run)}")
    for letter, run in zip(["A", *names], [first, *(comparison.run for comparison in compared)], strict=True):
        parts += [f"warning: {letter}: {said}" for said in warnings_of(run.results)]
    for letter, comparison in zip(names, compared, strict=True):
        if comparison.differs:
            parts += ["", f"A and {letter} were not asked the same:", *(f"  {said}" for said in comparison.differs)]
    for letter, comparison in zip(names, compared, strict=True):
        parts += ["", *_table(comparison, letter).split("\n"), "", *below(comparison, letter)]
        parts += _flipped(comparison, listed, page)
    return "\n".join(map(in_line, parts))


def letters(count: int) -> list[str]:
    """What the runs after A are called."""
    return [chr(ord("B") + n) if n < 25 else f"run {n + 2}" for n in range(count)]


def describe(run: RecordedRun) -> str:
    """A run in one line."""
    return f"{run.folder} ({described(run)})"


def described(run: RecordedRun) -> str:
    """Its model and prompts."""
    keys = sorted(set(run.prompt_keys.values()))
    return f"{run.model}, prompt {'/'.join(keys)}{', sample data' if run.results['run'].get('sample') else ''}"


def _table(comparison: Comparison, letter: str) -> str:
    head = ["task", "metric", "A ± 95%", f"{letter} ± 95%", f"{letter} - A", "95% interval", "p"]
    head += ["p (Holm)"]
    head += ["detectable", "docs", "lost", "gained", "McNemar p"]
    rows, last = [], ""
    for change in comparison.changes:
        found, flips = change.difference, change.flips
        scale = max(abs(change.first.value), abs(change.second.value))
        row = [
            change.task if change.task != last else "",
            change.key.removesuffix(",none"),
            with_margin(change.first, scale),
            with_margin(change.second, scale),
            signed(found.value, scale) + (" *" if change.told_apart else ""),
            interval_text(found, scale),
            p_text(found.p_value),
        ]
        row += [p_text(change.corrected)]
        row += [number(found.detectable, scale), str(found.docs)]
        row += [str(len(flips.lost)), str(len(flips.gained)), p_text(flips.p_value)] if flips else ["", "", ""]
        rows.append(row)
        last = change.task
    return aligned(head, rows, left=2)


def interval_text(found: Estimate, scale: float, none: str = "-") -> str:
    """[-0.0100, +0.0340], the 95% interval of a difference, with a mark where it is exact."""
    if found.interval is None:
        return none
    return f"[{', '.join(signed(bound, scale) for bound in found.interval)}]" + (f" {EXACT}" if found.exact else "")


def with_margin(found: Estimate, scale: float) -> str:
    """A number with half its 95% interval, or the whole one where it is exact."""
    return f"{number(found.value, scale)} {spread(found, scale)}".rstrip()


def below(comparison: Comparison, letter: str) -> Iterator[str]:
    """Verdicts of the headline numbers, and what limits them."""
    for change in comparison.changes:
        if change.headline:
            yield verdict(change, letter, "A")
    if any(e.exact for c in comparison.changes for e in (c.first, c.second, c.difference)):
        yield EXACT_NOTE
    few = [c for c in comparison.changes if c.headline and c.difference.few and c.difference.margin is not None]
    for change in few:
        found = change.difference
        changed = "" if found.rarer is None else f" and {found.rarer} docs that changed"
        metric = change.key.split(",")[0]
        yield f"note: {change.task} ({metric}): {found.clusters} clusters{changed} are few: its interval may be too short"
    for task, (changed_answers, docs) in comparison.answers.items():
        yield f"{task}: {changed_answers} of {docs} docs were answered in other words"


def _flipped(comparison: Comparison, listed: int, page: Path | None) -> Iterator[str]:
    """The docs that flipped each way in each headline number, with where to look at them."""
    for change in comparison.changes if listed else ():
        if change.flips is None or not change.headline:
            continue
        metric = change.key.split(",")[0]
        for way, docs in (("lost", change.flips.lost), ("gained", change.flips.gained)):
            if docs:
                shown = ", ".join(map(str, docs[:listed])) + (f", ... ({len(docs)})" if len(docs) > listed else "")
                where = link(page or comparison.run.folder / "report.html", change.task, docs[0])
                yield f"{change.task} ({metric}) {way}: {shown}   {where}"


def link(page: Path, task: str, doc_id: int) -> str:
    """Where a doc stands in a page."""
    return f"{page}#{task}/{doc_id}"


def as_json(first: RecordedRun, compared: Sequence[Comparison]) -> str:
    """The same for programs."""
    rows = [
        {
            "run": str(comparison.run.folder),
            "differs": comparison.differs,
            "changed_answers": {task: {"changed": a, "docs": n} for task, (a, n) in comparison.answers.items()},
            "changes": [change_json(change) for change in comparison.changes],
        }
        for comparison in compared
    ]
    return json_safe(json.dumps({"first": str(first.folder), "compared": rows}, indent=2, ensure_ascii=False))


def change_json(change: Change) -> dict[str, Any]:
    """One number's change as JSON values."""
    found = change.difference
    row: dict[str, Any] = {
        "task": change.task,
        "metric": change.key,
        "headline": change.headline,
        "first": estimate_json(change.first),
        "second": estimate_json(change.second),
        "difference": estimate_json(found),
        "p": found.p_value,
        "p_holm": change.corrected,
        "detectable": found.detectable,
        "docs_needed": found.docs_needed,
    }
    if change.flips is not None:
        row["mcnemar"] = {
            "both_right": change.flips.both_right,
            "both_wrong": change.flips.both_wrong,
            "lost": list(change.flips.lost),
            "gained": list(change.flips.gained),
            "p": change.flips.p_value,
        }
    return row


def estimate_json(found: Estimate) -> dict[str, Any]:
    """A number with its interval as JSON values."""
    return {
        "value": found.value,
        "stderr": found.stderr,
        "interval": list(found.interval) if found.interval else None,
        "docs": found.docs,
        "clusters": found.clusters,
        "few": found.few,
        "exact": found.exact is not None,
        "note": found.note,
    }
