"""Groups: the numbers of tasks together, with standard errors.

    aggregate_group({"a": Member({"acc,none": 0.5, "acc_stderr,none": 0.1}, n=10), ...}, [GroupMetric("acc")])

The members are the leaf tasks, however deep the groups are nested.
- micro (weight_by_size): as if all docs were one task: sum (n_i / N) v_i, standard error sqrt(sum (n_i / N)^2 se_i^2),
  where n_i are the docs that have the metric.
- macro: each task counts the same: mean of v_i, standard error sqrt(sum se_i^2) / k.
- a function: of the members' values; its standard error carries each member's over to the result (to first order).
- a mean of unlike metrics (`of`): over the direct members, each with one number and a scale (`average_of`).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mm_eval.config.group import GroupMetric
from mm_eval.scoring.metrics.metric import aggregation_named
from mm_eval.scoring.metrics.stderr import combined
from mm_eval.scoring.string_keys import as_row, of_row
from mm_eval.values.errors import ScoringError, did_you_mean, without_objects
from mm_eval.values.types import NO_SHARE, Fields, JsonObject, MetricKey, Number
from mm_eval.values.words import listed, of_all


@dataclass(frozen=True)
class Member:
    """A leaf task of a group in lm-eval's form.

    numbers: by key ("acc,none", "acc_stderr,none"). n: of how many docs they are. places: how often it stands below the group;
    it counts as often, with one error.
    """

    numbers: Fields
    n: int
    places: int = 1


@dataclass(frozen=True)
class GroupResult:
    """The numbers of a group in lm-eval's form.

    numbers: by key, with standard errors (None where a member has none).
    n: docs of all members. sizes: for each metric key the docs of the members that have it.
    higher_is_better: for the metrics that the group says it of. notes: what a reader must know.
    """

    numbers: JsonObject
    n: int
    sizes: dict[str, int]
    higher_is_better: dict[str, bool] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def aggregate_group(
    members: Mapping[str, Member], metrics: Sequence[GroupMetric | Mapping[str, object]] | None
) -> GroupResult:
    """`group_numbers` in lm-eval's form."""
    leaves = {
        name: Leaf([replace(number, n=member.n) for number in of_row(member.numbers)], member.places)
        for name, member in members.items()
    }
    numbers, notes = group_numbers(leaves, metrics)
    better = {each.metric: each.higher_is_better for each in numbers if each.higher_is_better is not None}
    n = sum(member.n * member.places for member in members.values())
    return GroupResult(as_row(numbers), n, {str(each.key): each.n or 0 for each in numbers}, better, notes)


@dataclass(frozen=True)
class Leaf:
    """A leaf task of a group: its numbers, each with its docs. places: as of `Member`."""

    numbers: Sequence[Number]
    places: int = 1

    def number(self, key: MetricKey) -> Number | None:
        """The number of a key, if it has a finite value."""
        return next((each for each in self.numbers if each.key == key and _is_number(each.value)), None)


def group_numbers(
    leaves: Mapping[str, Leaf], metrics: Sequence[GroupMetric | Mapping[str, object]] | None
) -> tuple[list[Number], list[str]]:
    """The numbers of a group over its leaf tasks, and what a reader must know.

    A metric that some members lack is of those that have it, with a note.
    """
    found, notes = dict[MetricKey, Number](), list[str]()
    for entry in metrics or ():
        metric = entry if isinstance(entry, GroupMetric) else GroupMetric.from_dict(entry)
        if metric.of:  # of direct members, not of leaf tasks: see average_of
            continue
        aggregation_named(metric.aggregation)
        keys = _keys_of(leaves, metric)
        if not keys and metric.filter_list != ():
            notes.append(_absent(leaves, metric))
        for key in keys:
            if (number := _group_number(leaves, metric, key, notes)) is not None:
                found[key] = number
    return list(found.values()), notes


def average_of(metric: GroupMetric, members: Mapping[str, Mapping[MetricKey, Number]]) -> Number:
    """The mean of one number of each direct member. members: the numbers of each, by the member's name.

    If a member or its number is missing there is no mean, and the note says so: it would cover fewer benchmarks.
    """
    found = {part.member: members.get(part.member, {}).get(part.key) for part in metric.of}
    numbers = [number for number in found.values() if number is not None and _is_number(number.value)]
    if len(numbers) < len(found):
        lacking = [name for name, number in found.items() if number is None or not _is_number(number.value)]
        mean = f"{metric.metric} is a mean of {len(found)} members"
        note = f"{mean} and is not computed, since there is no score of {listed(lacking, 5)}."
        return Number(metric.key, None, higher_is_better=metric.higher_is_better, note=note)
    weights = [part.scale / len(metric.of) for part in metric.of]
    value = math.fsum(weight * number.value for weight, number in zip(weights, numbers, strict=True))
    errors = [weight * n.stderr for weight, n in zip(weights, numbers, strict=True) if n.stderr is not None]
    stderr = math.sqrt(math.fsum(error**2 for error in errors)) if len(errors) == len(numbers) else None
    interval = None
    if stderr == 0 and any(number.exact for number in numbers):
        gaps = []
        for weight, number in zip(weights, numbers, strict=True):
            moved = [weight * (end - number.value) for end in (*(number.exact or ()), number.value)]
            gaps.append((-min(moved), max(moved)))
        interval = combined(value, gaps)
    size = sum(number.n or 0 for number in numbers)
    scale = _scale_of_average(metric, numbers)
    return Number(metric.key, value, stderr, interval, size, metric.higher_is_better, scale=scale)


