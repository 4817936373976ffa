"""A number with its interval, and the difference of two numbers over the same docs.

    difference = paired_difference(aggregation, first, second, clusters)

Pairing removes what the docs share: two runs that fail on the same hard pictures differ by little, and the interval is narrow.
The standard error is that of `metrics.stderr` for the aggregation, taken over pairs: closed form for means, sums for corpus
metrics, and otherwise a jackknife that leaves a cluster out of both runs at once.

The coverage was measured by simulation (benchmarks/coverage.py). With 60 clusters and more a 95% interval holds the true value
in 93% to 97% of evaluations, for means, MME sums and differences of both; with 10 to 40 clusters in 94% to 97% for accuracies in
the middle. With fewer than 10 docs of the rarer kind (nearly all right, nearly none flipped) the interval is an exact one of
`metrics.stderr`, which holds the true value in at least 95%, and is given as `exact`. `few` marks an interval of few data:
below 60 clusters, or fewer than 10 docs of the rarer kind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.stderr import (
    DEFAULT_SEED,
    difference_of_marks,
    ends_of,
    freedom_of,
    independent_clusters,
    is_pair,
    lacking,
    mark_of,
    reach,
    share_interval,
    standard_error,
    unseen,
)
from mm_eval.scoring.metrics.traits import SumStatistics, declare, traits_of
from mm_eval.values.distributions import sign_test
from mm_eval.values.types import FEW_OF_A_KIND, NO_SHARE, NO_SPREAD, UNNAMED, MetricKey, Number

Aggregation = Callable[[Sequence[Any]], float]

CHANGED_ALIKE = "every document changed by the same amount"


def estimate(
    aggregation: Aggregation,
    values: Sequence[object],
    clusters: Sequence[Hashable] | None = None,
    *,
    bootstrap_iters: int = 2000,
    seed: int = DEFAULT_SEED,
    key: MetricKey = UNNAMED,
) -> Number:
    """The aggregation of some values, as a number with its interval. Exceptions of the aggregation are not caught.

    clusters: one per value; None means that each doc is its own cluster.
    """
    elsewhere: Callable[..., Number] | None = getattr(aggregation, "interval_of", None)
    if elsewhere is not None:  # a function of another process, where it is called as often as its standard error needs
        found = elsewhere(key, [values], clusters, bootstrap_iters, seed)
        return replace(found, scale=scale_of(aggregation, values) or found.scale)
    value = float(aggregation(values))
    error = standard_error(aggregation, values, clusters, bootstrap_iters=bootstrap_iters, seed=seed)
    stderr = error.value if math.isfinite(value) else None
    found = with_interval(Number(key, value, stderr), aggregation, values, clusters)
    return replace(found, note=error.note or found.note)


def with_interval(
    number: Number, aggregation: Aggregation, values: Sequence[object], clusters: Sequence[Hashable] | None = None
) -> Number:
    """A number whose standard error is known, with what decides its interval. NaN is in no mean and decides nothing."""
    value, stderr, n = float(number.value), number.stderr, len(values)
    if traits_of(aggregation).is_mean and any(each != each for each in values):
        clusters = None if clusters is None else [c for c, each in zip(clusters, values, strict=True) if each == each]
        values = [each for each in values if each == each]
    count, freedom = _count(aggregation, values, clusters)
    own = _marks_of(aggregation, values, clusters)
    marks = Counter(map(right_or_wrong, values) if own is None else own[0])
    rarer = None if None in marks else min(marks[True], marks[False])
    scale = scale_of(aggregation, values)
    known = Number(number.key, value, stderr, None, n, number.higher_is_better)
    found = replace(known, clusters=count, freedom=freedom, rarer=rarer, scale=scale)
    if stderr:
        found = replace(found, lacking=lacking(aggregation, values, clusters))
    is_few = stderr == 0 or (rarer is not None and rarer < FEW_OF_A_KIND)
    beyond = _goes_beyond_marks(aggregation)
    if own is not None and stderr is not None and is_few:
        return replace(found, exact=share_interval(*own))
    if stderr is not None and rarer is not None and is_few and traits_of(aggregation).is_mean and not beyond:
        return replace(found, exact=share_interval([bool(right_or_wrong(v)) for v in values], clusters))
    if stderr != 0:
        return found
    exact = None if beyond else _of_equal_clusters(value, aggregation, values, clusters)
    return replace(found, exact=exact) if exact else replace(found, note=f"{no_spread(values)}.")


def no_spread(values: Sequence[object], alike: str = NO_SPREAD) -> str:
    """Why a standard error is 0: all values are equal, or they differ and it is 0 as if they were.

    The clusters may be equal, each with several scores, or the aggregation, such as a median, may not move with some values.
    """
    return alike if len(set(map(repr, values))) < 2 else f"the spread is 0 as if {alike}"


def _marks_of(
    aggregation: Aggregation, values: Sequence[object], clusters: Sequence[Hashable] | None
) -> tuple[list[bool], list[Hashable] | None] | None:
    """The marks that a number is the share of, with their clusters; None where the aggregation does not declare them."""
    if (declared := traits_of(aggregation).marks) is None:
        return None
    marks = declared(values)
    return list(marks.values()), None if clusters is None else [clusters[place] for place in marks]


def _of_equal_clusters(
    value: float, aggregation: Aggregation, values: Sequence[object], clusters: Sequence[Hashable] | None
) -> tuple[float, float] | None:
    """The exact interval of a number whose clusters are all equal; None where the values are not right or wrong.

    At most a share `unseen` of all clusters is of another kind, and each of those may be all right or all wrong. Where some docs
    are right and some are wrong, the aggregation must add up its clusters: a median may stay the same while they differ.
    """
    marks = {mark_of(each) for each in values}
    traits = traits_of(aggregation)
    if None in marks or (len(marks) > 1 and not traits.smooth and traits.influence is None):
        return None
    if (ends := ends_of(aggregation, values)) is None:
        return None
    share, (least, most) = unseen(independent_clusters(aggregation, values, clusters)), ends
    down, up = (far if far > 1e-9 * (most - least) else 0.0 for far in (value - least, most - value))
    return value - share * down, value + share * up


def _goes_beyond_marks(aggregation: Aggregation) -> bool:
    """Whether a mean is one of values that need not lie in [0, 1], as its range says: 1 does not mean right then."""
    traits = traits_of(aggregation)
    return traits.is_mean and traits.range not in (None, (0.0, 1.0))


def _are_fractions(aggregation: Aggregation, values: Sequence[object]) -> bool:
    """Whether the number lies in [0, 1], as it is declared, or as a mean of such values does."""
    traits = traits_of(aggregation)
    if traits.fraction or traits.marks is not None or not traits.is_mean:
        return traits.fraction or traits.marks is not None
    return all(isinstance(value, (bool, int, float)) and (0 <= value <= 1 or value != value) for value in values)


def scale_of(aggregation: Aggregation, values: Sequence[object]) -> tuple[float, float] | None:
    """The least and the greatest value that the number can have: (0, 1) of a share, NO_SHARE of a mean of other values.

    The `range` that the task states, if it does. None where it is not known: an aggregation of a task's own may give shares
    or points.
    """
    if (stated := traits_of(aggregation).range) is not None:
        return stated if stated[0] >= 0 or stated[1] > 1 else NO_SHARE  # from -1 to 1 is a correlation, and no share
    if _are_fractions(aggregation, values):
        return 0.0, 1.0
    beyond = traits_of(aggregation).is_mean and all(isinstance(value, (bool, int, float)) for value in values)
    return NO_SHARE if beyond else None


def paired_difference(
    aggregation: Aggregation,
    first: Sequence[Any],
    second: Sequence[Any],
    clusters: Sequence[Hashable] | None = None,
    *,
    bootstrap_iters: int = 2000,
    seed: int = DEFAULT_SEED,
) -> Number:
    """aggregation(second) - aggregation(first); the values at one position belong to the same doc."""
    elsewhere: Callable[..., Number] | None = getattr(aggregation, "interval_of", None)
    if elsewhere is not None:
        found = elsewhere(UNNAMED, [first, second], clusters, bootstrap_iters, seed)
        return found if (stated := traits_of(aggregation).range) is None else replace(found, scale=_of_change({stated}))
    traits = traits_of(aggregation)
    scale = _of_change({scale_of(aggregation, first), scale_of(aggregation, second)})
    of_first, of_second = (_marks_of(aggregation, values, clusters) for values in (first, second))
    if of_first and of_second and of_first[1] == of_second[1] and len(of_first[0]) == len(of_second[0]):
        a, b = ([float(mark) for mark in each[0]] for each in (of_first, of_second))
        return replace(paired_difference(mean, a, b, of_first[1], seed=seed), n=len(first), scale=scale)
    if traits.is_mean:
        kept = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a == a and b == b]
        changes = [float(second[i]) - float(first[i]) for i in kept]
        where = None if clusters is None else [clusters[i] for i in kept]
        found = replace(estimate(aggregation, changes, where, seed=seed), exact=None, note="", scale=scale)
        kept_pairs = [(first[i], second[i]) for i in kept]
        found = replace(found, rarer=sum(change != 0 for change in changes))
        if _goes_beyond_marks(aggregation):
            return found if found.stderr else replace(found, note=f"{NO_SPREAD}.")
        return _of_flips(found, changes, kept_pairs, where)
    pairs = list(zip(first, second, strict=True))
    stratum, content, sums, influence = traits.stratum, traits.content, traits.sums, traits.influence

    def difference(items: Sequence[tuple[object, object]]) -> float:
        return float(aggregation([b for _, b in items])) - float(aggregation([a for a, _ in items]))

    declared = declare(
        smooth=traits.smooth,
        stratum=None if stratum is None else lambda pair: stratum(pair[0]),
        content=None if content is None else lambda pair: (content(pair[0]), content(pair[1])),
        sums=None if sums is None else lambda items: _both_sums(sums, items),
        influence=None if influence is None else lambda items: _change_of_influence(influence, items),
    )(difference)
    found = replace(estimate(declared, pairs, clusters, bootstrap_iters=bootstrap_iters, seed=seed), scale=scale)
    far = reach(aggregation, first) if found.stderr == 0 and _are_marks(pairs) else None
    if far is None:
        return found
    room = far * unseen(independent_clusters(aggregation, first, clusters))
    if found.value == 0:
        return replace(found, exact=(-room, room), exact_p=1.0, rarer=0, note="")
    # every cluster changed alike: an unseen one may change the other way, over twice the range, but none can change by more
    ends = max(-far, found.value - 2 * room), min(far, found.value + 2 * room)
    return replace(found, exact=ends, exact_p=found.p_value, note="")


def _of_change(scales: Set[tuple[float, float] | None]) -> tuple[float, float] | None:
    """The scale of a difference of two numbers. scales: theirs."""
    if NO_SHARE in scales:
        return NO_SHARE
    first, *others = scales
    return None if others or first is None else (first[0] - first[1], first[1] - first[0])


def _of_flips(
    found: Number, changes: Sequence[float], pairs: Sequence[tuple[Any, Any]], clusters: Sequence[Hashable] | None
) -> Number:
    """The paired difference of a mean, with the exact interval if few docs changed or all changed equally."""
    if found.stderr is None or found.rarer is None or not (found.stderr == 0 or found.rarer < FEW_OF_A_KIND):
        return found
    if not _are_marks(pairs):
        if found.rarer or not all(0 <= float(value) <= 1 for pair in pairs for value in pair):
            said = no_spread(changes, CHANGED_ALIKE if found.rarer else NO_SPREAD)
            return found if found.stderr else replace(found, note=f"{said}.")
        room = unseen(found.clusters or 1)  # no fraction changed, and an unseen one changes by at most 1
        return replace(found, exact=(-room, room), exact_p=1.0)
    first, second = ([bool(right_or_wrong(pair[n])) for pair in pairs] for n in (0, 1))
    totals: dict[Hashable, float] = {}
    for i, change in enumerate(changes):
        place = i if clusters is None else clusters[i]
        totals[place] = totals.get(place, 0.0) + change
    p = sign_test(sum(total > 0 for total in totals.values()), sum(total < 0 for total in totals.values()))
    return replace(found, exact=difference_of_marks(first, second, clusters), exact_p=max(p, found.p_value or 0.0))


def _are_marks(pairs: Sequence[tuple[object, object]]) -> bool:
    return all(right_or_wrong(value) is not None for pair in pairs for value in pair)


def _change_of_influence(
    influence: Callable[[Sequence[Any]], Sequence[float]], pairs: Sequence[tuple[object, object]]
) -> list[float]:
    first, second = influence([a for a, _ in pairs]), influence([b for _, b in pairs])
    return [b - a for a, b in zip(first, second, strict=True)]


def _both_sums(
    sums: Callable[[Sequence[Any]], SumStatistics | None], pairs: Sequence[tuple[object, object]]
) -> SumStatistics | None:
    """The sums of both runs side by side, so that one draw of clusters applies to both."""
    import numpy as np

    first, second = sums([a for a, _ in pairs]), sums([b for _, b in pairs])
    if first is None or second is None:
        return None
    width = first.rows.shape[1]
    left, right = first.score, second.score
    return SumStatistics(
        np.concatenate([first.rows, second.rows], axis=1),
        lambda totals: right(totals[:, width:]) - left(totals[:, :width]),
    )


def _count(
    aggregation: Aggregation, values: Sequence[object], clusters: Sequence[Hashable] | None
) -> tuple[int, float]:
    """The number of clusters, and the degrees of freedom: with strata, the clusters minus the strata."""
    stratum = traits_of(aggregation).stratum
    if stratum is None:
        sizes = [1] * len(values) if clusters is None else list(Counter(clusters).values())
        return len(sizes), freedom_of(sizes)
    places: dict[Hashable, set[Hashable]] = {}
    for i, value in enumerate(values):
        places.setdefault(i if clusters is None else clusters[i], set()).add(stratum(value))
    return len(places), max(1, len(places) - len({frozenset(found) for found in places.values()}))


@dataclass(frozen=True)
class Flips:
    """Docs that are right in one run and wrong in the other, with McNemar's exact p-value (docs counted as independent)."""

    both_right: int
    both_wrong: int
    gained: tuple[int, ...]
    lost: tuple[int, ...]

    @property
    def p_value(self) -> float:
        return sign_test(len(self.gained), len(self.lost))


def flips(first: Mapping[int, object], second: Mapping[int, object]) -> Flips | None:
    """McNemar's table of two runs' values by doc id; None if a value is neither right nor wrong."""
    shared = sorted(first.keys() & second.keys())
    marks = [(doc_id, right_or_wrong(first[doc_id]), right_or_wrong(second[doc_id])) for doc_id in shared]
    if not marks or any(a is None or b is None for _, a, b in marks):
        return None
    return Flips(
        sum(a is True and b is True for _, a, b in marks),
        sum(a is False and b is False for _, a, b in marks),
        tuple(doc_id for doc_id, a, b in marks if b and not a),
        tuple(doc_id for doc_id, a, b in marks if a and not b),
    )


def right_or_wrong(value: object) -> bool | None:
    """Whether a doc's value means right (1) or wrong (0); None for any other. A value is a number or a mapping with a `score`."""
    return None if is_pair(value) else mark_of(value)
