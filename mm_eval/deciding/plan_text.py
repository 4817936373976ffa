"""The plan of a comparison as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mm_eval.deciding.design import FLIPPED, Planned, Question
from mm_eval.results.number_text import PERCENT, POINTS, SMALLEST_VISIBLE, of_scale, rounded
from mm_eval.results.table import Cell, Column, Row, Table, fitted, left_out, to_text


def render(rows: Sequence[Planned], question: Question, width: int | None = None) -> str:
    """The table, and plain sentences on what is too small for the question. width: of the terminal; None for any."""
    table, out = fitted(as_table(rows, question), width)
    return "\n".join([*to_text(table).split("\n"), *left_out(out), "", *sentences(rows, question)])


def as_table(rows: Sequence[Planned], question: Question) -> Table:
    """A row for each benchmark, and for the average."""
    columns = [
        Column("task", "text"),
        Column("metric", "text", spare=2),
        Column("docs"),
        Column("spread", spare=1 if question.difference is not None else 0),
        Column(SMALLEST_VISIBLE),
    ]
    if question.difference is not None:
        columns += [Column(f"documents for {question.difference:g}"), Column("enough")]
        columns += [Column("documents with --stop_when", spare=3)]
    return Table(columns, [Row(_cells(row, question)) for row in rows])


def _cells(row: Planned, question: Question) -> dict[str, Cell]:
    cells: dict[str, Cell] = {
        "task": row.name,
        "metric": row.metric,
        "docs": f"{row.docs:,}",
        "spread": _range(row.spread, ".0f"),
        SMALLEST_VISIBLE: _visible(row),
    }
    if question.difference is not None and row.needed is not None and row.share is not None:
        low, high = (rounded(each) for each in row.needed)
        enough = "yes" if row.needed[1] <= row.docs else "no" if row.needed[0] > row.docs else "for like models"
        cells[f"documents for {question.difference:g}"] = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        cells["enough"] = enough
        cells["documents with --stop_when"] = _range((100 * row.share[0], 100 * row.share[1]), ".0f", "%")
    return cells


def _visible(row: Planned) -> str:
    """The smallest visible difference in percent of the scale, for like and for unlike models."""
    unit = PERCENT if row.is_fraction else POINTS
    low, high = (of_scale(end / unit.factor, row.scale, unit) for end in row.detectable)
    return low if low == high else f"{low} to {high}"


def _range(ends: tuple[float, float], form: str, unit: str = "") -> str:
    low, high = (f"{end:{form}}" for end in ends)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def sentences(rows: Sequence[Planned], question: Question) -> Iterator[str]:
    """What the numbers hold for, and which benchmarks are too small for the question."""
    yield from _basis(rows, question)
    for row in rows:
        if question.difference is None or row.needed is None or row.enough:
            continue
        least, most = row.needed
        what = f"{row.name} is too small to show {question.difference:g} points"
        if least > row.docs:
            fewest, many = f"{rounded(least):,}", f"{rounded(most):,}"
            needed = fewest if fewest == many else f"{fewest} to {many}"
            yield f"{what}: that takes about {needed} documents, and it has {row.docs:,}."
        else:
            yield f"{what} between unlike models: that takes about {rounded(most):,} documents, and it has {row.docs:,}."
    if any(row.is_average for row in rows):
        yield "The average counts each task the same and is planned as one number of its own, not corrected for the tasks."


def _basis(rows: Sequence[Planned], question: Question) -> Iterator[str]:
    """What the numbers hold for."""
    count = question.pairs * sum(not row.is_average for row in rows)
    corrected = f", corrected for {count} comparisons" if count > 1 else ""
    pairs = f"{question.models} models, {'each with one of them' if question.reference else 'all pairs'}"
    yield f"Found in {question.power:.0%} of evaluations, at most {question.alpha:.0%} false alarms{corrected} ({pairs})."
    if any(not row.measured for row in rows):
        if question.spread is None:
            low, high = (f"{share:.0%}" for share in FLIPPED)
            yield f"The spread is assumed: two models differ in {low} (like models) to {high} (unlike ones) of the documents."
        else:
            yield f"The spread of {question.spread:g} is as stated."
    else:
        yield "Spread: standard deviation of the per-document difference, measured on these runs and clustered by picture."
