"""The page of `prompts`: for each model and task the blocks with their intervals and paired differences, and every sample
with the answers under all blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.report import cells
from mm_eval.report.comparison_table import with_margin
from mm_eval.report.page import page
from mm_eval.report.sample_rows import SampleRows, pictures
from mm_eval.runs.compare import p_text
from mm_eval.runs.prompts import PromptTrial, best_of

SHARES = ("unparsed", "truncated", "failed")


def write_prompts(path: Path, trials: Sequence[PromptTrial]) -> Path:
    """Writes the page and returns its path."""
    blocks = _blocks(trials)
    parts = [
        SampleRows(trial.runs[trial.baseline], [trial.runs.get(key) for key in blocks[1:]], model)
        for model, trial in enumerate(trials)
    ]
    lines = page(
        f"Prompts of {', '.join(trial.model for trial in trials)}",
        "differences.js",
        (row for part in parts for row in part),
        lambda: pictures(_digests(parts), [run.folder for t in trials for run in t.runs.values()], path.parent),
        lambda: _about(path.parent, trials, blocks),
    )
    return RunFolder(path.parent).write_lines(path.name, lines)


def _digests(parts: Sequence[SampleRows]) -> list[str]:
    return list(dict.fromkeys(digest for part in parts for digest in part.digests))


def _blocks(trials: Sequence[PromptTrial]) -> list[str]:
    """All prompt keys, the one that the others are compared with first."""
    return list(dict.fromkeys(key for trial in trials for key in (trial.baseline, *trial.runs)))


def _about(folder: Path, trials: Sequence[PromptTrial], blocks: Sequence[str]) -> dict[str, Any]:
    several = len(trials) > 1
    facts = [
        cells.facts_of(f"{trial.model}: {key}" if several else key, trial.runs[key], folder, said)
        for trial in trials
        for key, said in trial.said().items()
    ]
    title = f"Which prompt suits {', '.join(trial.model for trial in trials)}?"
    runs = [run for trial in trials for run in trial.runs.values()]
    sections = [_section(trial, model, name) for model, trial in enumerate(trials) for name in _names(trial)]
    return {
        **cells.about_page("prompts", title, runs, facts, blocks[0], blocks[1:]),
        "models": [trial.model for trial in trials],
        "differs": cells.warned(
            (f"{trial.model}: {key}" if several else key, run) for trial in trials for key, run in trial.runs.items()
        ),
        "sections": ([_matrix(trials, blocks)] if several else []) + sections,
        "hint": f"Differences are to {blocks[0]!r}, paired by doc, with docs on one picture drawn together. "
        "† is an exact interval. * can be told apart from 0 at 5%; p is corrected (Holm) for the number of blocks.",
    }


def _names(trial: PromptTrial) -> list[str]:
    return [*trial.groups, *trial.tasks]


def _section(trial: PromptTrial, model: int, name: str) -> dict[str, Any]:
    head = [
        ("metric", cells.TEXT),
        ("prompt", cells.TEXT),
        ("value", cells.NUMBER),
        (f"vs {trial.baseline}", cells.NUMBER),
    ]
    head += [("95% interval", cells.NUMBER), ("", cells.TEXT), ("p (Holm)", cells.NUMBER)]
    head += [(column, cells.NUMBER) for column in ("lost", "gained", "reworded", *SHARES)]
    rows = [
        row
        for place, metric in enumerate(trial.headlines(name))
        for row in _rows(trial, model, name, metric, not place)
    ]
    return {"title": f"{trial.model}: {name}", "tables": [cells.table(head, rows)], "said": list(trial.verdicts(name))}


def _rows(trial: PromptTrial, model: int, name: str, metric: str, counted: bool) -> Iterator[dict[str, Any]]:
    """A row a block for one number. counted: with flips and shares, which are of the docs and not of one metric."""
    changes = {prompt: change for prompt in trial.runs if (change := trial.change(prompt, name, metric))}
    scale = trial.scale(name, metric)
    far = cells.reach(change.difference for change in changes.values())
    for place, prompt in enumerate(trial.runs):
        found = trial.estimate(prompt, name, metric)
        asked = trial.asked_as(prompt, name)
        shown: list[cells.Cell] = [
            "" if place else metric.removesuffix(",none"),
            prompt if asked == prompt else f"{prompt} (as {asked})",
            "–" if found is None else with_margin(found, scale),
        ]
        change = changes.get(prompt)
        if change is None or found is None:
            shown += [""] * 4
        else:
            of = change.difference
            shown += [
                cells.difference(of, scale, told_apart=change.told_apart),
                cells.interval(of, scale),
                cells.drawing(of, far),
                p_text(change.corrected),
            ]
        shown += _counts(trial, model, prompt, name) if counted else [""] * (3 + len(SHARES))
        yield cells.row(shown, marked=bool(change and change.told_apart))


def _counts(trial: PromptTrial, model: int, prompt: str, name: str) -> list[cells.Cell]:
    counts = trial.runs[prompt].results["results"][name]
    shares = [f"{counts[share] / max(1, counts['n']):.1%}" for share in SHARES]
    if prompt not in trial.compared:
        return ["", "", "", *shares]
    lost, gained, reworded = trial.flips(prompt, name)
    return [
        cells.docs(lost, f"lost by {prompt} in {name}", model),
        cells.docs(gained, f"gained by {prompt} in {name}", model),
        str(reworded),
        *shares,
    ]


def _matrix(trials: Sequence[PromptTrial], blocks: Sequence[str]) -> dict[str, Any]:
    """Models x prompts for each number, each model's best marked."""
    tables = []
    for name in _names(trials[0]):
        for metric in trials[0].headlines(name):
            head = [(f"{name} {metric.removesuffix(',none')}", cells.TEXT), *((key, cells.NUMBER) for key in blocks)]
            rows = []
            for trial in trials:
                best = best_of(trial, name, metric)
                found = {key: trial.estimate(key, name, metric) for key in blocks}
                shown = [
                    "–" if e is None else with_margin(e, trial.scale(name, metric)) + (" *" if key in best else "")
                    for key, e in found.items()
                ]
                rows.append(cells.row([trial.model, *shown]))
            tables.append(cells.table(head, rows))
    said = ["* each model's best prompt; its interval is that of the number, see below for paired differences."]
    return {"title": "Models and prompts", "tables": tables, "said": said}
