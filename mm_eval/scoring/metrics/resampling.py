"""Resampling: the spread of a number over the docs without some of them, over random halves of them, or over bootstrap draws.

Every function takes `members`, the positions of each cluster's values: the docs of a cluster stay together. Which method fits an
aggregation is decided in metrics.stderr.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from mm_eval.scoring.metrics.traits import SumStatistics

if TYPE_CHECKING:
    from mm_eval.values.types import Floats

Statistic = Callable[[Sequence[object]], float]
Key = Callable[[object], Hashable]
Without = Callable[[Collection[int]], float]
Members = Sequence[Sequence[int]]

_CELLS = 4_000_000
"""The most numbers that a bootstrap holds at a time."""


class StandardError(NamedTuple):
    """A standard error, or None and the reason why there is none."""

    value: float | None
    note: str = ""


class Jackknife(NamedTuple):
    """A standard error, and whether the function jumps, so that the error is not reliable.

    A median without any one doc has two or three values, however many values the docs have. A function whose value changes in
    few different ways jumps like that, or has few docs. A function of something outside the docs' values (an id) looks the same.
    """

    error: StandardError
    jumps: bool


class HalfSamples(NamedTuple):
    """A standard error, and the mean of the halves' values."""

    error: StandardError
    centre: float


def jackknife(
    f: Statistic,
    values: Sequence[object],
    members: Members,
    stratum: Key | None = None,
    content: Key | None = None,
    *,
    without: Without | None = None,
    most: int = 1000,
    seed: int = 0,
) -> Jackknife:
    """Standard error of f(values) from its values with one cluster left out at a time.

    stratum: the clusters of a stratum are compared with each other only, and a single one is never left out.
    content: what the function depends on in a value, if that is not the whole value; clusters of one stratum with equal
        content cost one call together.
    without: gives f without the values at some positions faster than f does.
    most: how often f may be called. If there are more different clusters, several random ones are left out together.
    variance = sum over strata of (R - 1) / R * sum over its R clusters or groups of (f without it - their mean)^2.
    """
    strata = _strata(values, members, stratum)
    alone = sum(1 for clusters in strata.values() if len(clusters) < 2)
    if alone == len(strata):
        return Jackknife(StandardError(None, "fewer than two clusters in every stratum: no standard error."), False)
    alike = {key: _alike(values, members, clusters, content) for key, clusters in strata.items()}
    kinds = sum(map(len, alike.values()))
    together = math.ceil(len(members) / most) if kinds > most else 1
    value_without = without or partial(_value_without, f, values)
    variance, replicates, generator = 0.0, list[float](), random.Random(seed)
    for key, clusters in strata.items():
        if len(clusters) < 2:
            continue
        if together == 1:
            left_out = [[same[0]] for same in alike[key]]
            weights = [len(same) for same in alike[key]]
        else:
            left_out = _groups(clusters, together, generator)
            weights = [1] * len(left_out)
        found = [float(value_without({i for c in group for i in members[c]})) for group in left_out]
        variance += _variance(found, weights)
        replicates += found
    if not math.isfinite(variance):
        return Jackknife(
            StandardError(None, "the number is not finite without some documents: no standard error."), False
        )
    note = f"{alone} of {len(strata)} strata have a single cluster, whose spread is unknown." if alone else ""
    jumps = 2 * _distinct(replicates) < min(kinds, len(replicates))
    return Jackknife(StandardError(math.sqrt(variance), note), jumps)


def half_samples(
    f: Statistic,
    values: Sequence[object],
    members: Members,
    stratum: Key | None = None,
    *,
    draws: int = 1000,
    seed: int = 0,
) -> HalfSamples:
    """The standard error of f(values) as the spread of f over `draws` random halves of the clusters of each stratum."""
    strata = list(_strata(values, members, stratum).values())
    generator = random.Random(seed)
    found = [float(f(_half(values, members, strata, generator))) for _ in range(draws)]
    if not all(map(math.isfinite, found)):
        reason = StandardError(None, "the number is not finite on some halves of the documents: no standard error.")
        return HalfSamples(reason, math.nan)
    return HalfSamples(StandardError(statistics.stdev(found)), statistics.fmean(found))


def draws_of(f: Statistic, values: Sequence[object], members: Members, iters: int, seed: int) -> Floats:
    """The values of f over `iters` bootstrap draws of clusters, shape (iters,): one call per draw."""
    import numpy as np

    generator = random.Random(seed)
    groups = [[values[i] for i in positions] for positions in members]
    drawn = (generator.choices(groups, k=len(groups)) for _ in range(iters))
    return np.array([float(f([value for group in draw for value in group])) for draw in drawn])


