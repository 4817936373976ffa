"""What stands in the tables of a page of differences; report.js draws it.

A cell is a text, an interval to draw on a line with 0 in it, or docs to look at. Numbers are written here, once for terminal and
page, so that both say the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mm_eval.metrics.paired import Estimate
from mm_eval.report.comparison_table import interval_text
from mm_eval.report.safe import href
from mm_eval.runs.compare import signed
from mm_eval.runs.recorded import RecordedRun
from mm_eval.runs.results import warnings_of

Cell = str | Mapping[str, Any]
TEXT, NUMBER = "", "n"
"""How a column is set: flush left, or right."""


def table(head: Sequence[tuple[str, str]], rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """head: (title, TEXT or NUMBER) of each column. rows: see `row`."""
    return {"head": [list(column) for column in head], "rows": list(rows)}


def row(cells: Sequence[Cell], *, part: bool = False, marked: bool = False) -> dict[str, Any]:
    """part: of another number, and shown on demand. marked: the difference can be told apart from 0."""
    return {"cells": list(cells), **({"part": True} if part else {}), **({"marked": True} if marked else {})}


def difference(found: Estimate, scale: float, *, told_apart: bool) -> str:
    """+0.0120 *, where the star says that it can be told apart from 0."""
    return signed(found.value, scale) + (" *" if told_apart else "")


def interval(found: Estimate, scale: float) -> str:
    """[-0.0100, +0.0340], with a mark where it is exact."""
    return interval_text(found, scale, none="–")


def drawing(found: Estimate, reach: float) -> Cell:
    """The interval on a line from -reach to reach."""
    if found.interval is None:
        return ""
    return {"kind": "interval", "value": found.value, "interval": list(found.interval), "reach": reach}


def reach(found: Iterable[Estimate]) -> float:
    """How far the intervals of some differences go from 0."""
    return max((abs(bound) for each in found for bound in each.interval or (each.value,)), default=0.0) or 1.0


def docs(found: Sequence[tuple[str, int]], said: str, model: int | None = None) -> Cell:
    """A count that shows its docs. found: (task, doc id)."""
    if not found:
        return "0"
    by_task: dict[str, list[int]] = {}
    for task, doc_id in found:
        by_task.setdefault(task, []).append(doc_id)
    return {"kind": "docs", "count": len(found), "docs": by_task, "said": said, "model": model}


def facts_of(label: str, run: RecordedRun, page_folder: Path, said: str = "") -> dict[str, Any]:
    """A line about a run above the tables, with a link to its own report."""
    report = run.folder / "report.html"
    link = href(Path(os.path.relpath(report, page_folder))) if report.is_file() else None
    return {"name": label, "text": said, "link": link, "at": str(run.folder)}


def warned(runs: Iterable[tuple[str, RecordedRun]]) -> list[dict[str, Any]]:
    """A banner above the tables for each named run whose numbers come with a warning."""
    return [
        {"title": f"{name}: look at the answers first", "said": said}
        for name, run in runs
        if (said := warnings_of(run.results))
    ]


def about_page(
    kind: str,
    title: str,
    runs: Sequence[RecordedRun],
    facts: Sequence[Mapping[str, Any]],
    own: str,
    beside: Sequence[str],
) -> dict[str, Any]:
    """What every page of differences says of itself. own, beside: what the sample's own run and those beside it are called."""
    sampled = sorted({name for run in runs for name in run.results["run"].get("sample") or ()})
    return {
        "kind": kind,
        "title": title,
        "datasets": sampled,
        "sample": bool(sampled),
        "facts": list(facts),
        "own": own,
        "beside": list(beside),
    }