def _scale_of_average(metric: GroupMetric, numbers: Sequence[Number]) -> tuple[float, float] | None:
    """The range of a mean of unlike metrics where it is not that of a share: from those of its parts, each times its `scale`.

    NO_SHARE where a part in points is not scaled, so that the range is not known. None of a mean of shares, and where nothing
    says otherwise.
    """
    ends, known = [0.0, 0.0], True
    for part, number in zip(metric.of, numbers, strict=True):
        of_part = number.scale if number.scale is not None or not 0 <= number.value <= 1 else (0.0, 1.0)
        if of_part is None or of_part == NO_SHARE:
            if part.scale == 1:
                return NO_SHARE
            known = False
            continue
        scaled = sorted(part.scale / len(metric.of) * end for end in of_part)
        ends = [total + end for total, end in zip(ends, scaled, strict=True)]
    if ends[1] <= 1 + 1e-9:
        return None
    return (round(ends[0], 9), round(ends[1], 9)) if known else NO_SHARE


def _group_number(leaves: Mapping[str, Leaf], metric: GroupMetric, key: MetricKey, notes: list[str]) -> Number | None:
    having = {name: number for name, leaf in leaves.items() if (number := leaf.number(key)) is not None}
    lacking = [name for name in leaves if name not in having]
    if not having:
        return None
    if lacking:
        of = of_all(len(having), len(leaves), "task")
        notes.append(f"{key} is of {of}; without: {listed(lacking, 5)}.")
    values = [float(number.value) for number in having.values()]
    sizes = [number.n or 0 for number in having.values()]
    places = [leaves[name].places for name in having]
    errors = {name: number.stderr for name, number in having.items()}
    known = [float(error) for error in errors.values() if error is not None and _is_number(error)]
    if len(known) < len(values):
        without = [name for name, error in errors.items() if not _is_number(error)]
        notes.append(f"{key} has no standard error, since these have none: {listed(without, 5)}.")
    value, stderr = None, None
    try:
        value = _value(metric, values, sizes, places)
        if not math.isfinite(value):
            raise ScoringError(f"it gave {value}")
        stderr = _stderr(metric, values, sizes, places, known) if len(known) == len(values) else None
    except Exception as error:
        notes.append(f"{key}: the group's aggregation raised {type(error).__name__}: {without_objects(str(error))}.")
        value = None
    docs = sum(size * count for size, count in zip(sizes, places, strict=True))
    scale = _scale_of([number.scale for number in having.values()], metric)
    return Number(key, value, stderr, None, docs, metric.higher_is_better, scale=scale)


def _scale_of(scales: Sequence[tuple[float, float] | None], metric: GroupMetric) -> tuple[float, float] | None:
    """The range of a group's number: that of its tasks where they share one; NO_SHARE where one of them is none."""
    if metric.aggregation == "mean" and len(set(scales)) == 1 and scales[0] != (0.0, 1.0):
        return scales[0]
    return NO_SHARE if any(scale is not None and scale[1] > 1 for scale in scales) else None


def _weights(metric: GroupMetric, sizes: Sequence[int], places: Sequence[int]) -> list[float]:
    by_size = metric.weight_by_size and any(sizes)
    parts = [count * (size if by_size else 1) for size, count in zip(sizes, places, strict=True)]
    total = sum(parts)
    return [part / total for part in parts]


def _value(metric: GroupMetric, values: Sequence[float], sizes: Sequence[int], places: Sequence[int]) -> float:
    if metric.aggregation == "mean":
        return math.fsum(w * value for w, value in zip(_weights(metric, sizes, places), values, strict=True))
    each = [index for index, count in enumerate(places) for _ in range(count)]
    function = aggregation_named(metric.aggregation)
    return float(_call(function, [values[i] for i in each], [sizes[i] for i in each], metric.weight_by_size))


def _stderr(
    metric: GroupMetric,
    values: Sequence[float],
    sizes: Sequence[int],
    places: Sequence[int],
    errors: Sequence[float],
) -> float | None:
    """sqrt(sum of the squares of what each member's error changes the result by); exact for both kinds of mean."""
    if metric.aggregation == "mean":
        changes = [weight * error for weight, error in zip(_weights(metric, sizes, places), errors, strict=True)]
    else:
        changes = []
        for i, error in enumerate(errors):
            up, down = list(values), list(values)
            up[i] += error
            down[i] -= error
            changes.append((_value(metric, up, sizes, places) - _value(metric, down, sizes, places)) / 2)
    result = math.sqrt(math.fsum(change**2 for change in changes))
    return result if math.isfinite(result) else None


def _call(function: Callable[..., object], values: Sequence[float], sizes: Sequence[int], weight_by_size: bool) -> Any:
    """The function with as many of (values, sizes, weight_by_size) as it must have; lm-eval's took all three."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function(values)
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return function(*(list(values), list(sizes), weight_by_size)[: max(1, len(needed))])


def _keys_of(leaves: Mapping[str, Leaf], metric: GroupMetric) -> list[MetricKey]:
    """The keys that an entry selects, in order of first appearance."""
    keys = dict.fromkeys(number.key for leaf in leaves.values() for number in leaf.numbers)
    of_metric = [key for key in keys if metric.metric in (key.metric, key.parent_metric, key.without_grader)]
    return [key for key in of_metric if metric.filter_list is None or key.scorer in metric.filter_list]


def _absent(leaves: Mapping[str, Leaf], metric: GroupMetric) -> str:
    wanted = metric.metric if metric.filter_list is None else f"{metric.metric} with {', '.join(metric.filter_list)}"
    keys = [number.key for leaf in leaves.values() for number in leaf.numbers]
    known = {key.metric if metric.filter_list is None else str(key) for key in keys}
    return f"No member has {wanted}. {did_you_mean(metric.metric, known)}" if known else "Its members have no score."


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
