"""Group-sequential tests: how far a difference must be from 0 at each look, so that looking often costs no false alarms.

    test = group_sequential(times=(0.25, 0.5, 0.75, 1.0), alpha=0.05)
    test.critical                       # (4.333, 2.963, 2.359, 2.014): |z| at each look
    test.estimate(2, z=3.1)             # what the difference is, corrected for stopping there

The test statistics of the looks are a Brownian motion B at the times t (shares of the docs): B(t) = Z sqrt(t) has mean theta t
and variance t. Lan and DeMets (1983) spend the alpha that a function allows until t; O'Brien and Fleming's kind spends almost
nothing early. Boundaries come from the recursive integration of Armitage, McPherson and Rowe (1969; Jennison and Turnbull 2000,
chapter 19), here by Gauss-Legendre quadrature between the boundaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

NODES = 160
"""Points of the quadrature between two boundaries: 9 digits of the probabilities, for up to 100 looks."""
LEAST = 1e-300
"""The alpha of a look that has none to spend: its boundary is out of reach."""
_normal = NormalDist()


def upper_tail(z: float) -> float:
    """The probability of a standard normal value above z, with full precision far out."""
    return 0.5 * math.erfc(z / math.sqrt(2))


def quantile_above(chance: float) -> float:
    """The z with this probability above it."""
    return -_normal.inv_cdf(chance)


def obrien_fleming(share: float, alpha: float) -> float:
    """The two-sided alpha spent until a share of the docs: Lan and DeMets' function of O'Brien and Fleming's kind.

    Each side spends 2 - 2 Phi(z / sqrt(share)), where z has half of the side's alpha above it.
    """
    if share <= 0:
        return 0.0
    return min(alpha, 4 * upper_tail(quantile_above(alpha / 4) / math.sqrt(share))) if share < 1 else alpha


def pocock(share: float, alpha: float) -> float:
    """The two-sided alpha spent until a share of the docs: Lan and DeMets' function of Pocock's kind."""
    return min(alpha, alpha * math.log(1 + (math.e - 1) * max(0.0, share)))


Spending = Callable[[float, float], float]


@dataclass(frozen=True)
class Stopped:
    """A difference in units of its standard error at the end, after a test that stopped at a look: theta = difference / se(1).

    theta: the median-unbiased estimate. low, high: its interval. p: the p-value, all by the stage-wise ordering.
    """

    theta: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class GroupSequential:
    """A two-sided test at some times with the alpha that a function spends. Build it with `group_sequential`.

    times: shares of the docs, increasing, the last at most 1. critical: the |z| at each time from which the pair differs.
    """

    times: tuple[float, ...]
    alpha: float
    critical: tuple[float, ...]
    spending: Spending = obrien_fleming

    def spent(self, look: int) -> float:
        """The alpha spent until a look (from 1)."""
        return self.spending(self.times[look - 1], self.alpha)

    def level(self, look: int) -> float:
        """The nominal two-sided p-value below which a pair differs at a look."""
        return 2 * upper_tail(self.critical[look - 1])

    @cached_property
    def _densities(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Of each look: the points between the boundaries, and the density of B there times their weights, for theta = 0."""
        import numpy as np

        found: list[tuple[NDArray[Any], NDArray[Any]]] = []
        before = 0.0
        for time, critical in zip(self.times, self.critical, strict=True):
            points, weights = _points(critical * math.sqrt(time))
            step = time - before
            if not found:
                density = np.exp(-(points**2) / (2 * time)) / math.sqrt(2 * math.pi * time)
            else:
                density = _stepped(found[-1], points, step)
            found.append((points, density * weights))
            before = time
        return found

    def crossed(self, theta: float, look: int, z: float | None = None) -> tuple[float, float]:
        """The probabilities that the statistic is first outside at this look, above and below. z: beyond this in place of the
        boundary."""
        time = self.times[look - 1]
        edge = (self.critical[look - 1] if z is None else z) * math.sqrt(time)
        if look == 1:
            return tuple(  # type: ignore[return-value]
                upper_tail((edge - sign * theta * time) / math.sqrt(time)) for sign in (1, -1)
            )
        return self._beyond(look, edge, theta), self._beyond(look, edge, -theta)  # the density is symmetric

    def _beyond(self, look: int, edge: float, theta: float) -> float:
        """P(inside at all looks before, B at this one above the edge); the density under theta follows from that under 0."""
        import numpy as np

        before = self.times[look - 2]
        points, density = self._densities[look - 2]
        return _above(
            points,
            density * np.exp(theta * points - theta * theta * before / 2),
            edge,
            self.times[look - 1] - before,
            theta,
        )

    def power(self, theta: float) -> list[float]:
        """The probability of having found a difference until each look, on its right side, where the truth is theta."""
        total, found = 0.0, []
        for look in range(1, len(self.times) + 1):
            total += max(self.crossed(theta, look))
            found.append(total)
        return found

    def p_upper(self, theta: float, look: int, z: float) -> float:
        """The probability, under theta, of a result at least as high as z at a look, by the stage-wise ordering: a stop above the
        boundary at an earlier look is higher, one below the boundary lower than all that goes on."""
        earlier = math.fsum(self.crossed(theta, each)[0] for each in range(1, look))
        return earlier + self.crossed(theta, look, z)[0]

    def estimate(self, look: int, z: float, confidence: float = 0.95) -> Stopped:
        """The truth behind a test that stopped at a look with this z."""
        tail = (1 - confidence) / 2
        sign = 1.0 if z >= 0 else -1.0
        low, middle, high = (self._solve(look, abs(z), chance) for chance in (tail, 0.5, 1 - tail))
        ends = sorted((sign * low, sign * high))
        return Stopped(sign * middle, ends[0], ends[1], min(1.0, 2 * self.p_upper(0.0, look, abs(z))))

    def _solve(self, look: int, z: float, chance: float) -> float:
        """The theta under which a result at least as high as z has this probability."""
        centre = z / math.sqrt(self.times[look - 1])
        width = 12 / math.sqrt(self.times[0])
        low, high = centre - width, centre + width
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.p_upper(middle, look, z) < chance else (low, middle)
            if high - low < 1e-7:
                break
        return (low + high) / 2


