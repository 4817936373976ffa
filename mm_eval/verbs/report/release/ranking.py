"""Ranks in a release table: a model ranks below another only if the difference is significant.

Measured numbers are compared doc by doc (paired, clustered), and the p-values are corrected (Holm) for all pairs of the main
numbers of the benchmarks; their other numbers and the categories are corrected on their own. A reported number has no docs: it
differs from ours if it lies outside our 95% interval, and two reported numbers are never ranked against each other. Numbers of
another judge, of other data or of a part of the docs are not ranked with the rest of their row. Each model is ranked under its
own prompt, unless only equal prompts are asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from mm_eval.config.schema import split_python
from mm_eval.results.changes import are_proportional, change_of, data_asked, prompt_asked
from mm_eval.results.estimates import Triple, group_differences, scaled
from mm_eval.results.judged import RecordedJudge, judged_by, judges_differ
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.distributions import holm
from mm_eval.values.types import MetricKey, Number
from mm_eval.values.words import counted, listed
from mm_eval.verbs.report.release.table import LEVEL, ReleaseDifference, ReleaseNumber, ReleaseTable


def set_apart(table: ReleaseTable, same_prompt: bool = False) -> list[str]:
    """Marks the numbers that were measured otherwise than most of their row; returns notes, one for each cause.

    same_prompt: a prompt of a model's own sets its number apart too; otherwise it is only marked.
    """
    causes: dict[tuple[str, str], list[str]] = {}
    prompts: dict[str, dict[str, None]] = {}
    of_fixes: dict[tuple[str, str], list[str]] = {}
    for row, numbers in table.rows.items():
        measured = {column: found for column, found in numbers.items() if found.run is not None and not found.set_apart}
        for column, what in _unlike(measured, _conditions).items():
            _set_apart(table, row, column)
            causes.setdefault((column, what), []).append(row[0])
        fixed = {column: said for column, found in measured.items() if (said := _fixed_golds(found))}
        for column, said in fixed.items():
            if (
                len(measured) < len(numbers) and not measured[column].set_apart
            ):  # reported numbers are of the data's golds
                _set_apart(table, row, column)
                causes.setdefault((column, "the set of golds"), []).append(row[0])
            of_fixes.setdefault((column, said), []).append(row[0])
        ranked = {column: found for column, found in measured.items() if not found.set_apart}
        unlike = _unlike(ranked, _prompt)
        is_usual = 2 * len(unlike) < len(ranked)  # without a majority no cell is the odd one: the note says it once
        for column, what in unlike.items():
            if same_prompt:
                _set_apart(table, row, column)
                causes.setdefault((column, what), []).append(row[0])
            else:
                prompts.setdefault(what, {})[row[0]] = None
                for found in _in_row(table, row, column) if is_usual else ():
                    found.own_prompt = what.replace("the ", "")
    notes = []
    for (column, what), of_cause in causes.items():
        of = listed(dict.fromkeys(of_cause), 6)
        notes.append(
            f"{column}: {what} {'differ' if ' and ' in what else 'differs'} from most models on {of}: not ranked there."
        )
    for (column, said), names_of in of_fixes.items():
        notes.append(f"{column}: {said} on {listed(dict.fromkeys(names_of), 6)}: not the benchmark's own score.")
    for what, names in prompts.items():
        benchmarks = {split_python(name)[0] for name in names}  # without and with Python is one
        of = f"{counted(len(benchmarks), 'benchmark')} ({listed(names, 6)})"
        notes.append(
            f"On {of} the models differ in {what} (each was given its own). They are ranked together; "
            "--same_prompt ranks only equal prompts."
        )
    return notes


def _fixed_golds(found: ReleaseNumber) -> str:
    return "" if found.run is None else found.run.results.fixed_golds(found.name)


def _set_apart(table: ReleaseTable, row: tuple[str, str], column: str) -> None:
    for found in _in_row(table, row, column):
        found.set_apart = True


def _in_row(table: ReleaseTable, row: tuple[str, str], column: str) -> Iterator[ReleaseNumber]:
    """A model's number in a row, and those in its categories."""
    for cells in (table.rows[row], *table.categories.get(row, {}).values()):
        if column in cells:
            yield cells[column]


