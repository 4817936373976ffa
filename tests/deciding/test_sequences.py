"""Intervals that hold at every moment at once."""

import numpy as np
import pytest

from mm_eval.deciding.sequences import LEAST_CLUSTERS, anytime, as_t, factor, half_width, mixture
from mm_eval.values.distributions import t_two_sided
from mm_eval.values.types import UNNAMED, Number


def a_number(value: float, stderr: float, clusters: int, rarer: int | None = None) -> Number:
    freedom = clusters - 1
    return Number(UNNAMED, value, stderr, n=clusters, clusters=clusters, freedom=freedom, rarer=rarer, scale=(0, 1))


def test_the_boundary_is_that_of_the_paper_and_narrowest_where_it_should_be() -> None:
    """Howard et al. 2021, the two-sided normal mixture: sqrt((v + r) log((v + r) / (r alpha^2)))."""
    r, n = mixture(500, 0.05), 300
    width = np.sqrt((n + r) * np.log((n + r) / (r * 0.05**2))) / n
    assert factor(n, 500) / np.sqrt(n) == pytest.approx(width)
    assert factor(500, 500) == min(factor(n, 500) for n in range(30, 3000, 10))


def test_looking_again_and_again_raises_few_false_alarms() -> None:
    values = np.random.default_rng(3).binomial(1, 0.7, (800, 1500)) - 0.7
    counts = np.arange(1, 1501)
    means = np.cumsum(values, axis=1) / counts
    errors = np.sqrt(np.maximum(np.cumsum(values**2, axis=1) / counts - means**2, 0) / (counts - 1.0).clip(1))
    looked = (counts >= LEAST_CLUSTERS) & (counts % 10 == 0)
    wide = np.array([as_t(factor(n, 750), n - 1) for n in counts[looked]])
    outside = [(np.abs(means[:, looked]) > by * errors[:, looked]).any(axis=1).mean() for by in (wide, 1.96)]
    assert outside[0] <= 0.05 < 0.3 < outside[1]


def test_few_clusters_have_no_interval_and_a_perfect_score_a_wide_one() -> None:
    assert anytime(a_number(0.5, 0.1, LEAST_CLUSTERS - 1), 100) is None
    low, high = anytime(a_number(1.0, 0.0, 100, rarer=0), 100) or (1, 1)
    assert high == 1 and 0.85 < low < 0.95
    assert half_width(a_number(0.5, 0.0, 100), 3.0) is None


def test_quantiles_of_student_hold_far_out() -> None:
    for z in (1.0, 3.0, 8.0):
        t = as_t(z, 20)
        assert t_two_sided(t, 20) == pytest.approx(t_two_sided(z, 1e9), rel=1e-4) and t > z