@lru_cache(maxsize=4096)
def group_sequential(times: tuple[float, ...], alpha: float, spending: Spending = obrien_fleming) -> GroupSequential:
    """The boundaries of a two-sided test at these shares of the docs. ValueError for times that do not increase within (0, 1]."""
    if not times or any(not a < b for a, b in zip((0.0, *times), times, strict=False)) or times[-1] > 1 + 1e-12:
        raise ValueError(f"looks must be at increasing shares of the documents within (0, 1], not {times!r}")
    import numpy as np

    critical: list[float] = []
    inside: tuple[NDArray[Any], NDArray[Any]] | None = None
    for place, time in enumerate(times):
        new = max(spending(time, alpha) - (spending(times[place - 1], alpha) if place else 0.0), LEAST)
        root = math.sqrt(time)
        if inside is None:
            critical.append(quantile_above(new / 2))
        else:
            critical.append(_edge(inside, time - times[place - 1], new / 2) / root)
        points, weights = _points(critical[-1] * root)
        if inside is None:
            density = np.exp(-(points**2) / (2 * time)) / math.sqrt(2 * math.pi * time)
        else:
            density = _stepped(inside, points, time - times[place - 1])
        inside = points, density * weights
    return GroupSequential(times, alpha, tuple(critical), spending)


def equal_looks(count: int) -> tuple[float, ...]:
    """The times of so many looks after equal parts of the docs."""
    return tuple((place + 1) / count for place in range(count))


@lru_cache(maxsize=1)
def _legendre() -> tuple[NDArray[Any], NDArray[Any]]:
    from numpy.polynomial.legendre import leggauss

    points, weights = leggauss(NODES)
    return points, weights


def _points(edge: float) -> tuple[NDArray[Any], NDArray[Any]]:
    points, weights = _legendre()
    return points * edge, weights * edge


def _stepped(inside: tuple[NDArray[Any], NDArray[Any]], points: NDArray[Any], step: float) -> NDArray[Any]:
    """The density at some points, of paths that were inside before."""
    import numpy as np

    before, weighted = inside
    kernel = np.exp(-((points[:, None] - before[None, :]) ** 2) / (2 * step))
    found: NDArray[Any] = kernel @ weighted / math.sqrt(2 * math.pi * step)
    return found


def _above(points: NDArray[Any], weighted: NDArray[Any], edge: float, step: float, theta: float = 0.0) -> float:
    root = math.sqrt(2 * step)
    tails = [0.5 * math.erfc((edge - point - theta * step) / root) for point in points.tolist()]
    return math.fsum(weight * tail for weight, tail in zip(weighted.tolist(), tails, strict=True))


def _edge(inside: tuple[NDArray[Any], NDArray[Any]], step: float, chance: float) -> float:
    """The edge above which paths that were inside come with this probability: Newton's steps on its logarithm, in a bracket."""
    points, weighted = inside
    low, high, edge = 0.0, 40.0, float(points[-1])
    for _ in range(100):
        above = max(_above(points, weighted, edge, step), LEAST)
        low, high = (edge, high) if above > chance else (low, edge)
        density = float(_stepped(inside, points[:1] * 0 + edge, step)[0])
        found = edge + above * math.log(above / chance) / density if density > LEAST else low
        found = found if low < found < high else (low + high) / 2
        if abs(found - edge) < 1e-11:
            break
        edge = found
    return edge
