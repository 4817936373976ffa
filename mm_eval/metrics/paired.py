"""A number with its interval, and the difference of two numbers over the same docs.

    difference = paired_difference(aggregation, first, second, clusters)

Pairing takes out what the docs share: two runs that answer the same hard pictures wrongly differ by little, and the interval
says so. The standard error is that of `metrics.stderr` for the aggregation, taken over pairs: closed form for means, sums for
corpus metrics, and else a jackknife that leaves a cluster out of both runs at once.

How far the intervals hold was measured by simulation (benchmarks/coverage.py): with 60 clusters and more a 95% interval
holds the true value in 93% to 97% of evaluations, for means, MME sums and differences of both. With 10 to 40 clusters it was
94% to 97% for accuracies in the middle. Where nearly all docs are right (or nearly none flips) it is too short: at an accuracy
of 0.95, 39% with 10 docs, 63% with 20, 88% with 100; 0.98 with 60 docs gives 70%. `few` says when to expect that: below 60
clusters, or with fewer than 10 docs of the rarer kind.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mm_eval.metrics.stderr import DEFAULT_SEED, standard_error
from mm_eval.metrics.student import sign_test, t_quantile, t_two_sided
from mm_eval.metrics.traits import SumStatistics, declare, traits_of

Aggregation = Callable[[Sequence[Any]], float]

CONFIDENCE, POWER = 0.95, 0.80
FEW_CLUSTERS, FEW_OF_A_KIND = 60, 10


@dataclass(frozen=True)
class Estimate:
    """A number, how sure it is, and of how many docs and clusters it is.

    stderr: None where there is none; `note` says why. freedom: degrees of freedom of the interval, clusters minus strata.
    rarer: of a right/wrong metric how many docs are of the rarer kind, of a difference how many docs changed; None for others.
    """

    value: float
    stderr: float | None
    docs: int
    clusters: int
    freedom: int = 1
    note: str = ""
    rarer: int | None = None

    @property
    def margin(self) -> float | None:
        """Half the width of the 95% interval."""
        return None if self.stderr is None else t_quantile((1 + CONFIDENCE) / 2, self.freedom) * self.stderr

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval."""
        return None if self.margin is None else (self.value - self.margin, self.value + self.margin)

    @property
    def p_value(self) -> float | None:
        """The chance of a value at least this far from 0, were 0 the truth; 1 where nothing differs at all."""
        if self.stderr is None:
            return None
        if self.stderr == 0:
            return 1.0 if self.value == 0 else 0.0
        return t_two_sided(self.value / self.stderr, self.freedom)

    @property
    def detectable(self) -> float | None:
        """The smallest true value that as many docs would tell from 0 in 80% of evaluations."""
        if self.stderr is None:
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
    return replace(with_stderr(value, stderr, aggregation, values, clusters), note=error.note)


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
    return Estimate(value, stderr, len(values), count, max(1, count - strata), rarer=rarer)


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
        found = estimate(aggregation, changes, where, seed=seed)
        return replace(found, rarer=sum(change != 0 for change in changes))
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
    return estimate(declared, pairs, clusters, bootstrap_iters=bootstrap_iters, seed=seed)


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
