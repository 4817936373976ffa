"""The plan of a comparison as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mm_eval.features.study.deciding.design import FLIPPED, Planned, Question
from mm_eval.results.number_text import rounded
from mm_eval.results.table import Cell, Column, Row, Table, to_text


def render(rows: Sequence[Planned], question: Question) -> str:
    """The table, and plain sentences on what is too small for the question."""
    columns = [
        Column("task", "text"),
        Column("metric", "text"),
        *map(Column, ("docs", "spread", "smallest difference")),
    ]
    if question.difference is not None:
        columns += map(Column, (f"docs for {question.difference:g}", "enough", "docs with --stop_when"))
    table = Table(columns, [Row(_cells(row, question)) for row in rows])
    return "\n".join([*to_text(table).split("\n"), "", *_sentences(rows, question)])


def _cells(row: Planned, question: Question) -> dict[str, Cell]:
    cells: dict[str, Cell] = {
        "task": row.name,
        "metric": row.metric,
        "docs": f"{row.docs:,}",
        "spread": _range(row.spread, ".0f"),
        "smallest difference": _range(row.detectable, ".1f"),
    }
    if question.difference is not None and row.needed is not None and row.share is not None:
        low, high = (rounded(each) for each in row.needed)
        enough = "yes" if row.needed[1] <= row.docs else "no" if row.needed[0] > row.docs else "for like models"
        cells[f"docs for {question.difference:g}"] = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        cells["enough"] = enough
        cells["docs with --stop_when"] = _range((100 * row.share[0], 100 * row.share[1]), ".0f", "%")
    return cells


def _range(ends: tuple[float, float], form: str, unit: str = "") -> str:
    low, high = (f"{end:{form}}" for end in ends)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def _sentences(rows: Sequence[Planned], question: Question) -> Iterator[str]:
    count = question.pairs * sum(not row.is_average for row in rows)
    corrected = f", corrected for {count} comparisons" if count > 1 else ""
    pairs = f"{question.models} models, {'each with one of them' if question.reference else 'all pairs'}"
    yield f"Found in {question.power:.0%} of evaluations, at most {question.alpha:.0%} false alarms{corrected} ({pairs})."
    if any(not row.measured for row in rows):
        if question.spread is None:
            low, high = (f"{share:.0%}" for share in FLIPPED)
            yield f"The spread is assumed: two models differ in {low} (like models) to {high} (unlike ones) of right/wrong docs."
        else:
            yield f"The spread of {question.spread:g} is as stated."
    else:
        yield "The spread is that of the runs: the standard deviation of a doc's difference, docs of one picture drawn together."
    for row in rows:
        if question.difference is None or row.needed is None or row.enough:
            continue
        least, most = row.needed
        what = f"{row.name} is too small to show {question.difference:g} points"
        if least > row.docs:
            fewest, many = f"{rounded(least):,}", f"{rounded(most):,}"
            needed = fewest if fewest == many else f"{fewest} to {many}"
            yield f"{what}: that takes about {needed} docs, and it has {row.docs:,}."
        else:
            yield f"{what} between unlike models: that takes about {rounded(most):,} docs, and it has {row.docs:,}."
    if any(row.is_average for row in rows):
        yield "The average counts each task the same and is planned as one number of its own, not corrected for the tasks."
