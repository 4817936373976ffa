"""Circular accuracy: which groups count, and its standard error."""

import math

import pytest

from mm_eval.scoring.metrics.aggregation import circular_accuracy
from mm_eval.scoring.metrics.metric import AGGREGATIONS
from mm_eval.scoring.metrics.stderr import mean_stderr, standard_error
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


def test_all_right_and_nearly_all_right_have_the_exact_interval_of_so_many_questions() -> None:
    from mm_eval.scoring.metrics.paired import estimate, paired_difference
    from mm_eval.scoring.metrics.stderr import exact_share

    def rows(right: list[int]) -> list[tuple[int, int, int]]:
        return [(group, hit, 4) for group, hit in enumerate(right) for _ in range(4)]

    clusters = [group for group, _, _ in rows([1] * 20)]
    for right in (20, 18, 0):
        found = estimate(circular_accuracy, rows([1] * right + [0] * (20 - right)), clusters)
        assert found.exact == pytest.approx(exact_share(right, 20), abs=0.02) and found.scale == (0, 1), right
    assert estimate(circular_accuracy, rows([1, 0] * 30), [group for group, _, _ in rows([1] * 60)]).exact is None
    same = paired_difference(circular_accuracy, rows([1] * 20), rows([1] * 20), clusters)
    assert same.value == 0 and same.exact is not None and same.exact[1] == -same.exact[0] > 0.1 and same.n == 80
