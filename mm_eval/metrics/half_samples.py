"""Half samples: the standard error of a function that jumps, such as a median, from its values on random halves of the docs.

A half is drawn without putting back, so that no doc is there twice: a function that looks its docs up by an id stays right,
which it would not in a bootstrap. The mean of half of n clusters varies about that of all by s^2 (2/n - 1/n) = s^2 / n,
just as much as the mean of n clusters varies, so the spread of the halves' values is the standard error. For medians and
percentiles this is consistent where the jackknife is not (Shao and Wu 1989, "A general theory for jackknife variance
estimation"); for extremes (max) nothing is.
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from mm_eval.metrics.jackknife import Key, Statistic, strata_of
from mm_eval.metrics.stderr import StandardError


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
