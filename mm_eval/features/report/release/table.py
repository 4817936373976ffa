"""The numbers of a release: rows are benchmarks, columns are models. `release` fills the table, `ranking` ranks its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mm_eval.results.judged_by import RecordedJudge
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import UNNAMED, MetricKey


@dataclass
class ReleaseNumber:
    """One number of a model: ours with its 95% interval, or reported.

    margin: half the interval; None where there is none, or where it is exact and has two unequal halves.
    best: it shares the first rank of its row, and others are behind. verdict: whether a reported number matches.
    flaw: failed, missing or cut docs.
    judges: {task: judge} of a judged number; judge: the one that a reported number names.
    set_apart: it was measured otherwise than the rest of its row (judge, prompt, docs), and is not ranked.
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


@dataclass
class ReleaseTable:
    """rows: (benchmark, metric) to numbers by column. columns: models in order, ours first. notes: below the table.

    categories: of a row, (level, category) to numbers by column. better: of a row, whether
    higher is better; None for a row without a direction, which has no ranks.
    """

    columns: list[str] = field(default_factory=list)
    rows: dict[tuple[str, str], dict[str, ReleaseNumber]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    categories: dict[tuple[str, str], dict[tuple[str, str], dict[str, ReleaseNumber]]] = field(default_factory=dict)
    better: dict[tuple[str, str], bool | None] = field(default_factory=dict)

    def label(self, row: tuple[str, str]) -> str:
        """A row's name: the benchmark's, with the metric where it has several rows."""
        several = sum(name == row[0] for name, _ in self.rows) > 1
        return f"{row[0]} ({row[1]})" if several else row[0]

    def category_label(self, row: tuple[str, str], level: str, category: str) -> str:
        """The name of a category's row: "mmmu_val / Art", with the level where the benchmark has several."""
        levels = {level for level, _ in self.categories[row]}
        return f"{row[0]} / {level}: {category}" if len(levels) > 1 else f"{row[0]} / {category}"
