"""The assignment with the least cost, against all assignments of small tables."""

import itertools
import random

import numpy as np
import pytest
from mm_eval.tasks.rules.matching import Packed, assignment, distances, matched

from mm_eval.scoring.metrics import bounds
from mm_eval.scoring.metrics.generation import edit_distance
from tests.sets import each_of


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


AS_IN_SCIPY = [  # what linear_sum_assignment of scipy 1.10.1 gives where several assignments cost the same
    ([[1, 1, 1], [1, 1, 1]], [0, 1]),
    ([[1, 1], [1, 1], [1, 1]], [0, 1, -1]),
    ([[0.5, 0.5, 0.5], [0.5, 0.5, 1], [1, 0.5, 0.5]], [0, 1, 2]),
    ([[1, 1, 0, 1], [0, 1, 0, 1], [1, 1, 1, 1]], [2, 0, 1]),
    ([[0.75, 0.5, 0.75], [0.5, 0.5, 0.5], [0.75, 0.5, 0.75], [0.5, 0.75, 0.5]], [1, 0, -1, 2]),
]


@each_of(("cost", "given"), AS_IN_SCIPY)
def test_of_equal_assignments_it_is_the_one_of_scipy(cost: list[list[float]], given: list[int]) -> None:
    assert assignment(np.array(cost)) == given


def test_texts_side_by_side_have_the_same_distances_as_alone() -> None:
    stream = random.Random(4)
    for _ in range(200):
        texts = [
            "".join(stream.choices("abc", k=stream.choice([0, 1, 5, 40, 90]))) for _ in range(stream.randint(0, 6))
        ]
        text = "".join(stream.choices("abcd", k=stream.choice([0, 1, 7, 100])))
        assert Packed(texts).distances(text) == [edit_distance(text, other) for other in texts]
    assert distances(["ab", ""], ["", "abc"]).tolist() == [[1, 1 / 3], [0, 1]]
    assert distances([], ["a"]).shape == (0, 1) and distances(["a"], []).shape == (1, 0)


def test_texts_that_resemble_each_other_belong_together() -> None:
    assert matched(["apple pie", "plum jam", "tea"], ["plum yam", "apple pies"]) == [1, 0, -1]
    assert matched([], ["tea"]) == [] and matched(["tea"], []) == [-1]


def test_texts_that_take_too_long_to_match_have_no_partner_and_are_reported() -> None:
    gold = [f"Paragraph {number} of the page." for number in range(50)]
    answer = [f"Text {number} here." for number in range(60_000)]
    with bounds.reports() as found:
        assert matched(gold, answer) == [-1] * len(gold)
    assert len(found) == 1 and "the matching of texts" in found[0]
    with bounds.reports() as found:
        assert matched(answer, answer) == list(range(len(answer)))
        assert matched(gold, ["the same text"] * 1000).count(-1) == 0
    assert not found
