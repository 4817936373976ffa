"""What is compared: the main number of each row that the user named, a task or a group, and whether its pairs can be stopped.

A number can be stopped if each doc has a value and a small change of the values changes the number a little: means, functions
of sums (POPE's F1), and those that declare themselves smooth (MME's sums, by their paired jackknife). Corpus metrics can't.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mm_eval.open_run import OpenedRun
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.metrics.aggregation import bypass_agg, mean
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.scoring.metrics.paired import estimate, paired_difference
from mm_eval.scoring.metrics.traits import CorpusMetric, in_range, traits_of
from mm_eval.values.types import UNNAMED, MetricKey, Number, main_metrics

Aggregation = Callable[[Sequence[Any]], float]


@dataclass(frozen=True)
class Leaf:
    """The number of one task within a unit. metric: its name; scorer: its pipeline. places: how often it is in the group."""

    task: str
    metric: str
    scorer: str
    aggregation: Aggregation = mean
    places: int = 1

    def key_of(self, scores: Mapping[str, object]) -> str | None:
        """The key of its value among those of a doc: its own, or a composite one of it ("pass@1(exact_match)")."""
        for text in scores:
            key = MetricKey.parse(text)
            if key and key.scorer == self.scorer and self.metric in (key.metric, key.parent_metric):
                return text
        return None


@dataclass(frozen=True)
class Unit:
    """A row of the table with its main number.

    by_size: each doc of a group counts once, else each task. refusal: why it can't be stopped; empty if it can.
    better: whether higher is better.
    """

    name: str
    leaves: tuple[Leaf, ...]
    by_size: bool = True
    refusal: str = ""
    better: bool | None = True


@dataclass
class TaskValues:
    """The values of one model on the docs of a task so far. key: of its number."""

    values: dict[int, Any] = field(default_factory=dict)
    clusters: dict[int, Hashable] = field(default_factory=dict)
    key: str = ""


Values = Mapping[str, TaskValues]
"""{task: the values of one model}"""


def units_of(opened: OpenedRun) -> list[Unit]:
    """The rows that the user named. A group that can't be stopped as a whole is refused as a whole."""
    found = []
    for root in opened.loaded.roots:
        leaves = [name for name in opened.loaded.leaves(root) if name in opened.tasks]
        if leaves:
            found.append(_of_task(opened, root) if root in opened.tasks else _of_group(opened, root, leaves))
    return found


def _scorers(opened: OpenedRun, name: str) -> list[Scorer]:
    return list(opened.all_scorers(name, opened.scorers[name], lambda slot: None))


def _of_task(opened: OpenedRun, name: str) -> Unit:
    metadata = opened.tasks[name].config.metadata
    stated = main_metrics(metadata if isinstance(metadata, Mapping) else None)[:1]
    metrics = [(scorer, metric) for scorer in _scorers(opened, name) for metric in scorer.metrics or ()]
    named = (pair for main in stated for pair in metrics if MetricKey(pair[1].name, pair[0].name).is_named(main))
    chosen = next(named, metrics[0] if metrics else None)
    if chosen is None:
        return Unit(name, (), refusal="it has no metric that is known before its documents are scored")
    scorer, metric = chosen
    leaf = Leaf(name, metric.name, scorer.name, in_range(metric.aggregation or mean, metric.range))
    refusal = _refusal(metric, leaf.aggregation) or _needs_all(scorer)
    return Unit(name, (leaf,), refusal=refusal, better=metric.higher_is_better)


