"""Student's t, the sign test and Holm's correction against the values of printed tables."""

import math

import pytest

from mm_eval.metrics.intervals import holm, sign_test, t_quantile, t_two_sided


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (5, 2.57058), (10, 2.22814), (59, 2.00100), (1000, 1.96234), (1e6, 1.95997)]
)
def test_quantiles_are_those_of_the_tables(freedom, quantile):
    assert t_quantile(0.975, freedom) == pytest.approx(quantile, rel=1e-5)
    assert t_two_sided(quantile, freedom) == pytest.approx(0.05, rel=1e-4)


def test_the_distribution_is_even_and_ends_at_one_and_zero():
    assert t_two_sided(0, 7) == 1 and t_two_sided(math.inf, 7) == 0
    assert t_two_sided(-1.3, 7) == t_two_sided(1.3, 7)


def test_sign_test_is_the_binomial_sum():
    exact = 2 * sum(math.comb(12, k) for k in range(4)) / 2**12
    assert sign_test(3, 9) == sign_test(9, 3) == pytest.approx(exact)
    assert sign_test(0, 0) == 1 and sign_test(5, 5) == 1
    assert 0 < sign_test(10_000, 11_000) < 1e-10


def test_holm_multiplies_by_what_is_left_and_never_decreases():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []
