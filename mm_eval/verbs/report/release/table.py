"""The numbers of a release: rows are benchmarks, columns are models. `release` fills the table, `ranking` ranks its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from mm_eval.results.judged import RecordedJudge
from mm_eval.results.number_text import Unit, unit_for
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.table import TablePart
from mm_eval.values.types import UNNAMED, MetricKey, Number
from mm_eval.verbs.study.gains import Gain

LEVEL = 0.05
"""Below this corrected p-value two numbers differ significantly."""


@dataclass
class ReleaseNumber:
    """One number of a model: ours with its 95% interval, or reported.

    margin: half the interval; None where there is none, or where it is exact and has two unequal halves.
    best: it shares the first rank of its row, and others are behind. verdict: whether a reported number matches.
    flaw: failed, missing or cut docs.
    judges: {task: who judged its answers} where rules did not; judge: the one that a reported number names.
    set_apart: it was measured differently from the rest of its row (judge, data, docs), and is not ranked.
    own_prompt: what its model was asked with other than the majority of its row ("prompt", "chat template"), ranked all the same;
        "" where the row has no majority.
    stderr, n: its standard error and its docs, scale: the least and the greatest value that there is, as far as they are known.
    rank: in its row, 1 for the first; models that can't be told apart share a rank. None where it is not ranked.
    protocol: the named protocol under which ours was measured.
    run, name, key: where ours was measured: the run, the task or group, and the key of the number. None for a reported one.
    """

    value: float
    margin: float | None = None
    interval: tuple[float, float] | None = None
    ours: bool = True
    best: bool = False
    verdict: str = ""
    flaw: str = ""
    judges: Mapping[str, RecordedJudge] = field(default_factory=dict)
    judge: str = ""
    set_apart: bool = False
    own_prompt: str = ""
    stderr: float | None = None
    n: int | None = None
    scale: tuple[float, float] | None = None
    rank: int | None = None
    protocol: str = ""
    run: RecordedRun | None = field(default=None, repr=False, compare=False)
    name: str = ""
    key: MetricKey = UNNAMED

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The 95% interval, if there is one."""
        if self.interval is not None:
            return self.interval
        return None if self.margin is None else (self.value - self.margin, self.value + self.margin)


@dataclass(frozen=True)
class Coverage:
    """How many of a benchmark's documents a model answered, also where it has no number for it.

    said: why it has none, in the words of its cell; "" where it has one.
    """

    answered: int
    documents: int
    said: str = ""

    @property
    def part(self) -> str:
        """ "30 of 420" where documents lack an answer; "" where all have one."""
        return f"{self.answered:,} of {self.documents:,}" if self.answered < self.documents else ""


@dataclass(frozen=True)
class ReleaseDifference:
    """The difference of two models on a benchmark over the docs that both scored: second - first.

    number: with its interval and its p-value alone. corrected: the p-value after Holm's correction over all pairs and benchmarks;
    None where there is no test, as for an average.
    """

    first: str
    second: str
    number: Number
    corrected: float | None = None

    @property
    def is_significant(self) -> bool:
        return self.corrected is not None and self.corrected < LEVEL

    @property
    def is_lost_by_correction(self) -> bool:
        """Whether its interval, which is that of one test, leaves out 0, and the corrected test finds nothing."""
        return (p := self.number.p_value) is not None and p < LEVEL and not self.is_significant


@dataclass
class ReleaseTable:
    """rows: (benchmark, metric) to numbers by column. columns: models in order, ours first. title: above it. notes: below it.

    runs: of each column of ours, also those without a number.

    covered: {benchmark: how much of it each model answered, by column}.
    categories: of a row, (level, category) to numbers by column. better: of a row, whether
    higher is better; None for a row without a direction, which has no ranks.
    headlines: the rows of each benchmark's main number. inside: of a member of a group, the group.
    copies: rows that are another form of an earlier row of their benchmark, with that row.
    told_apart: of a row, the pairs of columns that differ significantly.
    differences: of a main number's row, the difference of each pair of ranked columns. comparisons: the tests that are corrected
        together. average_difference: of the averages of two models.
    average: of the benchmarks that all measured models have, by column. sentence: what the tests say of the first two models.
    parts: further tables of all runs, below this one.
    gains: of a row with Python, what it adds to the one without, by column. plain: of such a row, the one without.
    gains_said: a sentence on the gains of each model.
    """

    columns: list[str] = field(default_factory=list)
    rows: dict[tuple[str, str], dict[str, ReleaseNumber]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    categories: dict[tuple[str, str], dict[tuple[str, str], dict[str, ReleaseNumber]]] = field(default_factory=dict)
    covered: dict[str, dict[str, Coverage]] = field(default_factory=dict)
    better: dict[tuple[str, str], bool | None] = field(default_factory=dict)
    headlines: set[tuple[str, str]] = field(default_factory=set)
    inside: dict[str, str] = field(default_factory=dict)
    copies: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    told_apart: dict[tuple[str, str], set[frozenset[str]]] = field(default_factory=dict)
    differences: dict[tuple[str, str], list[ReleaseDifference]] = field(default_factory=dict)
    comparisons: int = 0
    runs: dict[str, list[RecordedRun]] = field(default_factory=dict)
    average: dict[str, ReleaseNumber] = field(default_factory=dict)
    average_difference: ReleaseDifference | None = None
    sentence: str = ""
    title: str = "Release table"
    parts: list[TablePart] = field(default_factory=list)
    gains: dict[tuple[str, str], dict[str, Gain]] = field(default_factory=dict)
    plain: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    gains_said: list[str] = field(default_factory=list)

    def shown(self) -> list[tuple[str, str]]:
        """The rows that stand in the table: each benchmark's main number, and what others reported."""
        return [
            row for row, found in self.rows.items() if row in self.headlines or not all(n.ours for n in found.values())
        ]

    def lacking(self, row: tuple[str, str], column: str) -> Coverage | None:
        """Of a model without a number in a row: why, as far as one of its runs asked the benchmark."""
        found = self.covered.get(row[0], {}).get(column)
        return found if column not in self.rows.get(row, {}) and found is not None and found.said else None

    def part(self, row: tuple[str, str], column: str) -> str:
        """ "30 of 420" where a number is of a part of the documents."""
        found = self.covered.get(row[0], {}).get(column)
        number = self.rows.get(row, {}).get(column)
        return found.part if found is not None and number is not None and number.ours else ""

    @property
    def measured(self) -> list[str]:
        """The columns with a number of ours."""
        return [
            column
            for column in self.columns
            if any(column in row and row[column].run is not None for row in self.rows.values())
        ]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The two models of a release of two: their differences are a column of the table.

        A model without numbers is a third one.
        """
        measured = self.measured
        whole = all(any(column in row for row in self.rows.values()) for column in self.columns)
        return (measured[0], measured[1]) if len(measured) == 2 and whole and self.differences else None

    def difference(self, row: tuple[str, str]) -> ReleaseDifference | None:
        """The difference of the two models of a release of two."""
        return next(iter(self.differences.get(row, ())), None) if self.pair else None

    def below(self, row: tuple[str, str]) -> list[tuple[str, str]]:
        """The other numbers of a benchmark, and the members of a group, below its first row that is shown."""
        shown = self.shown()
        if row != next((each for each in shown if each[0] == row[0]), None):
            return []
        others = [each for each in self.rows if each not in shown and each not in self.copies]
        return [each for each in others if row[0] in (each[0], self._group_of(each[0]))]

    def _group_of(self, name: str) -> str:
        """The outermost group that a row is in; its own name where it is in none."""
        seen = {name}
        while (name in self.inside) and (name := self.inside[name]) not in seen:
            seen.add(name)
        return name

    def unit(self, row: tuple[str, str]) -> Unit:
        """The unit in which the numbers of a row are shown."""
        numbers = self.rows[row].values()
        ends = [end for found in numbers for end in found.bounds or ()]
        return unit_for(
            row[1].partition(",")[0], [found.value for found in numbers], ends, [found.scale for found in numbers]
        )

    def scale(self, row: tuple[str, str]) -> tuple[float, float] | None:
        """The ends of the line on which a row's intervals are drawn: 0 to 1 for every share, else the scale of its points where
        that is known. One scale for all shares, so that equal numbers are drawn at equal places."""
        if self.in_percent(row):
            return 0.0, 1.0
        scales = {found.scale for found in self.rows[row].values() if found.ours}
        [scale] = scales if len(scales) == 1 else [None]
        return scale if scale is not None and all(map(math.isfinite, scale)) and scale[0] < scale[1] else None

    def in_percent(self, row: tuple[str, str]) -> bool:
        """Whether the numbers of a row are shares."""
        return self.unit(row).is_percent

    def text(self, row: tuple[str, str], value: float) -> str:
        """A value of a row as a reader sees it: 61.3 of a share, else with the digits of the row's largest number."""
        return self.unit(row).text(value)

    def shown_label(self, row: tuple[str, str]) -> str:
        """A row's name in the table: the benchmark's where it has one row there."""
        return (
            row[0]
            if [name for name, _ in self.shown()].count(row[0]) == 1 and row in self.headlines
            else self.label(row)
        )

    def label(self, row: tuple[str, str]) -> str:
        """A row's name: the benchmark's, with the metric where it has several rows."""
        several = sum(name == row[0] for name, _ in self.rows) > 1
        return f"{row[0]} ({row[1]})" if several else row[0]

    def category_label(self, row: tuple[str, str], level: str, category: str) -> str:
        """The name of a category's row: "mmmu_val / Art", with the level where the benchmark has several."""
        levels = {level for level, _ in self.categories[row]}
        return f"{row[0]} / {level}: {category}" if len(levels) > 1 else f"{row[0]} / {category}"
