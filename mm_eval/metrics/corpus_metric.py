"""The base of metrics that only exist for a whole corpus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from mm_eval.metrics.traits import SumStatistics

R = TypeVar("R")
T = TypeVar("T")


class CorpusMetric(ABC, Generic[R, T]):
    """A number of the whole corpus: each doc gives an item, all items give the number.

    A subclass that implements `sums` gets the fast bootstrap; one that does not gets a jackknife
    (or half samples, see metrics.stderr).
    """

    @abstractmethod
    def __call__(self, references: Any, predictions: R) -> T:
        """The item of one doc."""

    @abstractmethod
    def aggregation(self, items: Sequence[T]) -> float:
        """The number of all items."""

    def reduce(self, references: Any, predictions: Sequence[T], **kwargs: Any) -> T:
        """Of a doc's repeats the first: a corpus has one answer a doc."""
        return predictions[0]

    def sums(self, items: Sequence[T]) -> SumStatistics | None:
        """Sufficient statistics, one row an item; None where there are none."""
        return None
