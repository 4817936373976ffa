"""How much the pictures matter, as text and as JSON: a line for each run, and one for each paired gain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mm_eval.features.study.blind import GAINS, Blindness
from mm_eval.features.study.compare_text import estimate_json, with_margin
from mm_eval.results.number_text import EXACT, EXACT_NOTE, p_text, signed, spread
from mm_eval.results.table import Cell, Column, Row, Table, to_text
from mm_eval.values.safe import in_line, json_safe


def render(found: Blindness) -> str:
    """For each group and task a table and its sentences."""
    sample = found.runs[found.baseline].results.run.sample
    parts = [f"model: {found.model}{'   (sample data, not the benchmarks)' if sample else ''}", ""]
    warnings = [f"warning: {label}: {said}" for label, run in found.runs.items() for said in run.results.warnings]
    parts += [*warnings, ""] if warnings else []
    for name in found.names:
        parts += [*to_text(_table(found, name)).split("\n"), "", *found.verdicts(name), ""]
    parts += [EXACT_NOTE, ""] if any(EXACT in part for part in parts) else []
    return "\n".join(map(in_line, parts)).rstrip()


def as_json(found: Blindness) -> str:
    """Each number of each run, and its gains."""
    rows = list(_rows(found))
    folders = {label: str(run.folder) for label, run in found.runs.items()}
    return json_safe(json.dumps({"model": found.model, "folders": folders, "rows": rows}, indent=2, ensure_ascii=False))


def _rows(found: Blindness) -> Iterator[dict[str, Any]]:
    for name in found.names:
        for key in found.headlines(name):
            about = {"task": name, "metric": str(key)}
            for label in found.runs:
                if (number := found.estimate(label, name, key)) is not None:
                    yield {**about, "row": label, **estimate_json(number)}
            for label in found.compared:
                gain, change = found.gain(label, name, key), found.change(label, name, key)
                if gain is not None and change is not None:
                    yield {**about, "row": GAINS[label], **estimate_json(gain), "p_holm": change.corrected}


def _table(found: Blindness, name: str) -> Table:
    keys = found.headlines(name)
    columns = [Column(name, "text", "row")]
    for key in keys:
        columns += [Column(key.label, cell=str(key)), Column("p (Holm)", cell=f"p of {key}")]
    rows = []
    for label in found.runs:
        cells: dict[str, Cell] = {"row": label}
        for key in keys:
            number = found.estimate(label, name, key)
            cells[str(key)] = None if number is None else with_margin(number, found.scale(name, key))
            cells[f"p of {key}"] = ""
        rows.append(Row(cells))
    for label in found.compared:
        cells = {"row": GAINS[label]}
        for key in keys:
            gain, change = found.gain(label, name, key), found.change(label, name, key)
            cells[str(key)], cells[f"p of {key}"] = None, ""
            if gain is not None and change is not None and gain.interval is None:
                cells[str(key)] = signed(gain.value, found.scale(name, key))
            elif gain is not None and change is not None:
                scale = found.scale(name, key)
                cells[str(key)] = " ".join(
                    filter(None, (signed(gain.value, scale), spread(gain, scale), "*" if change.told_apart else ""))
                )
                cells[f"p of {key}"] = p_text(change.corrected)
        rows.append(Row(cells))
    return Table(columns, rows)
