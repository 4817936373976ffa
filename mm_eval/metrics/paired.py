"""A number with its interval, and the difference of two numbers over the same docs.

    difference = paired_difference(aggregation, first, second, clusters)

Pairing takes out what the docs share: two runs that answer the same hard pictures wrongly differ by little, and the interval
says so. The standard error is that of `metrics.stderr` for the aggregation, taken over pairs: closed form for means, sums for
corpus metrics, and else a jackknife that leaves a cluster out of both runs at once.

How far the intervals hold was measured by simulation (benchmarks/coverage.py): with 60 clusters and more a 95% interval
holds the true value in 93% to 97% of evaluations, for means, MME sums and differences of both. With 10 to 40 clusters it was
94% to 97% for accuracies in the middle. Where fewer than 10 docs are of the rarer kind (nearly all right, nearly none flipped)
the interval is the exact one of `metrics.exact`, which holds the true value in at least 95%, and is marked `exact`. `few` says
where an interval rests on little: below 60 clusters, or with fewer than 10 docs of the rarer kind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mm_eval.metrics.intervals import (
    difference_of_marks,
    independent_clusters,
    marked,
    reach,
    share_interval,
    sign_test,
    t_quantile,
    t_two_sided,
    unseen,
)
from mm_eval.metrics.stderr import DEFAULT_SEED, standard_error
from mm_eval.metrics.traits import SumStatistics, declare, traits_of

Aggregation = Callable[[Sequence[Any]], float]

CONFIDENCE, POWER = 0.95, 0.80
FEW_CLUSTERS, FEW_OF_A_KIND = 60, 10
NO_SPREAD = "the docs do not vary, so that there is no interval."


@dataclass(frozen=True)
class Estimate:
    """A number, how sure it is, and of how many docs and clusters it is.

    stderr: None where there is none; `note` says why. freedom: degrees of freedom of the interval, clusters minus strata.
    rarer: of a right/wrong metric how many docs are of the rarer kind, of a difference how many docs changed; None for others.
    exact: the interval where the standard error gives none that holds (all right, all wrong, no doc flipped, or nearly so).
    exact_p: the p-value that goes with it, of a difference.
    """

    value: float
    stderr: float | None
    docs: int
    clusters: int
    freedom: int = 1
    note: str = ""
    rarer: int | None = None
    exact: tuple[float, float] | None = None
    exact_p: float | None = None

    @property
    def margin(self) -> float | None:
        """Half the width of the 95% interval; None where there is none, or where it is exact and has two unequal halves."""
        if not self.stderr or self.exact is not None:
            return None  # a standard error of 0 says that nothing varied, not that nothing can
        return t_quantile((1 + CONFIDENCE) / 2, self.freedom) * self.stderr

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval."""
        if self.exact is not None:
            return self.exact
        return None if self.margin is None else (self.value - self.margin, self.value + self.margin)

    @property
    def p_value(self) -> float | None:
        """The chance of a value at least this far from 0, were 0 the truth; 1 where nothing differs at all."""
        if self.exact_p is not None:
            return self.exact_p
        if self.stderr is None:
            return None
        if self.stderr == 0:
            return 1.0 if self.value == 0 else 0.0
        return t_two_sided(self.value / self.stderr, self.freedom)

    @property
    def detectable(self) -> float | None:
        """The smallest true value that as many docs would tell from 0 in 80% of evaluations; None where nothing varied."""
        if not self.stderr:
            return None
        return (t_quantile((1 + CONFIDENCE) / 2, self.freedom) + t_quantile(POWER, self.freedom)) * self.stderr

    @property
    def docs_needed(self) -> int | None:
        """About how many docs of this kind would tell this value from 0 in 80% of evaluations; None where it is 0."""
        if not self.stderr or self.value == 0:
            return None
        many = 10_000
        factor = (t_quantile((1 + CONFIDENCE) / 2, many) + t_quantile(POWER, many)) * self.stderr / self.value
        return math.ceil(self.docs * factor * factor)

    @property
    def few(self) -> bool:
        """Too little for the interval to be trusted to the percent."""
        return self.clusters < FEW_CLUSTERS or (self.rarer is not None and self.rarer < FEW_OF_A_KIND)


def estimate(
    aggregation: Aggregation,
    values: Sequence[Any],
    clusters: Sequence[Hashable] | None = None,
    *,
    bootstrap_iters: int = 2000,
    seed: int = DEFAULT_SEED,
) -> Estimate:
    """The number over some docs with what its interval needs. What the aggregation raises is raised.

    clusters: one a value; None says that each doc stands alone.
    """
    value = float(aggregation(values))
    error = standard_error(aggregation, values, clusters, bootstrap_iters=bootstrap_iters, seed=seed)
    stderr = error.value if math.isfinite(value) else None
    found = with_stderr(value, stderr, aggregation, values, clusters)
    return replace(found, note=error.note or found.note)