def _unlike(
    measured: Mapping[str, ReleaseNumber], conditions_of: Callable[[ReleaseNumber], Mapping[str, object]]
) -> dict[str, str]:
    """{column: in what it differs} of the numbers that were measured otherwise than most of them.

    Where as many were measured in two ways, the way with more docs is the usual one, then the one with the task's default prompt,
    whatever the order of the columns.
    """
    if len(measured) < 2:
        return {}
    conditions = {column: conditions_of(found) for column, found in measured.items()}
    texts = {column: json.dumps(found, sort_keys=True, default=str) for column, found in conditions.items()}
    count = list(texts.values()).count

    def weight(column: str) -> tuple[int, int, bool, str]:
        return count(texts[column]), measured[column].n or 0, _is_default(measured[column]), texts[column]

    usual = max(measured, key=weight)
    differ = {}
    for column, found in conditions.items():
        named = [what for what in found if found[what] != conditions[usual].get(what)]
        if named:
            differ[column] = " and ".join(named)
    return differ


def set_apart_by_judge(table: ReleaseTable, mix_judges: bool) -> list[str]:
    """Marks the numbers that another judge gave than most of their row; returns notes on who judged what."""
    notes: list[str] = []
    said_of_rows: dict[tuple[str, str], list[tuple[str, str]]] = {}  # the rows of a benchmark of which the same is said
    for row, numbers in table.rows.items():
        if not any(found.judges for found in numbers.values()):
            continue
        of_row = _judges_of_most(numbers)
        others = {column: said for column, found in numbers.items() if (said := _judged_otherwise(found, of_row))}
        official = dict.fromkeys(str(judge.official) for judge in of_row.values() if judge.is_official is False)
        unlike = f", official {', '.join(official)}: not comparable with published scores" if official else ""
        said_of_rows.setdefault((row[0], f"{judged_by(of_row.values())}{unlike}."), []).append(row)
        for column, said in others.items():
            end = "ranked together all the same (--mix_judges)" if mix_judges else "not ranked with the others"
            notes.append(f"{column}, {table.label(row)}: {said}: {end}.")
            if not mix_judges:
                _set_apart(table, row, column)
    said_of = [f"{_rows_together(table, rows)}: {said}" for (_, said), rows in said_of_rows.items()]
    return said_of + notes


def _rows_together(table: ReleaseTable, rows: Sequence[tuple[str, str]]) -> str:
    """A name for rows of one benchmark: the benchmark's where they are all that it has."""
    if len(rows) > 1 and len(rows) == sum(name == rows[0][0] for name, _ in table.rows):
        return rows[0][0]
    return ", ".join(map(table.label, rows))


def _judges_of_most(numbers: Mapping[str, ReleaseNumber]) -> Mapping[str, RecordedJudge]:
    """The judges of most of a row's measured numbers; of the first where several have as many."""
    measured = [found.judges for found in numbers.values() if found.ours]
    return max(measured, key=lambda mine: sum(not judges_differ(mine, other) for other in measured))


def _judged_otherwise(found: ReleaseNumber, of_row: Mapping[str, RecordedJudge]) -> str:
    if not found.ours:
        return differently_judged(of_row, found.judge)
    return judged_by(found.judges.values()) if judges_differ(of_row, found.judges) else ""


def differently_judged(judges: Mapping[str, RecordedJudge], stated: str) -> str:
    """How the judge of a reported number differs from ours, in words; empty where it is the same or rules gave ours."""
    return next((said for judge in judges.values() if (said := judge.difference_to_reported(stated))), "")


def rank(table: ReleaseTable) -> None:
    """Gives every number of the table its rank in its row, and marks those that share the first rank as best."""
    table.copies = _copies(table)
    for headline in (True, False):
        rows = [row for row in table.rows if (row in table.headlines) is headline and row not in table.copies]
        found = _rank([(table.rows[row], table.better.get(row, True), None) for row in rows])
        table.told_apart.update(zip(rows, found.told_apart, strict=True))
        if headline:
            table.comparisons = found.comparisons
            table.differences = {row: _in_order(table, row, found) for row in rows}
    _rank(
        [
            (numbers, table.better.get(row, True), category)
            for row, found in table.categories.items()
            for category, numbers in found.items()
        ]
    )

    for row, original in table.copies.items():
        for column, found_here in table.rows[row].items():
            found_here.rank, found_here.best = (
                getattr(table.rows[original][column], name) for name in ("rank", "best")
            )


def _in_order(table: ReleaseTable, row: tuple[str, str], found: _Ranked) -> list[ReleaseDifference]:
    """The differences of a row's pairs, each of two columns in the table's order."""
    numbers = table.rows[row]
    ours = [column for column in table.columns if column in numbers]
    of_pairs = []
    for first, second in combinations(ours, 2):
        for (a, b), sign in (((first, second), 1), ((second, first), -1)):
            if (known := found.differences.get((id(numbers[a]), id(numbers[b])))) is not None:
                number, corrected = known
                of_pairs.append(
                    ReleaseDifference(first, second, number if sign > 0 else scaled(number, -1.0), corrected)
                )
    return of_pairs


