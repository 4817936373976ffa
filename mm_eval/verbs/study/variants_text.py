"""Variants compared: as text for the terminal, as JSON for programs, and as a page with every sample of all variants.

The terminal has a line for each variant with all its numbers side by side, the page a line for each number and variant; both are
made of the same cells.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.results.changes import Change
from mm_eval.results.number_text import EXACT, EXACT_NOTE, IN_PERCENT, p_text
from mm_eval.results.page import SampleRows, about_differences, page, pictures, run_fact, sounds
from mm_eval.results.run_table import brief_warnings
from mm_eval.results.table import Cell, Column, DocCount, Row, Table, fitted, left_out, to_page, to_text
from mm_eval.values.safe import in_line, json_safe
from mm_eval.values.types import MetricKey
from mm_eval.verbs.study.cells import change_json, difference_cells, estimate_json, reach, with_margin
from mm_eval.verbs.study.variants import Variants

SHARES = ("unparsed", "filtered", "refused", "truncated", "failed")
FLIPS = ("lost", "gained", "reworded")
MCNEMAR, OTHER_NUMBERS, ZERO_SHARES = 3, 4, 5
"""How soon columns leave a table that is too wide: McNemar's test, other numbers than the main one, shares that are all 0."""


def render(models: Sequence[Variants], width: int | None = None) -> str:
    """For each model and task a table and verdicts, and the matrix models x variants where there are several models.

    width: of the terminal; None for any.
    """
    parts: list[str] = [said for of_model in models if (said := of_model.advice())]
    parts += [""] if parts else []
    for of_model in models:
        sample = of_model.runs[of_model.baseline].results.run.sample
        parts += [f"model: {of_model.model}{'   (sample data, not the benchmarks)' if sample else ''}", ""]
        warnings = [
            f"warning: {of_model.noun} {key!r}: {said}"
            for key, run in of_model.runs.items()
            for said in brief_warnings(run.results)
        ]
        parts += [*warnings, ""] if warnings else []
        for name in of_model.names:
            table, out = fitted(_terminal_table(of_model, name), width)
            parts += [
                *to_text(table).split("\n"),
                "",
                *left_out(list(dict.fromkeys(each for each in out if each not in SHARES))),
            ]
            verdicts = list(of_model.verdicts(name))
            parts += [*verdicts, ""] if verdicts else []
        units = (of_model.unit(name, key) for name in of_model.names for key in of_model.headlines(name))
        parts += [IN_PERCENT] if any(unit.is_percent for unit in units) else []
        parts += [EXACT_NOTE, ""] if any(EXACT in part for part in parts) else []
        parts += [f"{of_model.noun} {key!r}: {text}" for key, text in of_model.texts().items()] + [""]
    if len(models) > 1:
        for table in _matrix(models):
            shown, out = fitted(table, width)
            parts += [*to_text(shown).split("\n"), "", *left_out(out)]
        parts.append("* each model's best one; its interval is that of the number, see above for paired differences")
    return "\n".join(map(in_line, parts)).rstrip()


def write_page(path: Path, models: Sequence[Variants]) -> Path:
    """Writes the page and returns its path."""
    title = f"{models[0].noun.capitalize()}s of {', '.join(of_model.model for of_model in models)}"
    return write_samples(path, title, models, lambda: _about(path.parent, models, _labels_of(models)), numbered=True)


def write_samples(
    path: Path, title: str, studies: Sequence[Variants], about: Callable[[], dict[str, object]], numbered: bool = False
) -> Path:
    """Writes a page with every sample of each baseline beside the answers of the other variants. Returns its path.

    about: makes the part above the samples. numbered: each sample has the place of its study.
    """
    labels = _labels_of(studies)[1:]
    parts = [
        SampleRows(study.runs[study.baseline], [study.runs.get(label) for label in labels], place if numbered else None)
        for place, study in enumerate(studies)
    ]
    folders = [run.folder for study in studies for run in study.runs.values()]
    lines = page(
        title,
        "differences.js",
        (row for part in parts for row in part),
        lambda: chain(
            pictures(dict.fromkeys(digest for part in parts for digest in part.digests), folders, path.parent),
            sounds(dict.fromkeys(digest for part in parts for digest in part.sounds), folders, path.parent),
        ),
        about,
    )
    return RunFolder(path.parent).write_lines(path.name, lines)