def with_stderr(
    value: float,
    stderr: float | None,
    aggregation: Aggregation,
    values: Sequence[Any],
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """The number over some docs whose standard error is known already, with what its interval needs."""
    count, strata = _count(aggregation, values, clusters)
    marks = Counter(map(right_or_wrong, values))
    rarer = None if None in marks else min(marks[True], marks[False])
    found = Estimate(value, stderr, len(values), count, max(1, count - strata), rarer=rarer)
    if stderr is None or rarer is None or not (stderr == 0 or rarer < FEW_OF_A_KIND):
        return found if stderr != 0 else replace(found, note=NO_SPREAD)
    if traits_of(aggregation).is_mean:
        return replace(found, exact=share_interval([bool(right_or_wrong(v)) for v in values], clusters))
    if stderr == 0 and rarer == 0 and (far := reach(aggregation, values)) is not None:
        room = far * unseen(independent_clusters(aggregation, values, clusters))
        best = value >= float(aggregation([marked(v, 1.0) for v in values])) - 1e-9 * far
        return replace(found, exact=(value - room, value) if best else (value, value + room))
    return found if stderr else replace(found, note=NO_SPREAD)


def paired_difference(
    aggregation: Aggregation,
    first: Sequence[Any],
    second: Sequence[Any],
    clusters: Sequence[Hashable] | None = None,
    *,
    bootstrap_iters: int = 2000,
    seed: int = DEFAULT_SEED,
) -> Estimate:
    """aggregation(second) - aggregation(first), where the values at one position are of the same doc."""
    traits = traits_of(aggregation)
    if traits.is_mean:
        kept = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a == a and b == b]
        changes = [float(second[i]) - float(first[i]) for i in kept]
        where = None if clusters is None else [clusters[i] for i in kept]
        found = replace(estimate(aggregation, changes, where, seed=seed), exact=None, note="")
        kept_pairs = [(first[i], second[i]) for i in kept]
        return _of_flips(replace(found, rarer=sum(change != 0 for change in changes)), changes, kept_pairs, where)
    pairs = list(zip(first, second, strict=True))
    stratum, content, sums = traits.stratum, traits.content, traits.sums

    def difference(items: Sequence[tuple[Any, Any]]) -> float:
        return float(aggregation([b for _, b in items])) - float(aggregation([a for a, _ in items]))

    declared = declare(
        smooth=traits.smooth,
        stratum=None if stratum is None else lambda pair: stratum(pair[0]),
        content=None if content is None else lambda pair: (content(pair[0]), content(pair[1])),
        sums=None if sums is None else lambda items: _both_sums(sums, items),
    )(difference)
    found = estimate(declared, pairs, clusters, bootstrap_iters=bootstrap_iters, seed=seed)
    far = reach(aggregation, first) if found.stderr == 0 and found.value == 0 and _are_marks(pairs) else None
    if far is None:
        return found
    room = far * unseen(independent_clusters(aggregation, first, clusters))
    return replace(found, exact=(-room, room), exact_p=1.0, rarer=0, note="")


def _of_flips(
    found: Estimate, changes: Sequence[float], pairs: Sequence[tuple[Any, Any]], clusters: Sequence[Hashable] | None
) -> Estimate:
    """The paired difference of a mean; exact where few docs changed, or all of them by as much."""
    if found.stderr is None or found.rarer is None or not (found.stderr == 0 or found.rarer < FEW_OF_A_KIND):
        return found
    if not _are_marks(pairs):
        if found.rarer or not all(0 <= float(value) <= 1 for pair in pairs for value in pair):
            return found if found.stderr else replace(found, note=NO_SPREAD)
        room = unseen(found.clusters)  # fractions of which none changed: the others may change by 1 at most
        return replace(found, exact=(-room, room), exact_p=1.0)
    first, second = ([bool(right_or_wrong(pair[n])) for pair in pairs] for n in (0, 1))
    totals: dict[Hashable, float] = {}
    for i, change in enumerate(changes):
        place = i if clusters is None else clusters[i]
        totals[place] = totals.get(place, 0.0) + change
    p = sign_test(sum(total > 0 for total in totals.values()), sum(total < 0 for total in totals.values()))
    return replace(found, exact=difference_of_marks(first, second, clusters), exact_p=max(p, found.p_value or 0.0))


def _are_marks(pairs: Sequence[tuple[Any, Any]]) -> bool:
    return all(right_or_wrong(value) is not None for pair in pairs for value in pair)


def _both_sums(
    sums: Callable[[Sequence[Any]], SumStatistics | None], pairs: Sequence[tuple[Any, Any]]
) -> SumStatistics | None:
    """The sums of both runs beside each other, so that one draw of clusters counts for both."""
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


def _count(aggregation: Aggregation, values: Sequence[Any], clusters: Sequence[Hashable] | None) -> tuple[int, int]:
    """How many clusters there are, and in how many strata."""
    stratum = traits_of(aggregation).stratum
    places: dict[Hashable, set[Hashable]] = {}
    for i, value in enumerate(values):
        places.setdefault(i if clusters is None else clusters[i], set()).add(stratum(value) if stratum else None)
    return len(places), len({frozenset(found) for found in places.values()})


@dataclass(frozen=True)
class Flips:
    """Docs that are right in one run and wrong in the other, and McNemar's exact p-value (docs taken as independent)."""

    both_right: int
    both_wrong: int
    gained: tuple[int, ...]
    lost: tuple[int, ...]

    @property
    def p_value(self) -> float:
        return sign_test(len(self.gained), len(self.lost))


def flips(first: Mapping[int, Any], second: Mapping[int, Any]) -> Flips | None:
    """McNemar's table of two runs' values by doc; None where a value is neither right nor wrong."""
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


def right_or_wrong(value: Any) -> bool | None:
    """Whether a doc's value says right (1) or wrong (0): a number, or the `score` of a mapping that is aggregated later."""
    if isinstance(value, Mapping):
        value = value.get("score")
    if not isinstance(value, (bool, int, float)) or value not in (0, 1):
        return None
    return bool(value)
