"""Bounds of a mean of numbers from -1 to 1 that hold whatever their distribution is, by betting against each possible mean.

    low, high = bounds([0, 0, 1, ...], 0.01)      # each end is wrong with a chance of at most 1%

Somebody bets, document after document, that the mean is above m. If it is m or less, their money grows to 1 / alpha with a
chance of at most alpha (Ville's inequality), so that the lower bound is the largest m against which it does (Waudby-Smith and
Ramdas 2023). The stakes are a mixture that is chosen beforehand, so that the order of the documents does not matter. Unlike a
standard error it is right where nearly all documents are equal: of 200 zeros the upper bound is 0.031 at 1%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from mm_eval.values.types import Floats

STAKES = (0.98, 0.7, 0.4, 0.2, 0.1, 0.05)
"""The shares of what can be lost that are bet."""
STEPS = 40


def bounds(values: Sequence[float], level: float) -> tuple[float, float]:
    """(lower, upper) bound of the mean, each wrong with a chance of at most `level`. Without values nothing is known: (-1, 1)."""
    if not len(values):
        return -1.0, 1.0
    found, counts = _counted(values)
    return _lower(found, counts, level), -_lower(-found[::-1], counts[::-1], level)


def _counted(values: Sequence[float]) -> tuple[Floats, Floats]:
    found, counts = np.unique(np.asarray(values, float), return_counts=True)
    return found, counts.astype(float)


def _growth(found: Floats, counts: Floats, mean: float) -> Floats:
    """The logarithm of the money after bets against a mean, for each stake. found: numbers from -1 to 1; counts: of each."""
    shares, against = (found + 1) / 2, (mean + 1) / 2
    stakes = np.asarray(STAKES)[:, None] / against
    return np.asarray((np.log1p(stakes * (shares - against)[None, :]) * counts).sum(1))


def _wealth(found: Floats, counts: Floats, mean: float) -> float:
    """The logarithm of the money of all stakes together."""
    grown = _growth(found, counts, mean)
    best = float(grown.max())
    return best + math.log(float(np.exp(grown - best).mean()))


def _lower(found: Floats, counts: Floats, level: float) -> float:
    low, high = -1.0, float((found * counts).sum() / counts.sum())
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle > -1 and _wealth(found, counts, middle) < -math.log(level):
            high = middle
        else:
            low = middle
    return low


def needed(values: Sequence[float], limit: float, level: float) -> int | None:
    """About how many documents like these put the mean above a limit; None where it is not above it.

    >>> needed([0.0], -0.05, 0.01)
    128
    """
    found, counts = _counted(values)
    growth = float(_growth(found, counts, limit).max() / counts.sum())
    if not growth > 0 or float((found * counts).sum() / counts.sum()) <= limit:
        return None
    return math.ceil((math.log(len(STAKES)) - math.log(level)) / growth)


def smallest_found(docs: int, limit: float, level: float) -> float | None:
    """The smallest share of differing documents that so many show to be above a limit, where the others are equal; None for none.

    >>> round(smallest_found(200, 0.05, 0.01), 2)
    0.11
    """

    def shows(share: float) -> bool:
        found, counts = np.array([0.0, 1.0]), np.array([docs * (1 - share), docs * share])
        return _wealth(found, counts, limit) >= -math.log(level)

    if not shows(1.0):
        return None
    low, high = limit, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high
