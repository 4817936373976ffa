"""What the terminal shows after a run: each number with its standard error, and the counts of docs without a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.report.safe import in_line
from mm_eval.report.table import LONGEST, Column, Row, Table, to_text
from mm_eval.runs.results import numbers_of, warnings_of
from mm_eval.types import MetricKey, Number

if TYPE_CHECKING:
    from mm_eval.run import Report

ARROWS = {True: "↑", False: "↓", None: " "}
EXACT = "†"
COLUMNS = (
    Column("task", "text"),
    Column("n-shot"),
    Column("filter", "text"),
    Column("metric", "text"),
    Column("", "text", "better"),
    Column("value"),
    Column("±", "text"),
    Column("stderr"),
    *map(Column, ("docs", "n", "failed", "not requested", "unparsed", "cut")),
)
SILENT = {"filter": ("none", ""), "docs": ("",), "not requested": ("",), "cut": ("0", "")}
"""Values that say nothing: a column that has no others is left out."""


def render(report: Report) -> str:
    """The whole report of a run: what was measured, the table, problems, and where the files are."""
    results, parts = report.results, []
    warning = ""
    run = results.get("run", {})
    if run.get("sample"):
        warning = (
            f"sample data, not {', '.join(run['sample'])}: drawn for trying mm-eval out, and no result on a benchmark"
        )
        parts.append(warning)
    if results:
        parts.append(f"model: {run.get('model_name')}")
        parts += [f"warning: {said}" for said in warnings_of(results)]
        parts += ["", *table(results, report.order).split("\n"), ""]
        parts += list(_footer(results))
    parts += [f"note: {note}" for note in report.notes]
    if report.problems:
        parts += ["", *report.problems]
    parts.append(f"run folder: {report.folder}")
    if warning:
        parts.append(warning)
    return "\n".join(map(in_line, parts))


def table(results: Mapping[str, Any], order: Sequence[tuple[str, int]]) -> str:
    """Rows in the YAML's order, groups above their members; the counts stand on a row's first line.

    order: (row name, depth below the outermost group).
    """
    rows = [Row(cells) for name, depth in order for cells in _lines(results, name, depth)]
    shown = [
        column
        for column in COLUMNS
        if column.key not in SILENT or any(row.cells[column.key] not in SILENT[column.key] for row in rows)
    ]
    return to_text(Table(shown, rows), longest=None)


def _lines(results: Mapping[str, Any], name: str, depth: int) -> Iterator[dict[str, str]]:
    """The cells of one task or group: a line for each number, or one without any."""
    row = results["groups"].get(name) or results["results"][name]
    once = {
        "task": "  " * depth + ("- " if depth else "") + in_line(row["alias"], LONGEST),
        "n-shot": str(results["n-shot"].get(name, "")),
        "n": str(row["n"]),
        "failed": str(row["failed"]),
        "not requested": str(row.get("not_requested", "")),
        "unparsed": str(row["unparsed"]),
        "cut": str(row.get("cut", 0)),
    }
    blank = dict.fromkeys((column.key for column in COLUMNS), "")
    numbers = numbers_of(row, results["higher_is_better"].get(name, {}))
    if not numbers:
        written = results.get("submissions", {}).get(name)
        yield {**blank, **once, "metric": f"submission: {written['file']}" if written else ""}
    for place, number in enumerate(numbers):
        digits = _digits(row, number.value)
        mark, stderr = _stderr_cells(number, digits)
        yield {
            **blank,
            **({} if place else once),
            "filter": in_line(number.filter, LONGEST),
            "metric": in_line(number.metric, LONGEST),
            "better": ARROWS[number.higher_is_better],
            "value": number_text(number.value, digits),
            "±": mark,
            "stderr": stderr,
            "docs": str(row.get("n_by_metric", {}).get(str(number.key), "")),
        }


def _stderr_cells(number: Number, digits: int) -> tuple[str, str]:
    """The standard error with its mark; for a number that did not vary the end of its exact interval, or both ends."""
    if number.interval is None:
        return ("", "") if number.stderr is None else ("±", number_text(number.stderr, digits))
    low, high = (number_text(bound, digits) for bound in number.interval)
    if number.interval[1] <= number.value:
        return EXACT, f">= {low}"
    return EXACT, f"<= {high}" if number.interval[0] >= number.value else f"{low} to {high}"


def _digits(row: Mapping[str, Any], value: Any) -> int:
    """Four decimals for a fraction, two for points; for a value of 0 or None the row's other numbers decide."""
    numbers = [value] if value else [number for key, number in row.items() if MetricKey.parse(key)]
    return 2 if any(isinstance(number, (int, float)) and abs(number) >= 2 for number in numbers) else 4


def number_text(value: Any, digits: int = 4) -> str:
    """A number with some decimals; a dash for None."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else str(value)


def _footer(results: Mapping[str, Any]) -> Iterator[str]:
    """The prompt block of each task, what the marks mean, and the tasks' notes."""
    prompts = results["run"]["prompts"]
    by_block: dict[str, list[str]] = {}
    for name, prompt in prompts.items():
        kwargs = ", ".join(f"{key}={value!r}" for key, value in prompt["kwargs"].items() if value != "")
        by_block.setdefault(f"{prompt['key']}{f' ({kwargs})' if kwargs else ''}", []).append(name)
    for block, names in by_block.items():
        if any(prompts[name]["kwargs"] for name in names):
            yield f"prompt of {', '.join(names)}: {block}"
    if any("intervals" in row for row in results["results"].values()):
        yield f"{EXACT} all docs are right or all are wrong, so that nothing varies: the end of the exact 95% interval"
    for name, row in results["results"].items():
        for note in row.get("notes", ()):
            yield f"note: {name}: {note}"
