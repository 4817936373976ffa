"""Prompts compared: as text for the terminal, as JSON for programs, and as a page with every sample under all prompts.

The terminal has a line for each prompt with all its numbers side by side, the page a line for each number and prompt; both are
made of the same cells.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.features.study.compare_text import change_json, difference_cells, estimate_json, reach, with_margin
from mm_eval.features.study.prompts import PromptComparison, best_of
from mm_eval.results.number_text import EXACT, EXACT_NOTE, p_text, signed, spread
from mm_eval.results.page import SampleRows, about_differences, page, pictures, run_fact
from mm_eval.results.table import Cell, Column, DocCount, Row, Table, to_page, to_text
from mm_eval.values.safe import in_line, json_safe

SHARES = ("unparsed", "filtered", "refused", "truncated", "failed")
FLIPS = ("lost", "gained", "reworded")


def render(models: Sequence[PromptComparison]) -> str:
    """For each model and task a table and verdicts, and the matrix models x prompts where there are several models."""
    parts: list[str] = []
    for of_model in models:
        sample = of_model.runs[of_model.baseline].results.run.sample
        parts += [f"model: {of_model.model}{'   (sample data, not the benchmarks)' if sample else ''}", ""]
        warnings = [
            f"warning: {of_model.noun} {key!r}: {w}" for key, run in of_model.runs.items() for w in run.results.warnings
        ]
        parts += [*warnings, ""] if warnings else []
        for name in of_model.names:
            parts += [*to_text(_terminal_table(of_model, name)).split("\n"), ""]
            verdicts = list(of_model.verdicts(name))
            parts += [*verdicts, ""] if verdicts else []
        parts += [EXACT_NOTE, ""] if any(EXACT in part for part in parts) else []
        parts += [f"{of_model.noun} {key!r}: {text}" for key, text in of_model.block_texts().items()] + [""]
    if len(models) > 1:
        for table in _matrix(models):
            parts += [*to_text(table).split("\n"), ""]
        parts.append("* each model's best prompt; its interval is that of the number, see above for paired differences")
    return "\n".join(map(in_line, parts)).rstrip()


def write_prompts(path: Path, models: Sequence[PromptComparison]) -> Path:
    """Writes the page and returns its path."""
    prompts = _prompts(models)
    parts = [
        SampleRows(of_model.runs[of_model.baseline], [of_model.runs.get(key) for key in prompts[1:]], place)
        for place, of_model in enumerate(models)
    ]
    folders = [run.folder for of_model in models for run in of_model.runs.values()]
    lines = page(
        f"{models[0].noun.capitalize()}s of {', '.join(of_model.model for of_model in models)}",
        "differences.js",
        (row for part in parts for row in part),
        lambda: pictures(dict.fromkeys(digest for part in parts for digest in part.digests), folders, path.parent),
        lambda: _about(path.parent, models, prompts),
    )
    return RunFolder(path.parent).write_lines(path.name, lines)


def as_json(models: Sequence[PromptComparison]) -> str:
    """For each model and prompt its numbers and its changes from the baseline, as a JSON document."""
    found: list[dict[str, Any]] = []
    for of_model in models:
        blocks: dict[str, Any] = {}
        for key, run in of_model.runs.items():
            numbers = {
                name: {
                    str(metric): estimate_json(number)
                    for metric in (run.tasks[name].values if name in run.tasks else of_model.headlines(name))
                    if (number := of_model.estimate(key, name, metric)) is not None
                }
                for name in (*run.results.groups, *run.tasks)
            }
            changes = of_model.compared[key].changes if key in of_model.compared else []
            blocks[key] = {
                "folder": str(run.folder),
                "prompts": run.results.run.prompts,
                "numbers": numbers,
                "changes": [change_json(change) for change in changes],
            }
        found.append({"model": of_model.model, "baseline": of_model.baseline, "blocks": blocks})
    return json_safe(json.dumps({"models": found}, indent=2, ensure_ascii=False))


def _prompts(models: Sequence[PromptComparison]) -> list[str]:
    """All prompt keys; the one that the others are compared with is the first."""
    return list(dict.fromkeys(key for of_model in models for key in of_model.runs))


def _prompt_cell(of_model: PromptComparison, prompt: str, name: str) -> str:
    """The prompt, with the block that was used instead where the task has none of that key."""
    used = of_model.asked_as(prompt, name)
    return prompt if used == prompt else f"{prompt} (as {used})"


def _count_cells(of_model: PromptComparison, place: int | None, prompt: str, name: str) -> dict[str, Cell]:
    """Shares of answers that were not scored as they should be, and the docs that flipped. place: the model's on the page."""
    counts = of_model.runs[prompt].results.rows[name]
    cells: dict[str, Cell] = {share: f"{getattr(counts, share) / max(1, counts.n):.1%}" for share in SHARES}
    if prompt not in of_model.compared:
        return {**cells, **dict.fromkeys(FLIPS, "")}
    lost, gained, reworded = of_model.flips(prompt, name)
    cells["lost"] = DocCount(lost, f"lost by {prompt} in {name}", place)
    cells["gained"] = DocCount(gained, f"gained by {prompt} in {name}", place)
    return {**cells, "reworded": str(reworded)}


