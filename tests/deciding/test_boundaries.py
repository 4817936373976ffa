"""Group-sequential boundaries against published tables, and what they promise against simulated tests."""

import math

import numpy as np
import pytest

from mm_eval.deciding.boundaries import equal_looks, group_sequential, obrien_fleming, pocock
from mm_eval.deciding.trial import power_of
from tests.sets import each_of


@each_of(
    ("looks", "critical"),
    [
        (1, [1.960]),
        (2, [2.963, 1.969]),
        (3, [3.710, 2.511, 1.993]),
        (4, [4.333, 2.963, 2.359, 2.014]),
        (5, [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_boundaries_of_obrien_and_fleming_are_those_of_the_tables(looks: int, critical: list[float]) -> None:
    """Lan and DeMets 1983 and the tables of their program, two-sided alpha 5%, equal looks."""
    assert group_sequential(equal_looks(looks), 0.05).critical == pytest.approx(critical, abs=6e-4)


@pytest.mark.parametrize(("looks", "critical"), [(2, [2.157, 2.201]), (5, [2.438, 2.427, 2.410, 2.397, 2.386])])
def test_boundaries_of_pocock_are_those_of_the_tables(looks: int, critical: list[float]) -> None:
    assert group_sequential(equal_looks(looks), 0.05, pocock).critical == pytest.approx(critical, abs=6e-4)


def test_the_spent_alpha_is_that_of_the_function_and_all_at_the_end() -> None:
    test = group_sequential((0.1, 0.35, 0.8, 1.0), 0.025)
    crossed = np.cumsum([sum(test.crossed(0.0, look)) for look in range(1, 5)])
    assert crossed == pytest.approx([obrien_fleming(time, 0.025) for time in test.times], abs=1e-9)
    assert crossed[-1] == pytest.approx(0.025) and test.spent(4) == 0.025


def brownian(count: int, times: tuple[float, ...], theta: float, seed: int) -> np.ndarray:
    """Z at each time of so many simulated trials."""
    steps = np.diff((0.0, *times))
    draws = np.random.default_rng(seed).normal(theta * steps, np.sqrt(steps), (count, len(times)))
    return np.cumsum(draws, axis=1) / np.sqrt(times)


def test_a_true_difference_stops_as_often_and_as_early_as_stated() -> None:
    times, theta = equal_looks(20), 3.24
    z, critical = brownian(20_000, times, theta, 1), np.array(group_sequential(times, 0.05).critical)
    crossed = np.abs(z) >= critical
    stop = np.where(crossed.any(axis=1), crossed.argmax(axis=1), 19)
    power, share = power_of(theta, times, 0.05)
    assert crossed.any(axis=1).mean() == pytest.approx(power, abs=0.01)
    assert np.array(times)[stop].mean() == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("theta", [0.0, 4.0])
def test_the_estimate_after_stopping_is_median_unbiased_and_its_interval_holds(theta: float) -> None:
    """What was measured is not: it is too far from 0 in trials that stop early."""
    times, count = equal_looks(5), 400
    test = group_sequential(times, 0.05)
    z = brownian(count, times, theta, 7)
    crossed = np.abs(z) >= np.array(test.critical)
    stop = np.where(crossed.any(axis=1), crossed.argmax(axis=1), 4)
    # An end of the interval, or the estimate, is the theta under which a result as high has this probability.
    chances = np.array([test.p_upper(theta, int(k) + 1, float(row[k])) for k, row in zip(stop, z, strict=True)])
    above = np.mean(chances < 0.5)
    assert above == pytest.approx(0.5, abs=4 * math.sqrt(0.25 / count))
    held = np.mean((chances >= 0.025) & (chances <= 0.975))
    assert held == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / count))
    if theta:
        naive = np.mean([row[k] / math.sqrt(times[k]) > theta for k, row in zip(stop, z, strict=True)])
        assert naive > above + 0.02


def test_the_estimate_is_symmetric_and_that_of_one_look_is_the_usual_one() -> None:
    test = group_sequential(equal_looks(5), 0.05)
    up, down = test.estimate(3, 2.9), test.estimate(3, -2.9)
    assert (down.theta, down.low, down.high, down.p) == pytest.approx((-up.theta, -up.high, -up.low, up.p), abs=1e-6)
    assert test.p_upper(up.low, 3, 2.9) == pytest.approx(0.025, abs=1e-6)
    alone = group_sequential((1.0,), 0.05).estimate(1, 2.5)
    assert (alone.theta, alone.low, alone.high) == pytest.approx((2.5, 2.5 - 1.95996, 2.5 + 1.95996), abs=1e-4)
    assert alone.p == pytest.approx(0.012419, abs=1e-5)


@each_of("times", [(), (0.5, 0.5), (0.0, 1.0), (0.5, 1.2)])
def test_times_that_do_not_increase_are_refused(times: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="increasing"):
        group_sequential(times, 0.05)
