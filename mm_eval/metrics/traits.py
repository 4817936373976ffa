"""What an aggregation function says about itself, so that its standard error is the right one.

A function says nothing: its standard error is a jackknife, or, where its values without a doc show that it jumps as a median
does, the spread over half samples. It says more with decorators:

    @aggregation("score_per_category")
    @smooth
    @stratified_by(lambda value: value["category"])
    def score_per_category(values): ...
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

_ATTRIBUTE = "aggregation_traits"


@dataclass(frozen=True)
class SumStatistics:
    """An aggregation that only needs column sums: value = score(rows.sum(axis=0)).

    rows: one row a doc.
    score: maps sums of shape (draws, columns) to values of shape (draws,).
    """

    rows: NDArray[Any]
    score: Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True)
class Traits:
    """How the standard error of an aggregation is found.

    is_mean: it is a mean of the values that are numbers: closed form.
    sums: its sufficient statistics, for a bootstrap that costs next to nothing.
    stratum: what the function groups the values by.
    content: what of a value the function depends on, apart from which values belong together.
    smooth: a small change of the values changes it a little; a median is not smooth. None: it has not said.
    of: what its values are, in words.
    weighted: values of draws that are given as weights of shape (draws, docs), for a fast bootstrap.
    """

    is_mean: bool = False
    sums: Callable[[Sequence[Any]], SumStatistics | None] | None = None
    stratum: Callable[[Any], Hashable] | None = None
    content: Callable[[Any], Hashable] | None = None
    smooth: bool | None = None
    of: str = "value"
    weighted: Callable[[Sequence[Any], NDArray[Any]], NDArray[Any]] | None = None


def traits_of(function: Callable[..., Any]) -> Traits:
    """What a function, or the corpus metric whose method it is, says about itself."""
    traits: Traits = getattr(function, _ATTRIBUTE, Traits())
    owner_sums = getattr(getattr(function, "__self__", None), "sums", None)
    return replace(traits, sums=owner_sums) if owner_sums is not None and traits.sums is None else traits


def declare(**traits: Any) -> Callable[[F], F]:
    """A decorator that adds traits to an aggregation function."""

    def add(function: F) -> F:
        setattr(function, _ATTRIBUTE, replace(traits_of(function), **traits))
        return function

    return add


def stratified_by(
    key: Callable[[Any], Hashable] | str, content: Callable[[Any], Hashable] | str | None = None
) -> Callable[[F], F]:
    """Says what an aggregation groups its values by, so that no resampling empties a group.

    key: a function of a value, or the name of an entry of it.
    content: the same for what else the number depends on, where a value also holds an id: leaving out either of two
    clusters that agree in it must give the same number. It makes the jackknife exact and fast for many docs.
    """
    return declare(stratum=_entry(key), content=None if content is None else _entry(content))


def _entry(key: Callable[[Any], Hashable] | str) -> Callable[[Any], Hashable]:
    return (lambda value: value[key]) if isinstance(key, str) else key


of_log_likelihoods = declare(of="log-likelihood")
"""Says that the values of an aggregation are log-likelihoods."""


def smooth(function: F) -> F:
    """Says that a small change of the values changes an aggregation a little: its standard error is a jackknife."""
    return declare(smooth=True)(function)


def not_smooth(function: F) -> F:
    """Says that an aggregation jumps (a median, a rank, a threshold): its standard error is a bootstrap over clusters.

    It costs a call for each of `bootstrap_iters` draws, and a doc may be drawn twice.
    """
    return declare(smooth=False)(function)