def _terminal_table(of_model: PromptComparison, name: str) -> Table:
    """A line for each prompt: each headline number with its difference and p-value, then the counts."""
    columns = [Column(name, "text", "prompt")]
    shown = of_model.shown(name)
    keys = of_model.headlines(name)
    for key in keys:
        columns.append(Column(key.label, cell=str(key)))
        columns += [
            Column(f"vs {of_model.baseline}", cell=f"difference of {key}"),
            Column("p (Holm)", cell=f"p of {key}"),
        ]
    rows = []
    for prompt in shown:
        cells = {"prompt": _prompt_cell(of_model, prompt, name), **_count_cells(of_model, None, prompt, name)}
        for key in keys:
            found, change = of_model.estimate(prompt, name, key), of_model.change(prompt, name, key)
            scale = of_model.scale(name, key)
            cells[str(key)] = None if found is None else with_margin(found, scale)
            cells[f"difference of {key}"] = cells[f"p of {key}"] = ""
            if found is not None and change is not None and change.difference.interval is not None:
                difference = f"{signed(change.difference.value, scale)} {spread(change.difference, scale)}"
                cells[f"difference of {key}"] = difference + (" *" if change.told_apart else "")
                cells[f"p of {key}"] = p_text(change.corrected)
        rows.append(Row(cells))
    return Table([*columns, *map(Column, (*SHARES, *FLIPS))], rows)


def _page_table(of_model: PromptComparison, place: int, name: str) -> Table:
    """A line for each headline number and prompt; counts are of the docs, so they stand beside the first number only."""
    columns = [
        Column("metric", "text"),
        Column(of_model.noun, "text", "prompt"),
        Column("value"),
        Column(f"vs {of_model.baseline}", cell="difference"),
        Column("95% interval"),
        Column("", "text", "drawing"),
        *map(Column, ("p (Holm)", *FLIPS, *SHARES)),
    ]
    rows: list[Row] = []
    shown = of_model.shown(name)
    for metric in of_model.headlines(name):
        changes = {prompt: change for prompt in shown if (change := of_model.change(prompt, name, metric))}
        scale, far = of_model.scale(name, metric), reach([change.difference for change in changes.values()])
        for prompt in shown:
            found, change = of_model.estimate(prompt, name, metric), changes.get(prompt)
            cells: dict[str, Cell] = dict.fromkeys((column.key for column in columns), "")
            if len(rows) < len(shown):
                cells.update(_count_cells(of_model, place, prompt, name))
            cells["metric"] = metric.label if prompt == of_model.baseline else ""
            cells["prompt"] = _prompt_cell(of_model, prompt, name)
            cells["value"] = None if found is None else with_margin(found, scale)
            if found is not None and change is not None:
                cells.update(difference_cells(change, scale, far))
            rows.append(Row(cells, marked=bool(change and change.told_apart)))
    return Table(columns, rows)


def _matrix(models: Sequence[PromptComparison]) -> Iterator[Table]:
    """Models x prompts for each number, each model's best marked."""
    prompts = _prompts(models)
    for name in models[0].names:
        for metric in models[0].headlines(name):
            title = Column(f"{name} {metric.label}", "text", "")
            rows = []
            for of_model in models:
                cells: dict[str, Cell] = {"": of_model.model}
                best, scale = best_of(of_model, name, metric), of_model.scale(name, metric)
                for prompt in prompts:
                    found = of_model.estimate(prompt, name, metric)
                    mark = " *" if prompt in best else ""
                    cells[prompt] = None if found is None else with_margin(found, scale) + mark
                rows.append(Row(cells))
            yield Table([title, *map(Column, prompts)], rows)


def _slopes(models: Sequence[PromptComparison], prompts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A chart for each headline number of a group, or of a task outside of groups: a line for each model over the prompts."""
    groups = models[0].runs[models[0].baseline].results.groups
    inside = {leaf for group in groups for leaf in models[0].members(group)}
    for name in models[0].names:
        for metric in models[0].headlines(name) if name not in inside and len(prompts) > 1 else ():
            lines = []
            for of_model in models:
                found = [of_model.estimate(prompt, name, metric) for prompt in prompts]
                points = [e and {"value": e.value, "interval": list(e.interval) if e.interval else None} for e in found]
                lines.append({"name": of_model.model, "points": points})
            if any(point for line in lines for point in line["points"]):
                yield {"title": f"{name} {metric.label}", "prompts": list(prompts), "lines": lines}


def _about(folder: Path, models: Sequence[PromptComparison], prompts: Sequence[str]) -> dict[str, Any]:
    """The part of the page above the samples."""
    several = len(models) > 1
    runs, facts, sections = {}, [], []
    if several:
        said = "* each model's best prompt; its interval is that of the number, see below for paired differences."
        sections.append(
            {"title": "Models and prompts", "tables": [to_page(t) for t in _matrix(models)], "said": [said]}
        )
    for place, of_model in enumerate(models):
        for key, text in of_model.block_texts().items():
            label = f"{of_model.model}: {key}" if several else key
            runs[label] = of_model.runs[key]
            facts.append(run_fact(label, of_model.runs[key], folder, text))
        for name in of_model.names:
            tables = [to_page(_page_table(of_model, place, name))]
            verdicts = list(of_model.verdicts(name))
            sections.append({"title": f"{of_model.model}: {name}", "tables": tables, "said": verdicts})
    title = models[0].title.format(models=", ".join(of_model.model for of_model in models))
    return {
        **about_differences("prompts", title, runs, facts, prompts[0], prompts[1:]),
        "models": [of_model.model for of_model in models],
        "sections": sections,
        "slopes": list(_slopes(models, prompts)) if models[0].noun == "prompt" else [],
        "hint": f"Differences are to {prompts[0]!r}, paired by doc, with docs on one picture drawn together. "
        "† is an exact interval. * can be told apart from 0 at 5%; p is corrected (Holm) for the number of blocks.",
    }
