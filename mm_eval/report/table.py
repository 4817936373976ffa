"""The table on the terminal: each number with its standard error, and beside it what is missing from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.report.safe import in_line
from mm_eval.runs.results import warnings_of
from mm_eval.types import MetricKey

if TYPE_CHECKING:
    from mm_eval.run import Report

ARROWS = {True: "↑", False: "↓", None: " "}
COLUMNS = (
    "task", "n-shot", "filter", "metric", "", "value", "±", "stderr", "docs", "n", "failed", "not requested", "unparsed", "cut",
)  # fmt: skip
EXACT = "†"
RIGHT = frozenset({"n-shot", "value", "stderr", "docs", "n", "failed", "not requested", "unparsed", "cut"})
LONGEST = 80
"""Characters of a name in the table."""


def render(report: Report) -> str:
    """The whole answer to a run: what was measured, the table, what went wrong, where it all is."""
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
    lines = [line for name, depth in order for line in _lines(results, name, depth)]
    shown = [column for column in range(len(COLUMNS)) if _worth_showing(column, lines)]
    widths = [max(len(COLUMNS[column]), *(len(line[column]) for line in lines)) for column in shown]
    head = [COLUMNS[column] for column in shown]

    def row(cells: Sequence[str]) -> str:
        aligned = [
            cell.rjust(width) if name in RIGHT else cell.ljust(width)
            for cell, width, name in zip(cells, widths, head, strict=True)
        ]
        return "  ".join(aligned).rstrip()

    rule = "-" * len(row(["x" * width for width in widths]))
    return "\n".join([row(head), rule, *(row([line[column] for column in shown]) for line in lines)])


def _worth_showing(column: int, lines: list[list[str]]) -> bool:
    """Left out: `filter` where every pipeline is the default one, and counts that would say nothing in this table."""
    silent = {"filter": ("none", ""), "docs": ("",), "not requested": ("",), "cut": ("0", "")}.get(COLUMNS[column])
    return silent is None or any(line[column] not in silent for line in lines)


def _lines(results: Mapping[str, Any], name: str, depth: int) -> Iterator[list[str]]:
    row = results["groups"].get(name) or results["results"][name]
    label = "  " * depth + ("- " if depth else "") + in_line(row["alias"], LONGEST)
    counts = [str(row["n"]), str(row["failed"]), str(row.get("not_requested", "")), str(row["unparsed"])]
    counts.append(str(row.get("cut", 0)))
    shots = str(results["n-shot"].get(name, ""))
    better = results["higher_is_better"].get(name, {})
    keys = [key for text in row if (key := MetricKey.parse(text)) and not key.is_stderr]
    if not keys:
        yield [label, shots, "", "", "", "", "", "", "", *counts]
    for number, key in enumerate(keys):
        stderr = row.get(str(MetricKey(key.metric, key.scorer, is_stderr=True)))
        first, digits = number == 0, _digits(row, row[str(key)])
        exact = row.get("intervals", {}).get(str(key))
        yield [
            label if first else "",
            shots if first else "",
            in_line(key.scorer, LONGEST),
            in_line(key.metric, LONGEST),
            ARROWS[better.get(key.metric)],
            number_text(row[str(key)], digits),
            EXACT if exact else "±" if stderr is not None else "",
            _bound(exact, row[str(key)], digits)
            if exact
            else number_text(stderr, digits)
            if stderr is not None
            else "",
            str(row.get("n_by_metric", {}).get(str(key), "")),
            *(counts if first else [""] * len(counts)),
        ]


def _bound(exact: Sequence[float], value: float, digits: int) -> str:
    """What a number that did not vary is at least, or at most, or both."""
    low, high = (number_text(bound, digits) for bound in exact)
    return f">= {low}" if exact[1] <= value else f"<= {high}" if exact[0] >= value else f"{low} to {high}"


def _digits(row: Mapping[str, Any], value: Any) -> int:
    """Four places for a fraction, two for points; what can't be told from itself (0) goes by the row's others."""
    numbers = [value] if value else [number for key, number in row.items() if MetricKey.parse(key)]
    return 2 if any(isinstance(number, (int, float)) and abs(number) >= 2 for number in numbers) else 4


def number_text(value: Any, digits: int = 4) -> str:
    """A number to some places; what has no value is a dash."""
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if isinstance(value, (int, float)) else str(value)


def _footer(results: Mapping[str, Any]) -> Iterator[str]:
    """Which prompt block each task was asked with."""
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


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns under a head and a rule, the first `left` of them flush left."""
    head, rows = [in_line(cell, LONGEST) for cell in head], [[in_line(c, LONGEST) for c in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [c.ljust(w) if n < left else c.rjust(w) for n, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return "  ".join(padded).rstrip()

    return "\n".join([line(head), "-" * (sum(widths) + 2 * len(widths) - 2), *map(line, rows)])