def as_json(models: Sequence[Variants]) -> str:
    """For each model and variant its numbers and its changes from the baseline, as a JSON document."""
    found: list[dict[str, object]] = []
    for of_model in models:
        blocks: dict[str, object] = {}
        for key, run in of_model.runs.items():
            numbers = {
                name: {
                    str(metric): estimate_json(number)
                    for metric in (run.tasks[name].values if name in run.tasks else of_model.headlines(name))
                    if (number := of_model.estimate(key, name, metric)) is not None
                }
                for name in of_model.names
                if name in run.results.rows
            }
            changes = of_model.compared[key].changes if key in of_model.compared else []
            blocks[key] = {
                "folder": str(run.folder),
                "prompts": run.results.run.prompts,
                "numbers": numbers,
                "changes": [change_json(change) for change in changes],
                "same_as": {name: same for name in of_model.names if (same := of_model.same_as(key, name)) != key},
            }
        found.append({"model": of_model.model, "baseline": of_model.baseline, "blocks": blocks})
    return json_safe(json.dumps({"models": found}, indent=2, ensure_ascii=False))


def _labels_of(models: Sequence[Variants]) -> list[str]:
    """The names of all variants, the baseline first."""
    return list(dict.fromkeys(key for of_model in models for key in of_model.runs))


def _label_cell(of_model: Variants, label: str, name: str) -> str:
    """The name of a variant, with that of the block that was used instead where the task has none of its own."""
    used, shown = of_model.asked_as(label, name), of_model.label(label, name)
    return shown if used == label else f"{shown} (as {used})"


def _count_cells(of_model: Variants, place: int | None, label: str, name: str) -> dict[str, Cell]:
    """Shares of answers that were not scored as they should be, and the docs that flipped. place: the model's on the page."""
    counts = of_model.runs[label].results.rows[name]
    cells: dict[str, Cell] = {share: f"{getattr(counts, share) / max(1, counts.n):.1%}" for share in SHARES}
    if label not in of_model.compared:
        return {**cells, **dict.fromkeys(FLIPS, "")}
    lost, gained, reworded = of_model.flips(label, name)
    cells["lost"] = DocCount(lost, f"lost by {label} in {name}", place)
    cells["gained"] = DocCount(gained, f"gained by {label} in {name}", place)
    return {**cells, "reworded": str(reworded)}


def _mcnemar(change: Change) -> str:
    """The p-value of the docs that flipped, where they are right or wrong."""
    return p_text(change.flips.p_value) if change.flips is not None else ""


def _terminal_table(of_model: Variants, name: str) -> Table:
    """A line for each variant: each headline number with its difference and p-value, then the counts."""
    columns = [Column(name, "text", "label")]
    shown = of_model.shown(name)
    keys = of_model.headlines(name)
    main = of_model.runs[of_model.baseline].results.headline(name)
    for key in keys:
        other = main is not None and main.key in keys and key != main.key
        columns += [
            Column(key.label, cell=str(key), spare=OTHER_NUMBERS if other else 0),
            Column(of_model.heading, cell=f"difference of {key}", spare=OTHER_NUMBERS if other else 0),
            Column("p (Holm)", cell=f"p of {key}", spare=OTHER_NUMBERS if other else 1),
            *([] if other else [Column("McNemar p", cell=f"McNemar p of {key}", spare=MCNEMAR)]),
        ]
    rows = []
    for label in shown:
        cells = {"label": _label_cell(of_model, label, name), **_count_cells(of_model, None, label, name)}
        for key in keys:
            found, change = of_model.estimate(label, name, key), of_model.change(label, name, key)
            unit = of_model.unit(name, key)
            cells[str(key)] = None if found is None else with_margin(found, unit)
            cells[f"difference of {key}"] = cells[f"p of {key}"] = cells[f"McNemar p of {key}"] = ""
            if found is not None and change is not None:
                difference = of_model.difference(change)
                said = f"{unit.signed(difference.value)} {unit.spread(difference)}".rstrip()
                cells[f"difference of {key}"] = said + (" *" if change.told_apart else "")
                cells[f"p of {key}"] = p_text(change.corrected)
                cells[f"McNemar p of {key}"] = _mcnemar(change)
        rows.append(Row(cells))
    columns = [
        column for column in columns if not column.key.startswith("McNemar") or any(r.cells[column.key] for r in rows)
    ]
    for share in SHARES:
        columns.append(Column(share, spare=2 if any(row.cells[share] != "0.0%" for row in rows) else ZERO_SHARES))
    return Table([*columns, *(Column(way, spare=3) for way in FLIPS)], rows)


