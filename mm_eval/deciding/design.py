"""How many docs a difference takes, and which differences a benchmark can show: before a release is run.

    planned_of_tasks(["blink"], Question(difference=2.0, models=3))

A paired difference over n docs has the standard error s / sqrt(n), where s is the standard deviation of a doc's difference, with
what docs of one picture share in it. s comes from earlier runs of like models, or from a stated range. Power is that of one test
over all docs at alpha / m, where m is the number of comparisons: what Holm's correction guarantees to each of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from mm_eval.config.manager import TaskManager
from mm_eval.deciding.boundaries import equal_looks, quantile_above
from mm_eval.deciding.trial import power_of
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.results.changes import Change
from mm_eval.results.recorded import RecordedRun, stated_range
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.types import main_metrics
from mm_eval.verbs.study.compare import compare

FLIPPED = (0.15, 0.45)
"""Where no runs are given: the share of right/wrong docs on which two models differ, for two versions of one model and for two
unlike models. An assumption, stated in the table."""
PAIRS_READ = 6
"""Pairs of runs from which the standard deviation of a difference is taken, at most."""


@dataclass(frozen=True)
class Question:
    """difference: in the table's unit, None for none. power: the chance to find it. models: that are compared.

    reference: each with one of them only. spread: the standard deviation of a doc's difference, None for a range.
    """

    difference: float | None = None
    power: float = 0.8
    alpha: float = 0.05
    models: int = 2
    reference: bool = False
    spread: float | None = None
    looks: int = 20

    @property
    def pairs(self) -> int:
        return self.models - 1 if self.reference else math.comb(self.models, 2)


@dataclass(frozen=True)
class Planned:
    """One row of the table, or the average of all.

    docs: of the benchmark. spread: the standard deviations of a doc's difference
    (low, high) in the table's unit; one and the same where it was measured once. measured: it comes from runs.
    detectable: the smallest difference that is found. needed: docs for the stated difference. share: of the docs that a run with
    --stop_when decided takes on average for that difference. All are pairs, for the low and the high standard deviation.
    scale: the least and the greatest value of a number in points, None where it is unknown.
    """

    name: str
    metric: str
    docs: int
    spread: tuple[float, float]
    measured: bool
    detectable: tuple[float, float] = (0.0, 0.0)
    needed: tuple[int, int] | None = None
    share: tuple[float, float] | None = None
    is_average: bool = False
    is_fraction: bool = True
    scale: tuple[float, float] | None = None

    @property
    def enough(self) -> bool | None:
        """Whether the benchmark has the docs for the stated difference, by the high standard deviation; None without one."""
        return None if self.needed is None else self.needed[1] <= self.docs

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "metric": self.metric,
            "docs": self.docs,
            "spread": list(self.spread),
            "measured": self.measured,
            "detectable": list(self.detectable),
            "docs_needed": None if self.needed is None else list(self.needed),
            "enough": self.enough,
            "share_when_stopped": None if self.share is None else list(self.share),
            "average": self.is_average,
        }


def answered(rows: Sequence[Planned], question: Question) -> list[Planned]:
    """The rows with what the benchmark can show, corrected for all comparisons; with the average where several are fractions."""
    alpha = question.alpha / max(1, question.pairs * len(rows))
    reach = quantile_above(alpha / 2) + quantile_above(1 - question.power)
    found = [_answered(row, question, alpha, reach) for row in rows]
    if len(fractions := [row for row in rows if row.is_fraction]) > 1:
        found.append(_average(fractions, question, question.alpha / max(1, question.pairs)))
    return found


def _answered(row: Planned, question: Question, alpha: float, reach: float) -> Planned:
    low, high = (reach * spread / math.sqrt(row.docs) for spread in row.spread)
    row = replace(row, detectable=(low, high))
    if question.difference is None:
        return row
    needed = [math.ceil((reach * spread / question.difference) ** 2) for spread in row.spread]
    thetas = [question.difference * math.sqrt(row.docs) / spread for spread in row.spread]
    shares = [power_of(min(theta, 12.0), equal_looks(question.looks), alpha)[1] for theta in thetas]
    return replace(row, needed=(needed[0], needed[1]), share=(shares[0], shares[1]))


def _average(rows: Sequence[Planned], question: Question, alpha: float) -> Planned:
    """The mean of the rows' numbers, as if it were one number: each benchmark counts the same. `needed` is of all docs together,
    with each benchmark larger by the same factor."""
    docs = sum(row.docs for row in rows)
    errors = [math.sqrt(sum(row.spread[end] ** 2 / row.docs for row in rows)) / len(rows) for end in (0, 1)]
    spread = (errors[0] * math.sqrt(docs), errors[1] * math.sqrt(docs))
    average = Planned("average", "", docs, spread, all(row.measured for row in rows), is_average=True)
    return _answered(average, question, alpha, quantile_above(alpha / 2) + quantile_above(1 - question.power))


def planned_of_runs(
    runs: Sequence[RecordedRun], tasks: Sequence[str] | None = None, as_asked: bool = False
) -> list[Planned]:
    """The main numbers that two runs or more share, with the standard deviations of their differences.

    as_asked: of the docs that the runs have, the fewest of a pair; otherwise of the whole benchmark.
    """
    pairs = list(combinations(runs, 2))[:PAIRS_READ]
    return _planned(((first, _main_changes(first, second)) for first, second in pairs), tasks, as_asked)


def _planned(
    pairs: Iterable[tuple[RecordedRun, Sequence[Change]]], tasks: Sequence[str] | None = None, as_asked: bool = False
) -> list[Planned]:
    """The rows of some pairs of runs. pairs: the first run of each, and how the main numbers differ."""
    found: dict[tuple[str, str], list[float]] = {}
    docs: dict[tuple[str, str], int] = {}
    fractions: dict[tuple[str, str], bool] = {}
    scales: dict[tuple[str, str], tuple[float, float] | None] = {}
    for first, changes in pairs:
        for change in changes:
            number, key = change.difference, (change.task, str(change.key).removesuffix(",none"))
            if not number.stderr or not number.n or tasks is not None and change.task not in tasks:
                continue
            unit = change.unit.factor
            found.setdefault(key, []).append(unit * number.stderr * math.sqrt(number.n))
            fractions[key], scales[key] = change.unit.is_percent, change.first.scale
            if as_asked:
                docs[key] = min(number.n, docs.get(key, number.n))
                continue
            share = min(1.0, number.n / max(1, first.results.rows[change.task].n))  # a number may be of some docs only
            docs[key] = round(size_of(first, change.task) * share)
    return [
        Planned(*key, docs[key], (min(each), max(each)), True, is_fraction=fractions[key], scale=scales[key])
        for key, each in found.items()
    ]


def _main_changes(first: RecordedRun, second: RecordedRun) -> list[Change]:
    """The change of the main number of each row that is not part of another one."""
    return [change for change in compare([first, second])[0].changes if change.main and not change.category]


def with_members(names: Iterable[str], runs: Sequence[RecordedRun]) -> set[str]:
    """Rows, and the tasks that the groups among them cover."""
    found = set(names)
    groups = [(run, group) for run in runs for group in run.results.members if group in found]
    return found.union(*(run.results.leaves(group) for run, group in groups))


def size_of(run: RecordedRun, name: str) -> int:
    """How many docs a task or group has, also those that the run left out."""
    sizes = [
        run.results.sizes.get(leaf, {}).get("original") or run.results.rows[leaf].n for leaf in run.results.leaves(name)
    ]
    return sum(sizes)


def planned_of_tasks(
    tasks: Sequence[str | Mapping[str, object]], question: Question, include_path: str | None = None
) -> list[Planned]:
    """Tasks and groups by their stated sizes, with a stated or assumed spread. No data is opened.

    Errors: ConfigError for a task without a stated size, and for one whose numbers are not fractions where no spread is stated.
    """
    loaded = TaskManager(include_path=include_path).load(tasks)
    found = []
    for root in loaded.roots:
        leaves = [loaded.tasks[leaf] for leaf in loaded.leaves(root)]
        sizes = [size for leaf in leaves if isinstance(size := leaf.metadata.get("size"), int) and size > 0]
        if not leaves or len(sizes) < len(leaves):
            hint = "Give runs of two models: --from runs/a runs/b."
            raise ConfigError(f"{root} does not state how many documents it has.", where="--tasks", hint=hint)
        metric = next(iter(main_metrics(leaves[0].metadata)), "")
        if question.spread is None and (unlike := next(filter(None, map(_no_share_of_docs, leaves)), "")):
            hint = "Give runs of two models (--from runs/a runs/b), or --spread."
            raise ConfigError(f"{root} is {unlike}, whose spread is not known.", hint=hint)
        spread = (
            (question.spread,) * 2 if question.spread else (100 * math.sqrt(FLIPPED[0]), 100 * math.sqrt(FLIPPED[1]))
        )
        found.append(Planned(root, metric, sum(sizes), (spread[0], spread[1]), False))
    return found


def _no_share_of_docs(config: Any) -> str:
    """What a task's number is, where it is not a share of its docs: its `range` says so, or a function that groups docs."""
    from mm_eval.scoring.metrics.traits import traits_of
    from mm_eval.scoring.of_task import scorers_of

    try:
        metrics = [metric for scorer in scorers_of(config.resolved(FOREIGN_CODE)) for metric in scorer.metrics or ()]
    except MMEvalError:
        return ""
    stated = main_metrics(config.metadata)[:1]
    known = stated_range(config.source, stated[0]) if stated else None  # also of a judge, which is none of the scorers
    if known is not None and known[1] > 1:
        return "measured in points of its own"
    chosen = next((metric for metric in metrics if metric.name in stated), metrics[0] if metrics else None)
    if chosen is None or chosen.aggregation is None:
        return ""
    traits = traits_of(chosen.aggregation)
    if traits.marks is not None:
        return "a share of questions of several documents each"
    of_groups = not traits.is_mean and not traits.fraction and traits.stratum is not None
    return "measured in points of its own" if of_groups and known is None else ""


def as_json(rows: Sequence[Planned], question: Question) -> Mapping[str, object]:
    """The plan as JSON values."""
    return {
        "difference": question.difference,
        "power": question.power,
        "alpha": question.alpha,
        "models": question.models,
        "comparisons": question.pairs * sum(not row.is_average for row in rows),
        "rows": [row.to_json() for row in rows],
    }
