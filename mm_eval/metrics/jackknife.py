"""The delete-a-group jackknife: the standard error of any smooth function of the docs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mm_eval.metrics.stderr import StandardError


def jackknife_stderr(
    f: Callable[[Sequence[Any]], float],
    values: Sequence[Any],
    members: Sequence[Sequence[int]],
    stratum: Callable[[Any], Hashable] | None = None,
    *,
    most: int = 1000,
    seed: int = 0,
) -> StandardError:
    """Standard error of f(values) from its values with a group of clusters left out at a time.

    members: positions of each cluster's values. stratum: clusters of one stratum are compared with each other only, and one
    of them always stays. most: about how many times f is called; with more clusters several are left out together.
    variance = sum over strata of (R - 1) / R * sum over its R groups of (f without the group - their mean)^2.
    """
    strata = _strata(values, members, stratum)
    alone = sum(1 for clusters in strata.values() if len(clusters) < 2)
    if alone == len(strata):
        return StandardError(None, "fewer than two clusters in every stratum: no standard error.")
    variance = 0.0
    together = math.ceil(len(members) / most)
    generator = random.Random(seed)
    for clusters in strata.values():
        groups = _groups(clusters, together, generator)
        if len(groups) < 2:
            continue
        without = [_value_without(f, values, [i for c in group for i in members[c]]) for group in groups]
        centre = math.fsum(without) / len(without)
        variance += (len(groups) - 1) / len(groups) * math.fsum((value - centre) ** 2 for value in without)
    if not math.isfinite(variance):
        return StandardError(None, "the number is not finite without some of the docs: no standard error.")
    note = f"{alone} of {len(strata)} strata have a single cluster, whose spread is unknown." if alone else ""
    return StandardError(math.sqrt(variance), note)


def _strata(
    values: Sequence[Any], members: Sequence[Sequence[int]], stratum: Callable[[Any], Hashable] | None
) -> dict[Hashable, list[int]]:
    """The clusters of each stratum; a cluster whose docs lie in several is in the stratum of that combination."""
    strata: dict[Hashable, list[int]] = {}
    for cluster, positions in enumerate(members):
        key = frozenset(stratum(values[i]) for i in positions) if stratum else None
        strata.setdefault(key, []).append(cluster)
    return strata


def _groups(clusters: list[int], together: int, generator: random.Random) -> list[list[int]]:
    """Clusters in groups of nearly equal size, at least two groups where there are two clusters."""
    count = min(len(clusters), max(2, math.ceil(len(clusters) / together)))
    if count < len(clusters):
        clusters = generator.sample(clusters, len(clusters))
    return [clusters[i::count] for i in range(count)]


def _value_without(f: Callable[[Sequence[Any]], float], values: Sequence[Any], left_out: Sequence[int]) -> float:
    gone = set(left_out)
    return float(f([value for i, value in enumerate(values) if i not in gone]))