def _copies(table: ReleaseTable) -> dict[tuple[str, str], tuple[str, str]]:
    """{row: an earlier row of which it is another form}: the same docs, and numbers that differ by one factor in all columns."""
    copies: dict[tuple[str, str], tuple[str, str]] = {}
    kept: list[tuple[str, str]] = []
    for row in sorted(table.rows, key=lambda row: row not in table.headlines):
        same = (first for first in kept if first[0] == row[0] and _is_copy(table.rows[first], table.rows[row]))
        if row not in table.headlines and (original := next(same, None)):
            copies[row] = original
        else:
            kept.append(row)
    return copies


def _is_copy(first: Mapping[str, ReleaseNumber], second: Mapping[str, ReleaseNumber]) -> bool:
    if first.keys() != second.keys() or not all(found.ours for found in (*first.values(), *second.values())):
        return False
    if any(_docs(first[column]) != _docs(second[column]) or first[column].bounds is None for column in first):
        return False  # equal values without an interval may be chance
    sizes = [
        [n for found in numbers.values() for n in (found.value, found.stderr, *(found.bounds or ()))]
        for numbers in (first, second)
    ]
    return len(sizes[0]) == len(sizes[1]) and are_proportional(*sizes)


def _docs(found: ReleaseNumber) -> object:
    """The docs behind a number of ours."""
    task = found.run.tasks.get(found.name) if found.run else None
    return task.values.get(found.key, {}).keys() if task else found.n


_Row = tuple[Mapping[str, ReleaseNumber], bool | None, tuple[str, str] | None]
"""The numbers of a row by column, whether higher is better, and the category that they are of. Without a direction: no ranks."""


@dataclass(frozen=True)
class _Ranked:
    """told_apart: of each row the pairs of columns that differ significantly. differences: {ids of two numbers: the second less
    the first, and the corrected p-value}. comparisons: the tests that were corrected together."""

    told_apart: list[set[frozenset[str]]]
    differences: Mapping[tuple[int, int], tuple[Number, float | None]]
    comparisons: int


def _rank(every: Sequence[_Row]) -> _Ranked:
    """Ranks the numbers of rows."""
    differences, rows = Differences(), [row for row in every if row[1] is not None]
    pairs: list[tuple[ReleaseNumber, ReleaseNumber, Number | None]] = []
    for numbers, _, category in rows:
        ranked = [found for found in numbers.values() if not found.set_apart]
        pairs += [(a, b, differences.between(a, b, category)) for a, b in combinations(ranked, 2)]
    paired = [(a, b, found.p_value) for a, b, found in pairs if found and found.p_value is not None]
    corrected = holm([p for *_, p in paired])
    differ = {frozenset((id(a), id(b))) for (a, b, _), p in zip(paired, corrected, strict=True) if p < LEVEL}
    apart = differ - {frozenset((id(a), id(b))) for a, b, found in pairs if found and _contradicts(found, a, b)}
    apart |= {frozenset((id(a), id(b))) for a, b, found in pairs if found is None and _outside(a, b)}
    for numbers, higher, _ in rows:
        ranked = [found for found in numbers.values() if not found.set_apart]
        for found in ranked:
            ahead = [other for other in ranked if _ahead(other, found, higher)]
            found.rank = 1 + sum(frozenset((id(a), id(found))) in apart for a in ahead)
        behind = [found for found in ranked if found.rank != 1]
        others = [found for found in numbers.values() if found.rank != 1]
        for found in ranked:
            # A number of few docs can't be told apart from the first, while a higher one of many docs can: that is no merit.
            # Nor is it one to stand beside a better number that is not ranked.
            found.best = bool(behind) and found.rank == 1 and not any(_ahead(other, found, higher) for other in others)
    told_apart = [
        {frozenset((a, b)) for a, b in combinations(numbers, 2) if frozenset((id(numbers[a]), id(numbers[b]))) in apart}
        for numbers, _, _ in every
    ]
    of_pair = {(id(a), id(b)): p for (a, b, _), p in zip(paired, corrected, strict=True)}
    known = {
        (id(a), id(b)): (found, of_pair.get((id(a), id(b))))
        for a, b, found in pairs
        if found is not None and isinstance(found.value, (int, float))
    }
    return _Ranked(told_apart, known, len(paired))


