"""The bounds of `same` hold for any distribution, and are narrow where nearly all documents are equal."""

import numpy as np
import pytest

from mm_eval.verbs.same.bounds import bounds, needed, smallest_found


@pytest.mark.parametrize(
    ("values", "chances"), [((-1, 0, 1), (0.2, 0.6, 0.2)), ((-1, 0), (0.05, 0.95)), ((-0.5, 0, 1), (0.4, 0.4, 0.2))]
)
def test_each_bound_is_wrong_with_at_most_its_level(values, chances):
    draw, mean, wrong = np.random.default_rng(1), float(np.dot(values, chances)), [0, 0]
    for _ in range(300):
        low, high = bounds(draw.choice(values, 150, p=chances), 0.1)
        wrong[0] += low > mean
        wrong[1] += high < mean
    assert max(wrong) <= 30 + 12  # 10% of 300, and 2.3 standard errors


def test_equal_documents_bound_the_difference_by_their_number():
    low, high = bounds([0.0] * 200, 0.01)
    assert high == pytest.approx(0.0311, abs=1e-4) and low == -high
    assert bounds([0.0] * 100, 0.01)[1] > 0.05 > bounds([0.0] * 130, 0.01)[1]
    assert bounds([], 0.01) == (-1.0, 1.0)
    low, high = bounds([1.0] * 50 + [0.0] * 50, 0.01)
    assert 0.3 < low < 0.5 < high < 0.7


def test_the_documents_that_are_needed_are_those_that_decide():
    count = needed([0.0], -0.05, 0.01)
    assert count is not None
    assert bounds([0.0] * count, 0.01)[1] <= 0.05 + 2e-3 and bounds([0.0] * (count - 5), 0.01)[1] > 0.05
    assert needed([0.0], 0.05, 0.01) is None  # zeros are never above it
    assert needed([1.0, 0.0], 0.05, 0.01) < 40  # type: ignore[operator]


def test_the_smallest_difference_is_found_by_so_many_documents_and_no_smaller_one():
    share = smallest_found(200, 0.05, 0.01)
    assert share is not None
    differing = round(share * 200)
    assert bounds([1.0] * (differing + 1) + [0.0] * (199 - differing), 0.01)[0] > 0.05
    assert bounds([1.0] * (differing - 1) + [0.0] * (201 - differing), 0.01)[0] < 0.05
    assert smallest_found(3, 0.05, 0.01) is None
