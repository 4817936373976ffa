"""The three kinds of functions that a metric is made of, as typed names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

Score = TypeVar("Score", covariant=True)
RepeatScore = TypeVar("RepeatScore", contravariant=True)
Reduced = TypeVar("Reduced", covariant=True)
DocValue = TypeVar("DocValue", contravariant=True)


class MetricFn(Protocol[Score]):
    """Scores one doc: a value, a list of values (one a repeat), or {name: such a value} for several metrics at once."""

    def __call__(self, references: Any, predictions: Any, **kwargs: Any) -> Score | list[Score] | dict[str, Any]: ...


class ReductionFn(Protocol[RepeatScore, Reduced]):
    """Turns the scores of a doc's repeats into one value, or into {name: value}, which gives keys "name(metric)"."""

    def __call__(self, references: Any, predictions: Sequence[RepeatScore]) -> Reduced | dict[str, Reduced]: ...


class AggregationFn(Protocol[DocValue]):
    """Turns the values of all docs into the number that is reported."""

    def __call__(self, values: Sequence[DocValue]) -> float: ...