def _of_group(opened: OpenedRun, name: str, leaves: Sequence[str]) -> Unit:
    entry = next(iter(opened.loaded.groups[name].aggregate_metric_list), None)
    if entry is None:
        return Unit(name, (), refusal="the group has no score of its own: name its tasks")
    if entry.of or entry.aggregation != "mean":
        return Unit(name, (), refusal="the number of the group is not a mean over documents or tasks: name its tasks")
    parts, refusal, better = [], "", entry.higher_is_better
    for leaf in dict.fromkeys(leaves):
        own = [
            (scorer, metric)
            for scorer in _scorers(opened, leaf)
            for metric in scorer.metrics or ()
            if metric.name == entry.metric and (not entry.filter_list or scorer.name in entry.filter_list)
        ]
        if not own:
            return Unit(name, (), refusal=f"{leaf} has no {entry.metric}")
        scorer, metric = own[0]
        function = in_range(metric.aggregation or mean, metric.range)
        parts.append(Leaf(leaf, metric.name, scorer.name, function, list(leaves).count(leaf)))
        refusal = refusal or _refusal(metric, parts[-1].aggregation) or _needs_all(scorer)
        better = metric.higher_is_better if better is None else better
    return Unit(name, tuple(parts), bool(entry.weight_by_size), refusal, better)


def _refusal(metric: Metric, aggregation: Aggregation) -> str:
    """Why the number of a metric can't be stopped; empty if it can."""
    traits = traits_of(aggregation)
    if metric.aggregation is bypass_agg:
        return f"{metric.name} is scored elsewhere"
    if traits.is_mean:
        return ""
    if isinstance(metric.fn, CorpusMetric):
        return f"{metric.name} is a number of the whole corpus: no document has a value of its own"
    if traits.smooth or traits.influence is not None or traits.sums is not None:
        return ""
    return f"the aggregation of {metric.name} does not declare that it is smooth"


def _needs_all(scorer: Scorer) -> str:
    return "a filter of it reads the answers to all documents" if scorer.filter.needs_all_docs else ""


def number_of(unit: Unit, values: Values) -> Number | None:
    """The number of a unit over the docs so far; None where a task has none."""
    found = []
    for leaf in unit.leaves:
        own = values.get(leaf.task)
        if own is None or not own.values:
            return None
        docs = sorted(own.values)
        found.append(estimate(leaf.aggregation, [own.values[i] for i in docs], [own.clusters[i] for i in docs]))
    return _together(unit, found)


def difference_of(unit: Unit, first: Values, second: Values) -> Number | None:
    """second - first over the docs that both have; None where a task has none."""
    found = []
    for leaf in unit.leaves:
        mine, other = first.get(leaf.task), second.get(leaf.task)
        docs = sorted(mine.values.keys() & other.values.keys()) if mine and other else []
        if not docs or mine is None or other is None:
            return None
        a, b = [mine.values[i] for i in docs], [other.values[i] for i in docs]
        found.append(paired_difference(leaf.aggregation, a, b, [mine.clusters[i] for i in docs]))
    return _together(unit, found)


def _together(unit: Unit, numbers: Sequence[Number]) -> Number:
    """The number of a unit from those of its tasks, which are independent."""
    if len(numbers) == 1:
        return numbers[0]
    sizes = [
        leaf.places * ((number.n or 0) if unit.by_size else 1)
        for leaf, number in zip(unit.leaves, numbers, strict=True)
    ]
    weights = [size / sum(sizes) for size in sizes]
    value = math.fsum(weight * number.value for weight, number in zip(weights, numbers, strict=True))
    known = [number.stderr for number in numbers if number.stderr is not None]
    stderr = (
        math.sqrt(math.fsum((w * e) ** 2 for w, e in zip(weights, known, strict=True)))
        if len(known) == len(numbers)
        else None
    )
    parts = [((w * e * n.lacking) ** 2, n.freedom or 1) for w, e, n in zip(weights, known, numbers, strict=False)]
    freedom: float = sum(number.freedom or 0 for number in numbers)
    spread = math.fsum(part for part, _ in parts)
    if stderr and spread:  # Satterthwaite's: a task counts for its share of the variance
        freedom = round(spread**2 / math.fsum(part * part / own for part, own in parts), 2)
    rarer = [number.rarer for number in numbers]
    total = replace(
        Number(UNNAMED, value, stderr, n=sum(number.n or 0 for number in numbers)),
        clusters=sum(number.clusters or 0 for number in numbers),
        freedom=max(1, freedom),
        lacking=math.sqrt(spread) / stderr if stderr else 1.0,
        rarer=None if None in rarer else sum(each for each in rarer if each is not None),
        scale=numbers[0].scale,
    )
    return total
