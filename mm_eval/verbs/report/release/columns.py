"""The two columns of a release: each benchmark without and with Python, paired document by document.

    columns: [plain, python]    # in a release file; `mm-eval report` finds the pairs in the runs

A benchmark counts once: its row with Python is in no average beside the one without, and in no count of benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mm_eval.config.schema import split_python
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.table import Cell, TablePart, Value
from mm_eval.values.distributions import holm
from mm_eval.verbs.report.release.table import ReleaseTable
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.gains import Gain, sentences
from mm_eval.verbs.study.gains_table import gains_table
from mm_eval.verbs.study.task_variants import VariantRun, with_variants

TITLE = "Without and with Python"
GAIN = "gain: the score with Python minus the score without, paired by document, with its 95% interval"
NOTE = f"{GAIN}. n.s.: no significant difference (5%, Holm for all gains of the table)."
SAID = (
    f"{GAIN}. * is significant (5%, Holm for all gains of the table). Tokens, calls and dollars are per document; "
    "without → with Python."
)


def add_gains(table: ReleaseTable, runs: Sequence[tuple[str, RecordedRun]]) -> None:
    """Adds the gains of all columns, and puts each row with Python behind the one without. runs: with their columns."""
    found = _corrected([(column, gain) for column, gain in _gains(runs) if split_python(gain.name)[1]])
    for column, gain in found:
        row, plain = (_row_of(table, column, name, gain) for name in (gain.name, gain.task))
        if row is not None and plain is not None:
            table.gains.setdefault(row, {})[column] = gain
            table.plain[row] = plain
    if not table.gains:
        return
    behind: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row, plain in table.plain.items():
        behind.setdefault(plain, []).append(row)
    order = [each for row in table.rows if row not in table.plain for each in (row, *behind.get(row, ()))]
    table.rows = {row: table.rows[row] for row in order}
    several = len({column for column, _ in found}) > 1
    for column in dict.fromkeys(column for column, _ in found):
        said = sentences([gain for of, gain in found if of == column])
        table.gains_said += [f"{column}: {each}" if several else each for each in said]
    tasks = list(dict.fromkeys(gain.task for _, gain in found))
    found.sort(key=lambda each: tasks.index(each[1].task))
    table.parts = [TablePart(TITLE, gains_table(found), [SAID], NOTE), *table.parts]


def _gains(runs: Sequence[tuple[str, RecordedRun]]) -> Iterator[tuple[str, Gain]]:
    """The gains of each column, from one run that has both, or from two."""
    for column, run in runs:
        others = [other for of, other in runs if of == column]
        second = next((each for each in (run, *others) if isinstance(with_variants(run, each), VariantRun)), None)
        if second is not None:
            yield from ((column, gain) for gain in compare([run, second])[0].gains)


def _corrected(found: list[tuple[str, Gain]]) -> list[tuple[str, Gain]]:
    """The gains with p-values that are corrected for the number of all of them."""
    ps = [p for _, gain in found if (p := gain.change.difference.p_value) is not None]
    corrected = iter(holm(ps))
    return [
        (column, replace(gain, change=replace(gain.change, corrected=next(corrected))))
        if gain.change.difference.p_value is not None
        else (column, gain)
        for column, gain in found
    ]


def _row_of(table: ReleaseTable, column: str, name: str, gain: Gain) -> tuple[str, str] | None:
    """The row that has a column's number of a task or group."""
    for row, numbers in table.rows.items():
        found = numbers.get(column)
        if found is not None and found.name == name and found.key == gain.change.key:
            return row
    return None


def gain_cell(gain: Gain | None) -> Value | None:
    """A gain as a cell: "+12.3 [9.1, 15.4]"."""
    if gain is None:
        return None
    found, unit = gain.change.difference, gain.change.unit
    after = f" [{', '.join(map(unit.signed, found.interval))}]" if found.interval else ""
    return Value(unit.signed(found.value), after if gain.change.told_apart else f"{after} n.s.")


CSV_NAMES = (
    *("without", "gain", "gain_low", "gain_high", "gain_p", "gained", "lost"),
    *("tokens", "tokens_without", "calls", "used", "dollars", "dollars_without"),
)
"""Of a row with Python. used: the share of documents in which code was run."""


def csv_cells(gain: Gain | None) -> Mapping[str, Cell]:
    """A gain and what it took in the columns of a CSV; all are empty for None."""
    if gain is None:
        return dict.fromkeys(CSV_NAMES)
    change, use = gain.change, gain.use
    low, high = change.difference.interval or (None, None)
    gained, lost = gain.flips or (None, None)
    without, tokens = use.tokens if use.times else (None, None)
    dollars_without, dollars = use.dollars or (None, None)
    used = use.used / use.docs if use.docs else None
    values = (change.first.value, change.difference.value, low, high, change.corrected, gained, lost, tokens, without)
    return dict(zip(CSV_NAMES, (*values, use.calls, used, dollars, dollars_without), strict=True))