def _page_table(of_model: Variants, place: int, name: str) -> Table:
    """A line for each headline number and variant, the main one first; counts are of the docs, so they stand beside it only."""
    columns = [
        Column("metric", "text"),
        Column(of_model.noun, "text", "label"),
        Column("value"),
        Column(of_model.heading, cell="difference"),
        Column("95% interval"),
        Column("", "text", "drawing"),
        Column("p (Holm)"),
        Column("McNemar p", spare=1),
        *map(Column, FLIPS),
    ]
    rows: list[Row] = []
    main = of_model.runs[of_model.baseline].results.headline(name)
    is_known = main is not None and main.key in of_model.headlines(name)
    shown = of_model.shown(name)

    def is_further(metric: MetricKey) -> bool:  # behind a button
        return is_known and main is not None and metric != main.key

    for metric in sorted(of_model.headlines(name), key=is_further):
        changes = {label: change for label in shown if (change := of_model.change(label, name, metric))}
        unit, far = of_model.unit(name, metric), reach([of_model.difference(change) for change in changes.values()])
        for label in shown:
            found, change = of_model.estimate(label, name, metric), changes.get(label)
            cells: dict[str, Cell] = dict.fromkeys((*(column.key for column in columns), *SHARES), "")
            if len(rows) < len(shown):
                cells.update(_count_cells(of_model, place, label, name))
            cells["metric"] = metric.label if label == of_model.baseline else ""
            cells["label"] = _label_cell(of_model, label, name)
            cells["value"] = None if found is None else with_margin(found, unit)
            if found is not None and change is not None:
                cells.update(difference_cells(change, of_model.difference(change), unit, far))
                cells["McNemar p"] = _mcnemar(change)
            rows.append(Row(cells, part=is_further(metric), marked=bool(change and change.told_apart)))
    columns += [Column(share, spare=int(all(row.cells[share] in ("", "0.0%") for row in rows))) for share in SHARES]
    return Table(columns, rows)


def _matrix(models: Sequence[Variants]) -> Iterator[Table]:
    """Models x variants for each number, each model's best marked."""
    labels = _labels_of(models)
    for name in models[0].names:
        for metric in models[0].headlines(name):
            title = Column(f"{name} {metric.label}", "text", "")
            rows = []
            for of_model in models:
                cells: dict[str, Cell] = {"": of_model.model}
                best, unit = of_model.best(name, metric), of_model.unit(name, metric)
                for label in labels:
                    found = of_model.estimate(label, name, metric)
                    mark = " *" if label in best else ""
                    cells[label] = None if found is None else with_margin(found, unit) + mark
                rows.append(Row(cells))
            yield Table([title, *(Column(label, spare=place) for place, label in enumerate(labels))], rows)


def _heat(models: Sequence[Variants], labels: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each task or group outside of groups and each model: its main number under each variant.

    told: +1 where a variant is significantly better than the first, -1 where it is worse. same: the variant that asked the same.
    """
    first = models[0]
    inside = {leaf for group in first.runs[first.baseline].results.groups for leaf in first.members(group)}
    rows = []
    for name in first.names:
        for of_model in models if name not in inside and len(labels) > 1 else ():
            main = of_model.runs[of_model.baseline].results.headline(name)
            keys = of_model.headlines(name)
            metric = main.key if main is not None and main.key in keys else next(iter(keys), None)
            if metric is None:
                continue
            unit, best, cells = of_model.unit(name, metric), of_model.best(name, metric), list[dict[str, Any] | None]()
            for label in labels:
                found = of_model.estimate(label, name, metric)
                change, same = of_model.change(label, name, metric), of_model.same_as(label, name)
                told = change is not None and change.told_apart and change.better is not None
                up = change is not None and (change.difference.value > 0) == change.better
                cells.append(
                    None
                    if found is None
                    else {
                        "text": unit.text(found.value),
                        "spread": unit.spread(found),
                        "value": found.value,
                        "interval": list(found.interval) if found.interval else None,
                        "told": (1 if up else -1) if told else 0,
                        "best": label in best,
                        "same": same if same != label else "",
                    }
                )
            if any(cells):
                rows.append({"task": name, "metric": metric.label, "model": of_model.model, "cells": cells})
    return rows


def _about(folder: Path, models: Sequence[Variants], labels: Sequence[str]) -> dict[str, Any]:
    """The part of the page above the samples."""
    several = len(models) > 1
    runs, facts, sections = {}, [], []
    for place, of_model in enumerate(models):
        for key, text in of_model.texts().items():
            label = f"{of_model.model}: {key}" if several else key
            runs[label] = of_model.runs[key]
            facts.append(run_fact(label, of_model.runs[key], folder, text))
        for name in of_model.names:
            tables = [to_page(_page_table(of_model, place, name))]
            verdicts = list(of_model.verdicts(name))
            sections.append({"title": f"{of_model.model}: {name}", "tables": tables, "said": verdicts})
    title = models[0].title.format(models=", ".join(of_model.model for of_model in models), own=models[0].baseline)
    return {
        **about_differences("prompts", title, runs, facts, labels[0], labels[1:]),
        "models": [of_model.model for of_model in models],
        "sections": sections,
        "variants": labels,
        "heat": _heat(models, labels) if models[0].noun == "prompt" else [],
        "hint": f"Differences are to {labels[0]!r}, paired by document; questions about one picture form a cluster. "
        f"† is an exact interval. * is significant at 5%; p is corrected (Holm) for the number of {models[0].noun}s. "
        "Shares are in percent.",
    }