def _contradicts(paired: Number, a: ReleaseNumber, b: ReleaseNumber) -> bool:
    """Whether the docs that both scored say the opposite of the two numbers, of which one lacks docs: neither is ahead then."""
    return isinstance(paired.value, (int, float)) and paired.value * (b.value - a.value) <= 0


def _ahead(a: ReleaseNumber, b: ReleaseNumber, higher: bool | None) -> bool:
    return a.value > b.value if higher else a.value < b.value


class Differences:
    """Paired differences between measured numbers; those of tasks are kept, since groups are made of them."""

    def __init__(self) -> None:
        self._of_tasks: dict[tuple[int, int, str], dict[MetricKey, Triple]] = {}

    def between(self, a: ReleaseNumber, b: ReleaseNumber, category: tuple[str, str] | None) -> Number | None:
        """b - a over the docs that both scored; None where one is reported, or the task's own function can't be read."""
        if a.run is None or b.run is None:
            return None
        if category is not None:
            return _of_category(a.run, b.run, a.name, a.key, category)
        if a.name in a.run.results.members:
            names = a.run.results.leaves(a.name)
            by_task = {name: self._of_task(a.run, b.run, name) for name in names if name in b.run.tasks}
            found = {key: difference for key, _, _, difference in group_differences(a.run, a.name, by_task)}
            return found.get(a.key)
        triple = self._of_task(a.run, b.run, a.name).get(a.key)
        return triple[2] if triple else None

    def _of_task(self, a: RecordedRun, b: RecordedRun, name: str) -> dict[MetricKey, Triple]:
        place = (id(a), id(b), name)
        if place not in self._of_tasks:
            first, second = a.tasks[name], b.tasks.get(name)
            found: dict[MetricKey, Triple] = {}
            for key in first.values if second else ():
                shared = sorted(first.values[key].keys() & second.values.get(key, {}).keys()) if second else []
                if second and (change := change_of(first, second, key, shared)):
                    found[key] = (change.first, change.second, change.difference)
            self._of_tasks[place] = found
        return self._of_tasks[place]


def _of_category(a: RecordedRun, b: RecordedRun, name: str, key: MetricKey, category: tuple[str, str]) -> Number | None:
    first, second = a.tasks[name], b.tasks.get(name)
    if second is None or key not in first.values or key not in second.values:
        return None
    doc_ids = set(first.categories.get(category[0], {}).get(category[1], ()))
    change = change_of(first, second, key, sorted(doc_ids & first.values[key].keys() & second.values[key].keys()))
    return change.difference if change else None


def _outside(a: ReleaseNumber, b: ReleaseNumber) -> bool:
    """Whether a reported number lies outside the interval of a measured one."""
    for number, other in ((a, b), (b, a)):
        if number.run is not None and other.run is None and (interval := number.bounds):
            return not interval[0] <= other.value <= interval[1]
    return False


def _conditions(found: ReleaseNumber) -> dict[str, object]:
    """What two numbers must share to be ranked together, in words."""
    known: dict[str, Any] = {}
    for name, _ in _tasks(found):
        for what, value in data_asked(found.run, name).items() if found.run else ():
            known.setdefault(what, []).append(value)
    return known


def _prompt(found: ReleaseNumber) -> dict[str, object]:
    """The prompt of a number's tasks: what the block adds, the chat template, and the system instruction."""
    if found.run is None:
        return {}
    return {
        "the chat template": found.run.spec.get("chat"),
        "the system instruction": found.run.spec.get("system"),
        "the prompt": [prompt_asked(found.run, name) for name, _ in _tasks(found)],
    }


def _is_default(found: ReleaseNumber) -> bool:
    """Whether the tasks' default prompt was asked."""
    return all((task.get("prompt") or {}).get("key") == "default" for _, task in _tasks(found))


def _tasks(found: ReleaseNumber) -> list[tuple[str, Mapping[str, Any]]]:
    """(name, entry of run.json) of the tasks behind a number."""
    run = found.run
    if run is None:
        return []
    return [(name, run.spec["tasks"].get(name, {})) for name in run.results.leaves(found.name)]


def ranked_columns(numbers: Mapping[str, ReleaseNumber]) -> Iterator[tuple[str, str]]:
    """(column, rank as text) of a row: "1", or "2=" where several share a rank; none where all models share the first."""
    ranks = [found.rank for found in numbers.values() if found.rank]
    for column, found in numbers.items():
        if found.rank and max(ranks) > 1:
            yield column, f"{found.rank}{'=' if ranks.count(found.rank) > 1 else ''}"
