"""Student's t, the beta distribution, the sign test and Holm's correction. scipy would add 100 MB for these functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

CONFIDENCE, POWER = 0.95, 0.80
"""Of the intervals, and of the differences that are called detectable."""


def t_two_sided(t: float, freedom: float) -> float:
    """The probability of a value at least as far from 0 as `t` under Student's distribution."""
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@lru_cache(maxsize=1024)
def t_quantile(chance: float, freedom: float) -> float:
    """The quantile of Student's distribution for a probability between 0.5 and 1."""
    low, high = 0.0, 1.0
    while t_two_sided(high, freedom) / 2 > 1 - chance:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_two_sided(middle, freedom) / 2 > 1 - chance else (low, middle)
    return (low + high) / 2


@lru_cache(maxsize=1024)
def beta_quantile(chance: float, a: float, b: float) -> float:
    """The quantile of the beta distribution."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _incomplete_beta(a, b, middle) < chance else (low, middle)
    return (low + high) / 2


def sign_test(first: int, second: int) -> float:
    """Two-sided p-value of `first` against `second` fair coin tosses: McNemar's exact test of the docs that flipped."""
    n, k = first + second, min(first, second)
    if n == 0:
        return 1.0
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) - n * math.log(2) for i in range(k + 1)]
    return min(1.0, 2 * math.fsum(math.exp(log) for log in logs))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979): the smallest times n, the next times n - 1, never decreasing."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = largest
    return corrected


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    tiny = 1e-300
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    fraction = d
    for m in range(1, 500):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + step * d, tiny)
            c = _away_from_zero(1 + step / c, tiny)
            fraction *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return front * fraction / a


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