def draws_of_weights(
    weighted: Callable[[Sequence[object], Floats], Floats],
    values: Sequence[object],
    members: Members,
    iters: int,
    seed: int,
) -> Floats:
    """The same from a function of (values, how often each is drawn), which takes many draws per call."""
    import numpy as np

    cluster_of = np.empty(len(values), dtype=np.intp)
    for cluster, positions in enumerate(members):
        cluster_of[positions] = cluster
    chunks = _counts(len(members), iters, seed, width=max(len(members), len(values)))
    return np.concatenate([weighted(values, counts[:, cluster_of]) for counts in chunks])


def draws_of_sums(sums: SumStatistics, members: Members, iters: int, seed: int) -> Floats:
    """The same from sufficient statistics: each draw is a sum of rows.

    Clusters with equal rows are drawn together, so that a confusion table costs as many columns as it has cells.
    """
    import numpy as np

    rows = np.asarray(sums.rows, dtype=float)
    if any(len(positions) > 1 for positions in members):
        rows = np.stack([rows[positions].sum(axis=0) for positions in members])
    distinct, how_often = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * 8 > len(rows):
        chunks = _counts(len(rows), iters, seed, width=len(rows))
        return np.concatenate([sums.score(counts @ rows) for counts in chunks])
    generator = np.random.default_rng(seed)
    chances = how_often / how_often.sum()
    size = max(1, _CELLS // len(distinct))
    sizes = (min(size, iters - start) for start in range(0, iters, size))
    return np.concatenate(
        [sums.score(generator.multinomial(len(rows), chances, size=draws) @ distinct) for draws in sizes]
    )


def _counts(clusters: int, iters: int, seed: int, width: int) -> Iterator[Floats]:
    """How often each cluster is drawn, in chunks of shape (draws, clusters). width: numbers per draw that the caller holds."""
    import numpy as np

    generator = np.random.default_rng(seed)
    size = max(1, _CELLS // width)
    for start in range(0, iters, size):
        draws = min(size, iters - start)
        drawn = generator.integers(0, clusters, size=(draws, clusters))
        drawn += np.arange(draws)[:, None] * clusters
        yield np.bincount(drawn.ravel(), minlength=draws * clusters).reshape(draws, clusters).astype(float)


def _strata(values: Sequence[object], members: Members, stratum: Key | None) -> dict[Hashable, list[int]]:
    """The clusters of each stratum. A cluster with docs in several strata belongs to the stratum of that combination."""
    strata: dict[Hashable, list[int]] = {}
    for cluster, positions in enumerate(members):
        key = frozenset(stratum(values[i]) for i in positions) if stratum else None
        strata.setdefault(key, []).append(cluster)
    return strata


def _alike(values: Sequence[object], members: Members, clusters: Sequence[int], content: Key | None) -> list[list[int]]:
    """The clusters of one stratum, grouped by equal content; content that is not hashable equals no other."""
    found: dict[Hashable, list[int]] = {}
    for cluster in clusters:
        held = [values[i] if content is None else content(values[i]) for i in members[cluster]]
        try:
            key: Hashable = frozenset(Counter(held).items()) if len(held) > 1 else (held[0],)
            found.setdefault(key, []).append(cluster)
        except TypeError:
            found[("cluster", cluster)] = [cluster]
    return list(found.values())


def _groups(clusters: list[int], together: int, generator: random.Random) -> list[list[int]]:
    """Clusters in groups of nearly equal size, at least two groups."""
    count = min(len(clusters), max(2, math.ceil(len(clusters) / together)))
    if count < len(clusters):
        clusters = generator.sample(clusters, len(clusters))
    return [clusters[i::count] for i in range(count)]


def _value_without(f: Statistic, values: Sequence[object], left_out: Collection[int]) -> float:
    return float(f([value for i, value in enumerate(values) if i not in left_out]))


def _variance(without: Sequence[float], weights: Sequence[int]) -> float:
    """(R - 1) / R times the sum of squares about the mean. weights: for how many clusters each value stands."""
    count = sum(weights)
    centre = math.fsum(w * value for w, value in zip(weights, without, strict=True)) / count
    squares = math.fsum(w * (value - centre) ** 2 for w, value in zip(weights, without, strict=True))
    return (count - 1) / count * squares


def _distinct(replicates: Sequence[float]) -> int:
    """The number of different values, apart from rounding errors."""
    low = min(replicates)
    span = max(replicates) - low
    return len({round((value - low) / span, 9) for value in replicates}) if span else 1


def _half(
    values: Sequence[object], members: Members, strata: Sequence[Sequence[int]], generator: random.Random
) -> list[object]:
    """The values of half of each stratum's clusters, in their order.

    Of an odd number n of clusters the larger half is kept in (n + 1) of 2 n cases, so that means are unbiased.
    """
    kept = []
    for clusters in strata:
        n = len(clusters)
        kept += generator.sample(clusters, n // 2 + (n % 2 and generator.random() * 2 * n < n + 1))
    return [values[i] for i in sorted(i for cluster in kept for i in members[cluster])]
