"""What an aggregation declares about itself, so that it gets the right standard error; and `CorpusMetric`.

A function that declares nothing gets a jackknife, or the spread over half samples where its values without a doc show that it
jumps as a median does. Decorators declare more:

    @aggregation("score_per_category")
    @smooth
    @stratified_by(lambda value: value["category"])
    def score_per_category(values): ...
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mm_eval.values.errors import InvalidValue, did_you_mean
from mm_eval.values.types import Options

if TYPE_CHECKING:
    from mm_eval.values.types import Floats


_F = TypeVar("_F", bound=Callable[..., Any])
R = TypeVar("R")
_T = TypeVar("_T")

_ATTRIBUTE = "aggregation_traits"


class Undefined(ValueError):
    """Raised by an aggregation that has no value for these documents: no error, and its message says why to a reader.

    raise Undefined("no problem has all of its steps")
    """


@dataclass(frozen=True)
class SumStatistics:
    """An aggregation that only needs column sums: value = score(rows.sum(axis=0)).

    rows: one row a doc.
    score: maps sums of shape (draws, columns) to values of shape (draws,).
    """

    rows: Floats
    score: Callable[[Floats], Floats]

    @property
    def value(self) -> float:
        """The number of all docs."""
        return float(self.score(self.rows.sum(axis=0, keepdims=True))[0])


class CorpusMetric(ABC, Generic[R, _T]):
    """A number of the whole corpus: each doc gives an item, all items give the number.

    A subclass that implements `sums` gets the fast bootstrap; any other gets a jackknife or half samples (see metrics.stderr).
    """

    @abstractmethod
    def __call__(self, references: Any, predictions: R) -> _T:
        """The item of one doc."""

    @abstractmethod
    def aggregation(self, items: Sequence[_T]) -> float:
        """The number of all items."""

    def reduce(self, references: Any, predictions: Sequence[_T], **kwargs: object) -> _T:
        """The item of the first repeat: a corpus has one answer per doc."""
        return predictions[0]

    def sums(self, items: Sequence[_T]) -> SumStatistics | None:
        """Sufficient statistics with one row per item; None if there are none."""
        return None


@dataclass(frozen=True)
class Traits:
    """What decides how the standard error of an aggregation is computed.

    is_mean: it is a mean of the values that are numbers, so the closed form applies.
    sums: its sufficient statistics, which make a bootstrap cheap.
    weighted: computes its values for draws given as weights of shape (draws, docs), which makes a bootstrap fast.
    stratum: the group of a value, if the function groups the values.
    content: what the number depends on in a value, apart from the stratum.
    influence: how much each value moves the number, to first order: what it adds to the number's error. The values of a
        stratum have influences that sum to 0. The standard error is then a closed form over clusters.
    without: prepares the values once, and gives the number without those at some positions: in time that grows with these
        positions only. It makes the jackknife of many docs fast.
    smooth: a small change of the values changes the number a little; a median is not smooth. None: not declared.
    fraction: its number lies in [0, 1], and so does its interval. A mean of values in [0, 1] needs not say so.
    range: the least and the greatest number that there is, as the `range` of a metric_list states it; None where it states none.
    marks: its number is the share of true marks among these: {position of a value: mark}, each of values of one cluster.
    whole_clusters: it has no number for a part of a cluster, so `--limit` takes whole ones (the rotations of a question).
    of: the noun for its values ("log-likelihood").
    """

    is_mean: bool = False
    sums: Callable[[Sequence[Any]], SumStatistics | None] | None = None
    weighted: Callable[[Sequence[object], Floats], Floats] | None = None
    stratum: Callable[[object], Hashable] | None = None
    content: Callable[[Any], Hashable] | None = None
    influence: Callable[[Sequence[object]], Sequence[float]] | None = None
    without: Callable[[Sequence[Any]], Callable[[Collection[int]], float]] | None = None
    smooth: bool | None = None
    fraction: bool = False
    range: tuple[float, float] | None = None
    marks: Callable[[Sequence[object]], Mapping[int, bool]] | None = None
    whole_clusters: bool = False
    of: str = "value"


def traits_of(function: Callable[..., object]) -> Traits:
    """The declared traits of a function; a corpus metric's method also has the metric's `sums`."""
    traits: Traits = getattr(function, _ATTRIBUTE, Traits())
    owner_sums = getattr(getattr(function, "__self__", None), "sums", None)
    return replace(traits, sums=owner_sums) if owner_sums is not None and traits.sums is None else traits


def declare(**traits: Any) -> Callable[[_F], _F]:
    """A decorator that adds traits to an aggregation function."""

    def add(function: _F) -> _F:
        setattr(function, _ATTRIBUTE, replace(traits_of(function), **traits))
        return function

    return add


def in_range(function: Callable[..., object], ends: tuple[float, float] | None) -> Callable[..., Any]:
    """The aggregation, whose number lies between two ends; the same function for None."""
    if ends is None:
        return function

    @wraps(function)
    def within(values: Sequence[object]) -> object:
        return function(values)

    for name in ("number_of", "interval_of"):  # of a function of another process
        if (elsewhere := getattr(function, name, None)) is not None:
            setattr(within, name, elsewhere)
    setattr(within, _ATTRIBUTE, replace(traits_of(function), range=ends))
    return within


def stratified_by(
    key: Callable[[Any], Hashable] | str, content: Callable[[Any], Hashable] | str | None = None
) -> Callable[[_F], _F]:
    """Declares what an aggregation groups its values by, so that no resampling empties a group.

    key: a function of a value, or the name of an entry of it.
    content: the same for everything else that the number depends on, where a value also holds an id: leaving out either of
    two clusters with equal content must give the same number. It makes the jackknife of many docs exact and fast.
    """

    def entry(key: Callable[[Any], Hashable] | str) -> Callable[[Any], Hashable]:
        return (lambda value: value[key]) if isinstance(key, str) else key

    return declare(stratum=entry(key), content=None if content is None else entry(content))


of_log_likelihoods = declare(of="log-likelihood")
"""Declares that the values of an aggregation are log-likelihoods."""


def smooth(function: _F) -> _F:
    """Declares that a small change of the values changes an aggregation a little: its standard error is a jackknife."""
    return declare(smooth=True)(function)


def not_smooth(function: _F) -> _F:
    """Declares that an aggregation jumps (a median, a rank, a threshold): its standard error is a bootstrap over clusters.

    The function is called for each of `bootstrap_iters` draws, and a draw may hold a doc twice.
    """
    return declare(smooth=False)(function)


def filter_kwargs(fn: Callable[..., object], kwargs: Options) -> dict[str, object]:
    """The keyword arguments that a function takes."""
    known = parameters_of(fn)
    return dict(kwargs) if "**" in known else {key: value for key, value in kwargs.items() if key in known}


def parameters_of(fn: Callable[..., object]) -> frozenset[str]:
    """The names of the arguments that a function takes by keyword; "**" among them if it takes any."""
    try:
        return _keyword_names(fn)
    except TypeError:  # not hashable
        return _keyword_names.__wrapped__(fn)


@cache
def _keyword_names(fn: Callable[..., object]) -> frozenset[str]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return frozenset({"**"})
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return frozenset(names | {"**" for p in parameters if p.kind is p.VAR_KEYWORD})


def arguments_of(entry: Mapping[str, Any], own_keys: Iterable[str]) -> dict[str, object]:
    """The arguments in an entry of a YAML: its other keys, and those under `kwargs`."""
    return {**{key: value for key, value in entry.items() if key not in own_keys}, **(entry.get("kwargs") or {})}


def check_arguments(what: str, given: Iterable[str], known: frozenset[str], also: frozenset[str] = frozenset()) -> None:
    """Raises ConfigError for the first argument that is not known. also: other keys that the hint may suggest."""
    for key in given:
        if key not in known and "**" not in known:
            raise InvalidValue(f"{what} takes no argument {key!r}.", hint=did_you_mean(key, sorted(known | also)))


def accepts(function: Callable[..., object], name: str) -> bool:
    """Whether a function takes an argument of that name."""
    return not parameters_of(function).isdisjoint((name, "**"))
