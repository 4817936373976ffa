"""The average of a release over the benchmarks that all models have, and the sentence that says what the tests say.

An average is of shares, and each benchmark counts once: of a group its own number and not its members'. Points are left out. Its
interval is made of those of its benchmarks; two averages are compared by the paired differences of their benchmarks.
"""

from __future__ import annotations

from dataclasses import dataclass

from mm_eval.results.estimates import scaled
from mm_eval.scoring.metrics.stderr import combined
from mm_eval.values.types import UNNAMED, Number
from mm_eval.values.words import counted, listed
from mm_eval.verbs.report.release.differences import why_not_significant
from mm_eval.verbs.report.release.ranking import Differences
from mm_eval.verbs.report.release.table import ReleaseDifference, ReleaseNumber, ReleaseTable

AVERAGE = "Average"
LEAST = 2
"""Benchmarks of which an average is made."""
Row = tuple[str, str]


def add_average(table: ReleaseTable) -> None:
    """Adds the average of each measured model, and the sentence on the first two."""
    columns = [column for column in table.columns if any(_measured(row.get(column)) for row in table.rows.values())]
    rows = _rows(table, columns)
    if len(columns) > 1 and len(rows) >= LEAST:
        for column in columns:
            table.average[column] = _average([table.rows[row][column] for row in rows])
        headlines = [row for row in table.shown() if row in table.headlines and row not in table.plain]
        points = [row[0] for row in headlines if not table.in_percent(row)]
        of = f"{AVERAGE}: of {counted(len(rows), 'benchmark')} ({listed([row[0] for row in rows], 6)}), each counting once"
        of += ", without Python" if table.plain else ""
        table.notes.append(of + (f"; {listed(points, 3)} in points left out." if points else "."))
    if len(columns) > 1:
        table.sentence = _sentence(table, columns, rows)


NO_ABILITY = ("image", "text", "english", "chinese", "multilingual", "language_modelling")
"""Tags of what a benchmark shows and in which language, and not of what it asks for."""


@dataclass(frozen=True)
class Ability:
    """The benchmarks with a tag, and the mean of their numbers by column."""

    benchmarks: list[str]
    numbers: dict[str, ReleaseNumber]


def abilities(table: ReleaseTable) -> dict[str, Ability]:
    """{tags: the mean of the benchmarks that have them}, of the benchmarks that are averaged; with most benchmarks first.

    Tags of the same benchmarks are together. None if each is of one benchmark: the means then are the benchmarks' own numbers.
    """
    columns = table.measured
    tagged: dict[str, list[Row]] = {}
    for row in _rows(table, columns) if columns else ():
        for tag in _tags(table.rows[row][columns[0]]):
            tagged.setdefault(tag, []).append(row)
    together: dict[tuple[Row, ...], list[str]] = {}
    for tag, rows in tagged.items():
        together.setdefault(tuple(rows), []).append(tag)
    if len(together) < 2 or max(map(len, together)) < 2:
        return {}
    return {
        ", ".join(tags): Ability(
            [table.shown_label(row) for row in rows],
            {column: _average([table.rows[row][column] for row in rows]) for column in columns},
        )
        for rows, tags in sorted(together.items(), key=lambda each: -len(each[0]))
    }


def _tags(found: ReleaseNumber) -> list[str]:
    """The abilities that a benchmark's tags name; of a group those that all of its tasks have."""
    if found.run is None:
        return []
    results = found.run.results
    stated = [results.configs.get(leaf, {}).get("tag") or () for leaf in results.leaves(found.name)]
    lists = [[each] if isinstance(each, str) else [str(tag) for tag in each] for each in stated]
    return [tag for tag in lists[0] if tag not in NO_ABILITY and all(tag in each for each in lists)] if lists else []


def _measured(found: ReleaseNumber | None) -> bool:
    return found is not None and found.run is not None and not found.set_apart


