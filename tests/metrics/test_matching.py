"""The assignment with the least cost, against all assignments of small tables."""

import itertools

import numpy as np
import pytest

from mm_eval.metrics.matching import assignment, matched


def test_no_assignment_costs_less() -> None:
    stream = np.random.default_rng(3)
    for _ in range(150):
        rows, columns = map(int, stream.integers(1, 6, 2))
        cost = stream.integers(0, 5, (rows, columns)) / 4
        given = assignment(cost)
        used = [column for column in given if column >= 0]
        assert len(used) == len(set(used)) == min(rows, columns)
        small = cost if rows <= columns else cost.T
        tried = itertools.permutations(range(max(rows, columns)), min(rows, columns))
        least = min(sum(small[row, column] for row, column in enumerate(each)) for each in tried)
        assert sum(cost[row, column] for row, column in enumerate(given) if column >= 0) == pytest.approx(least)


def test_texts_that_resemble_each_other_belong_together() -> None:
    assert matched(["apple pie", "plum jam", "tea"], ["plum yam", "apple pies"]) == [1, 0, -1]
    assert matched([], ["tea"]) == [] and matched(["tea"], []) == [-1]
