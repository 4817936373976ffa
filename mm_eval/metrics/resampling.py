"""The jackknife: the standard error of any smooth function of the docs, from its values without a cluster at a time."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from mm_eval.metrics.stderr import StandardError

Statistic = Callable[[Sequence[Any]], float]
Key = Callable[[Any], Hashable]


class Jackknife(NamedTuple):
    """A standard error, and whether the function jumps, so that it is not to be trusted.

    A median without any one doc has two or three values, however many values the docs have. A function that few different
    docs change differently jumps so, or is of few docs only; what no doc's value explains (a doc's id) looks like it too.
    """

    error: StandardError
    jumps: bool


def jackknife(
    f: Statistic,
    values: Sequence[Any],
    members: Sequence[Sequence[int]],
    stratum: Key | None = None,
    content: Key | None = None,
    *,
    most: int = 1000,
    seed: int = 0,
) -> Jackknife:
    """Standard error of f(values) from its values with one cluster left out at a time.

    members: positions of each cluster's values. stratum: clusters of one stratum are compared with each other only, and one
    of them always stays. content: what of a value the function depends on, where that is not the value itself; clusters of
    one stratum and equal content are left out at the cost of one.
    most: how often f may be called; with more different clusters than that, several at random are left out together.
    variance = sum over strata of (R - 1) / R * sum over its R clusters or groups of (f without it - their mean)^2.
    """
    strata = strata_of(values, members, stratum)
    alone = sum(1 for clusters in strata.values() if len(clusters) < 2)
    if alone == len(strata):
        return Jackknife(StandardError(None, "fewer than two clusters in every stratum: no standard error."), False)
    alike = {key: _alike(values, members, clusters, content) for key, clusters in strata.items()}
    kinds = sum(map(len, alike.values()))
    together = math.ceil(len(members) / most) if kinds > most else 1
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
        without = [_value_without(f, values, [i for c in group for i in members[c]]) for group in left_out]
        variance += _spread(without, weights)
        replicates += without
    if not math.isfinite(variance):
        return Jackknife(StandardError(None, "the number is not finite without some docs: no standard error."), False)
    note = f"{alone} of {len(strata)} strata have a single cluster, whose spread is unknown." if alone else ""
    jumps = 2 * _distinct(replicates) < min(kinds, len(replicates))
    return Jackknife(StandardError(math.sqrt(variance), note), jumps)


def strata_of(
    values: Sequence[Any], members: Sequence[Sequence[int]], stratum: Key | None
) -> dict[Hashable, list[int]]:
    """The clusters of each stratum; a cluster whose docs lie in several is in the stratum of that combination."""
    strata: dict[Hashable, list[int]] = {}
    for cluster, positions in enumerate(members):
        key = frozenset(stratum(values[i]) for i in positions) if stratum else None
        strata.setdefault(key, []).append(cluster)
    return strata


def _alike(
    values: Sequence[Any], members: Sequence[Sequence[int]], clusters: Sequence[int], content: Key | None
) -> list[list[int]]:
    """The clusters of one stratum, those of equal content together; what has no hash is like nothing else."""
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


def _value_without(f: Statistic, values: Sequence[Any], left_out: Sequence[int]) -> float:
    gone = set(left_out)
    return float(f([value for i, value in enumerate(values) if i not in gone]))


def _spread(without: Sequence[float], weights: Sequence[int]) -> float:
    """(R - 1) / R times the sum of squares about the mean, where each value stands for as many as its weight."""
    count = sum(weights)
    centre = math.fsum(w * value for w, value in zip(weights, without, strict=True)) / count
    squares = math.fsum(w * (value - centre) ** 2 for w, value in zip(weights, without, strict=True))
    return (count - 1) / count * squares


def _distinct(replicates: Sequence[float]) -> int:
    """How many different values there are, rounding errors apart."""
    low = min(replicates)
    span = max(replicates) - low
    return len({round((value - low) / span, 9) for value in replicates}) if span else 1


class HalfSamples(NamedTuple):
    """A standard error, and the mean of the halves' values."""

    error: StandardError
    centre: float


def half_samples(
    f: Statistic,
    values: Sequence[Any],
    members: Sequence[Sequence[int]],
    stratum: Key | None = None,
    *,
    draws: int = 1000,
    seed: int = 0,
) -> HalfSamples:
    """The standard error of f(values) as the spread of f over `draws` random halves of the clusters of each stratum."""
    strata = list(strata_of(values, members, stratum).values())
    generator = random.Random(seed)
    found = [float(f(_half(values, members, strata, generator))) for _ in range(draws)]
    if not all(map(math.isfinite, found)):
        reason = StandardError(None, "the number is not finite on some halves of the docs: no standard error.")
        return HalfSamples(reason, math.nan)
    return HalfSamples(StandardError(statistics.stdev(found)), statistics.fmean(found))


def _half(
    values: Sequence[Any],
    members: Sequence[Sequence[int]],
    strata: Sequence[Sequence[int]],
    generator: random.Random,
) -> list[Any]:
    """The values of half of each stratum's clusters, in their order."""
    kept = []
    for clusters in strata:
        kept += generator.sample(clusters, _half_of(len(clusters), generator))
    return [values[i] for i in sorted(i for cluster in kept for i in members[cluster])]


def _half_of(count: int, generator: random.Random) -> int:
    """Half of a number; of an odd one the larger half in (count + 1) of 2 count cases, which leaves means unbiased."""
    return count // 2 + (count % 2 and generator.random() * 2 * count < count + 1)