def _rows(table: ReleaseTable, columns: list[str]) -> list[Row]:
    """The benchmarks that all these models have, under conditions that are ranked together."""
    found = []
    for row in (table.headlines & table.rows.keys()) - table.plain.keys():
        numbers = table.rows[row]
        alike = all(_measured(numbers.get(column)) for column in columns)
        if alike and table.in_percent(row) and table.better.get(row, True):
            found.append(row)
    return [row for row in table.rows if row in found]


def _average(numbers: list[ReleaseNumber]) -> ReleaseNumber:
    count = len(numbers)
    value = sum(found.value for found in numbers) / count
    ends = [found.bounds for found in numbers]
    gaps = [
        ((found.value - end[0]) / count, (end[1] - found.value) / count)
        for found, end in zip(numbers, ends, strict=True)
        if end is not None
    ]
    if len(gaps) < count:
        return ReleaseNumber(value)
    low, high = combined(value, gaps)
    return ReleaseNumber(value, interval=(max(0.0, low), min(1.0, high)))


def _sentence(table: ReleaseTable, columns: list[str], rows: list[Row]) -> str:
    """What the tests say of the two first models, by their average or in the table's order."""
    order = sorted(columns, key=lambda column: -table.average[column].value) if table.average else columns
    a, b = order[:2]
    both = [
        row
        for row in table.shown()
        if row in table.headlines and row not in table.plain and all(_measured(table.rows[row].get(c)) for c in (a, b))
    ]
    both = [row for row in both if table.better.get(row, True) is not None]
    if not both:
        return ""
    ahead = behind = 0
    for row in both:
        if frozenset((a, b)) in table.told_apart.get(row, ()):
            first, second = table.rows[row][a].value, table.rows[row][b].value
            up = (first > second) == bool(table.better.get(row, True))
            ahead, behind = ahead + up, behind + (not up)
    same = len(both) - ahead - behind
    of = f"on {ahead} of {counted(len(both), 'benchmark')}"
    two = "" if len(columns) < 3 else "The two best on average: " if table.average else "The first two models: "
    parts = [
        f"{a} is ahead of {b} {of}"
        if ahead or behind
        else f"{a} and {b} show no significant difference on {both[0][0]}"
        if len(both) == 1
        else f"{a} and {b} show no significant difference on any of {len(both)} benchmarks"
    ]
    if behind:
        parts[0] += f", behind on {behind}"
    if same and (ahead or behind):
        parts[0] += f"; {counted(same, 'shows', 'show')} no significant difference"
    parts[0] = two + parts[0]
    parts += [why] if (why := why_not_significant(table, a, b)) else []
    if table.average:
        parts.append(_of_averages(table, a, b, rows))
    return ". ".join(parts) + "."


def _of_averages(table: ReleaseTable, a: str, b: str, rows: list[Row]) -> str:
    first, second = table.average[a].value, table.average[b].value
    said = f"Average {100 * first:.1f} against {100 * second:.1f}, {100 * (first - second):+.1f}"
    differences, gaps, between = Differences(), [], 0.0
    for row in rows:
        found = differences.between(table.rows[row][b], table.rows[row][a], None)
        if found is None or found.interval is None or not isinstance(found.value, (int, float)):
            return said
        between += found.value / len(rows)
        low, high = found.interval
        gaps.append(((found.value - low) / len(rows), (high - found.value) / len(rows)))
    low, high = combined(between, gaps)
    low, high = max(-1.0, low), min(1.0, high)
    if table.pair:  # in the order of the columns, as the differences of the benchmarks
        number = Number(UNNAMED, between, exact=(low, high))
        table.average_difference = ReleaseDifference(
            *table.pair, number if (b, a) == table.pair else scaled(number, -1.0)
        )
    apart = "" if low > 0 or high < 0 else ", not significant"
    if f"{100 * between:+.1f}" != f"{100 * (first - second):+.1f}":
        said += f"; {100 * between:+.1f} on the documents that both answered"
    return f"{said} ({100 * low:.1f} to {100 * high:.1f}){apart}"
