"""What the tests of a release say beside its table: who beats whom, and how small a difference each benchmark can show.

table.parts = list(parts_below(table))
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from mm_eval.results.number_text import SAID_OF_VISIBLE, SMALLEST_VISIBLE, Unit, of_scale, p_text
from mm_eval.results.table import Cell, Column, Row, Table, TablePart
from mm_eval.values.types import Number
from mm_eval.values.words import counted, listed
from mm_eval.verbs.report.release.table import ReleaseDifference, ReleaseTable

MOST_PAIRS = 6
"""Pairs of models that a note names; the page has all of them."""


def parts_below(table: ReleaseTable) -> Iterator[TablePart]:
    """The further tables of a release, as far as two of its models have a number in common."""
    if len(table.measured) > 2 and any(wins(table).values()):
        yield _who_beats_whom(table)
    if (visible := _smallest_visible(table)) is not None:
        yield visible


def difference_text(found: ReleaseDifference, unit: Unit) -> str:
    """A difference with its 95% interval: "-4.0 [-7.3, -0.7] *", with a star where it is significant."""
    return " ".join(
        filter(None, (unit.signed(found.number.value), _ends(found.number, unit), found.is_significant * "*"))
    )


def said_of_difference(table: ReleaseTable) -> str:
    """What the column with the differences of two models shows; "" where there is none."""
    if table.pair is None:
        return ""
    first, second = table.pair
    said = f"Difference: {second} minus {first}, paired by document. Its 95% interval is not corrected for other comparisons."
    has_star = any(found.is_significant for differences in table.differences.values() for found in differences)
    return f"{said} * significant at 5% after Holm's correction." if has_star else said


def _ends(number: Number, unit: Unit) -> str:
    return f"[{', '.join(map(unit.signed, number.interval))}]" if number.interval else ""


def why_not_significant(table: ReleaseTable, a: str, b: str) -> str:
    """Why the differences of two models whose own interval leaves out 0 are not significant; "" where there is none."""
    said = []
    for row, differences in table.differences.items():
        for found in differences:
            if {found.first, found.second} == {a, b} and found.is_lost_by_correction:
                said.append(f"{table.shown_label(row)} ({_alone(found)})")
    if not said:
        return ""
    after = f"after correction for {counted(table.comparisons, 'comparison')}"
    return f"Significant before, but not {after}: {listed(said, 3)}"


def _alone(found: ReleaseDifference) -> str:
    return f"p {p_text(found.number.p_value)}, {p_text(found.corrected)} corrected"


def wins(table: ReleaseTable) -> dict[tuple[str, str], int]:
    """{(a, b): on how many benchmarks a is significantly ahead of b}."""
    found = dict.fromkeys(permutations(table.measured, 2), 0)
    for row, differences in table.differences.items():
        if row in table.plain:  # its benchmark counts once
            continue
        higher = table.better.get(row, True)
        for each in differences:
            if frozenset((each.first, each.second)) in table.told_apart.get(row, ()):
                up = (each.number.value > 0) == higher
                found[(each.second, each.first) if up else (each.first, each.second)] += 1
    return found


def _who_beats_whom(table: ReleaseTable) -> TablePart:
    """A table of models by models: on how many benchmarks the one of the line is ahead of the one of the column."""
    models, won = table.measured, wins(table)
    asked = dict.fromkeys(won, 0)
    for differences in (found for row, found in table.differences.items() if row not in table.plain):
        for each in differences:
            for pair in ((each.first, each.second), (each.second, each.first)):
                asked[pair] += 1
    rows = []
    for a in models:
        cells: dict[str, Cell] = {"": a}
        cells |= {b: f"{won[a, b]} of {asked[a, b]}" if asked.get((a, b)) else "–" for b in models}
        rows.append(Row(cells))
    pairs = [(a, b) for a, b in permutations(models, 2) if won[a, b]]
    leads = listed([f"{a} over {b} {won[a, b]} to {won[b, a]}" for a, b in pairs], MOST_PAIRS)
    note = f"Benchmarks with a significant lead: {leads}."
    said = (
        "The number of benchmarks on which the row's model is significantly ahead of the column's (5%, Holm-corrected)."
    )
    return TablePart("Who beats whom", Table([Column("", "text"), *map(Column, models)], rows), [said], note)


def _smallest_visible(table: ReleaseTable) -> TablePart | None:
    """How small a difference each benchmark shows, of the pair that varies least and of the one that varies most."""
    rows, notes, without = [], [], []
    for row, differences in table.differences.items():
        scales = [found.scale for found in table.rows[row].values() if found.scale]
        sizes = [size for each in differences if (size := each.number.smallest_visible(table.comparisons)) is not None]
        if not sizes:
            without += [table.shown_label(row)] if differences else []
            continue
        unit = table.unit(row)
        ends = [of_scale(size, scales[0] if scales else None, unit) for size in (min(sizes), max(sizes))]
        said = " to ".join(dict.fromkeys(ends))
        docs = [each.number.n for each in differences if each.number.n]
        counts = f"{min(docs):,}" if docs else "-"
        rows.append(
            Row({"benchmark": table.shown_label(row), "metric": row[1], "documents": counts, SMALLEST_VISIBLE: said})
        )
        notes.append(f"{table.shown_label(row)} {said}")
    if not rows:
        return None
    left = f"Unknown, because no difference there has a standard error: {listed(without, 6)}." if without else ""
    columns = [Column("benchmark", "text"), Column("metric", "text"), Column("documents"), Column(SMALLEST_VISIBLE)]
    basis = f"{SAID_OF_VISIBLE} ({counted(table.comparisons, 'comparison')} here)."
    note = f"Smallest visible difference, in percent of the scale: {'; '.join(notes)}."
    return TablePart(
        "Smallest visible difference",
        Table(columns, rows),
        [basis, *([left] if left else [])],
        f"{note} {left}".rstrip(),
    )
