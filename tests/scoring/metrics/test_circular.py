"""Circular accuracy: which groups count, and its standard error."""

import math

import pytest

from mm_eval.scoring.metrics import AGGREGATIONS, circular_accuracy, mean_stderr, standard_error
from mm_eval.values.errors import ScoringError


def test_a_group_is_right_only_with_every_row() -> None:
    rows = [("a", 1.0, 2), ("b", 1.0, 3), ("a", 1.0, 2), ("b", 0.0, 3), ("b", 1.0, 3), ("c", 1.0, 1)]
    assert circular_accuracy(rows) == 2 / 3
    assert circular_accuracy(rows[::-1]) == 2 / 3
    assert AGGREGATIONS.get("circular_accuracy") is circular_accuracy


def test_a_group_with_missing_rows_is_left_out_whatever_its_other_rows_are() -> None:
    whole = [("a", 1.0, 2), ("a", 0.0, 2), ("b", 1.0, 1)]
    assert circular_accuracy([*whole, ("c", 1.0, 4), ("c", 1.0, 4)]) == 0.5
    assert circular_accuracy([*whole, ("c", 0.0, 4)]) == 0.5
    with pytest.raises(ScoringError, match="--limit"):
        circular_accuracy([("a", 1.0, 2), ("b", 1.0, 2)])


@pytest.mark.parametrize("groups", [6, 1164])
def test_the_standard_error_is_that_of_a_mean_over_groups(groups: int) -> None:
    rows, hits = [], []
    for group in range(groups):
        size = 2 + group % 3
        row_hits = [float((group * 7 + row) % 5 > 0) for row in range(size)]
        rows += [(group, hit, size) for hit in row_hits]
        hits.append(float(all(row_hits)))
    found = standard_error(circular_accuracy, rows, [row[0] for row in rows]).value
    wanted = mean_stderr(hits)
    assert found is not None and wanted is not None
    assert math.isclose(found, wanted, rel_tol=1e-9)
