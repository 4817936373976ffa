"""Distributions against printed tables, and intervals where nothing varies: all docs right, all wrong, none flipped."""

import math
import random

import pytest
from mm_eval.tasks.mme.utils import mme_aggregate_results

from mm_eval.scoring.metrics.aggregation import mean, mean_of_means, median
from mm_eval.scoring.metrics.corpus import Bleu
from mm_eval.scoring.metrics.paired import estimate, paired_difference, with_interval
from mm_eval.scoring.metrics.stderr import (
    combined,
    exact_share,
    freedom_of,
    mean_stderr,
    share_interval,
)
from mm_eval.values.distributions import holm, sign_test, t_quantile, t_two_sided
from mm_eval.values.types import UNNAMED, Number
from tests.sets import each_of


@each_of(
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


@each_of(
    ("right", "count", "low", "high"),
    [(0, 24, 0.0, 0.1424736), (24, 24, 0.8575264, 1.0), (1, 24, 0.0010544, 0.2112017), (8, 10, 0.4439045, 0.9747893),
     (5, 10, 0.1870860, 0.8129140)],
)  # fmt: skip
def test_the_exact_interval_is_clopper_and_pearsons(right, count, low, high):
    assert exact_share(right, count) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("mark", [True, False])
def test_docs_of_one_picture_count_once_where_nothing_varies(mark):
    alone, together = share_interval([mark] * 30), share_interval([mark] * 30, [i // 2 for i in range(30)])
    width = 1 - 0.025 ** (1 / 15)
    assert together[1] - together[0] == pytest.approx(width)
    assert alone[1] - alone[0] < width


def test_docs_that_are_drawn_together_widen_the_interval():
    marks = [True] * 52 + [False] * 8
    alone, together = share_interval(marks), share_interval(marks, [i // 4 for i in range(60)])
    assert together[0] < alone[0] < 52 / 60 < alone[1] < together[1]
    assert share_interval([True, False] * 5, [i // 2 for i in range(10)]) == pytest.approx(exact_share(5, 10), abs=0.08)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_an_accuracy_of_nothing_or_all_has_an_interval(value):
    found = estimate(mean, [value] * 24)
    assert (found.value, found.stderr, found.margin) == (value, 0.0, None)
    assert found.exact == found.interval == pytest.approx(exact_share(24 * value, 24))


def of_mme(score, categories=("a",), pictures=15):
    places = [(name, i) for name in categories for i in range(pictures) for _ in "12"]
    return [{"category": name, "question_id": f"{name}{i}", "score": score} for name, i in places]


def test_a_sum_of_categories_has_one_too():
    values = of_mme(1.0)
    clusters = [value["question_id"] for value in values]
    room = 200 * (1 - 0.025 ** (1 / 15))
    assert estimate(mme_aggregate_results, values, clusters).interval == pytest.approx((200 - room, 200))
    assert estimate(mme_aggregate_results, of_mme(0.0), clusters).interval == pytest.approx((0, room))
    uneven = of_mme(1.0) + of_mme(1.0, ("b",), 100)
    found = estimate(mme_aggregate_results, uneven, [value["question_id"] for value in uneven])
    assert found.interval == pytest.approx((400 - 400 * (1 - 0.025 ** (1 / 30)), 400)), "the small category decides"


UNSEEN = 1 - 0.025 ** (1 / 6)
"""The share of clusters of another kind that six equal ones can hide."""


@pytest.mark.parametrize(("mark", "low", "high"), [(1.0, 1 - UNSEEN, 1.0), (0.0, 0.0, UNSEEN)])
def test_a_macro_average_of_nothing_or_all_has_one_too(mark, low, high):
    pairs = [(category, mark) for category in "ab" for _ in range(3)]
    assert estimate(mean_of_means, pairs).exact == pytest.approx((low, high))
    read = [list(pair) for pair in pairs]  # as samples/ has them
    assert with_interval(Number(UNNAMED, mark, 0.0), mean_of_means, read).exact == pytest.approx((low, high))


def test_a_cluster_in_several_categories_counts_once():
    """Six photos, each asked about in four rotations: 24 strata times clusters would claim far too much."""
    pairs = [(str(rotation), 1.0) for _ in range(6) for rotation in range(4)]
    clusters = [photo for photo in range(6) for _ in range(4)]
    assert estimate(mean_of_means, pairs, clusters).exact == pytest.approx((1 - UNSEEN, 1.0))


def test_equal_clusters_of_right_and_wrong_docs_can_hide_others_at_both_ends():
    """One rotation of four is right for each photo: nothing varies between photos, and the number lies inside its scale."""
    pairs = [(str(rotation), float(rotation == 0)) for _ in range(6) for rotation in range(4)]
    clusters = [photo for photo in range(6) for _ in range(4)]
    found = estimate(mean_of_means, pairs, clusters)
    assert (found.value, found.stderr) == (0.25, 0.0)
    assert found.exact == pytest.approx((0.25 - 0.25 * UNSEEN, 0.25 + 0.75 * UNSEEN))
    # the rarest truth that the interval leaves out shows six equal photos with a probability of 2.5%
    assert pytest.approx(0.025) == (1 - UNSEEN) ** 6
    values = [{"category": "a", "question_id": str(n), "score": score} for n in range(6) for score in (1.0, 0.0)]
    of_mme_pairs = estimate(mme_aggregate_results, values, [value["question_id"] for value in values])
    assert of_mme_pairs.exact == pytest.approx((50 - 50 * UNSEEN, 50 + 150 * UNSEEN))


def test_a_median_that_does_not_vary_says_nothing_about_equal_clusters():
    found = estimate(median, [1.0] * 58 + [0.0, 0.0])
    assert found.stderr == 0 and found.exact is None and "scored the same" in found.note


def test_no_flip_is_no_proof_that_none_can_be():
    found = paired_difference(mean, [1.0, 0.0] * 12, [1.0, 0.0] * 12)
    assert found.interval == pytest.approx((-0.1424736, 0.1424736), abs=1e-6) and found.p_value == 1.0
    values = of_mme(1.0)
    pairs = paired_difference(mme_aggregate_results, values, values, [value["question_id"] for value in values])
    assert pairs.interval == pytest.approx((-43.6038722, 43.6038722)) and pairs.p_value == 1.0
    fractions = [i / 10 for i in range(10)]
    assert paired_difference(mean, fractions, fractions).interval == pytest.approx((-0.3084971, 0.3084971))


def test_few_flips_need_the_sign_test_too():
    found = paired_difference(mean, [0.0] * 24, [1.0] * 4 + [0.0] * 20)
    assert found.p_value == pytest.approx(0.125) and found.interval[0] < 0 < found.interval[1]
    every = paired_difference(mean, [0.0] * 24, [1.0] * 24)
    assert every.p_value < 1e-6 and every.interval[0] > 0.75 and every.interval[1] == 1.0


def test_what_has_no_known_range_has_no_interval_where_nothing_varies():
    for found in (
        estimate(mean, [-2.5] * 30),
        paired_difference(mean, [-2.5] * 30, [-2.5] * 30),
        estimate(Bleu().aggregation, [(["a b c d"], ["a b c d"])] * 9),
    ):
        assert found.stderr == 0 and found.interval is None and "scored the same" in found.note


def test_the_note_on_no_spread_does_not_say_that_unequal_values_are_equal():
    photos = [0, 0, 1, 1, 2, 2]
    same, alike = "every document scored the same.", "every document changed by the same amount."
    assert estimate(mean, [3.0] * 6, photos).note == same
    assert estimate(mean, [1.0, 5.0] * 3, photos).note == f"the spread is 0 as if {same}"
    assert estimate(median, [3.0] * 40 + [9.0]).note == f"the spread is 0 as if {same}"
    assert paired_difference(mean, [2.0] * 6, [2.0] * 6).note == same
    assert paired_difference(mean, [1.0, 5.0] * 3, [2.0, 6.0] * 3).note == alike
    assert paired_difference(mean, [1.0, 5.0] * 3, [2.0, 9.0] * 3, photos).note == f"the spread is 0 as if {alike}"


def test_parts_add_up_as_their_squares():
    assert combined(1.0, [(0.3, 0.0), (0.4, 0.1)]) == pytest.approx((0.5, 1.1))
    assert math.isclose(combined(0.0, [])[0], 0.0)


def test_freedom_is_that_of_equal_clusters_and_falls_with_a_large_one():
    assert freedom_of([3] * 8) == 7 and freedom_of([4]) == freedom_of([]) == 1
    assert 3.5 < freedom_of([1] * 300 + [300]) < 4.5 and 28 < freedom_of([1, 1, 1, 1, 1, 2] * 6) < 35


def test_the_spread_of_clusters_of_several_sizes_is_unbiased():
    """CR2 for values that are independent: its mean square is the variance of the mean. What is printed is the plain one."""
    generator, sizes, squares, means = random.Random(7), [1] * 10 + [10], [], []
    where = [number for number, size in enumerate(sizes) for _ in range(size)]
    for _ in range(2000):
        values = [generator.gauss(0, 1) for _ in where]
        number = estimate(mean, values, where)
        assert number.stderr == mean_stderr(values, where) and number.lacking >= 1
        squares.append((number.stderr * number.lacking) ** 2)
        means.append(math.fsum(values) / len(values))
    assert math.fsum(squares) / len(squares) == pytest.approx(1 / len(where), rel=0.06)


def test_the_standard_error_is_the_plain_one_over_clusters():
    values, where = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0], ["a", "a", "a", "b", "c", "c"]
    centre = sum(values) / 6
    totals = {key: sum(v - centre for v, k in zip(values, where, strict=True) if k == key) for key in "abc"}
    plain = math.sqrt(3 / 2 * sum(total**2 for total in totals.values())) / 6
    assert mean_stderr(values, where) == pytest.approx(plain, rel=1e-12)


@pytest.mark.full
@pytest.mark.parametrize("sizes", [[1] * 100 + [100], [20, 20, 1, 1, 1, 1, 1, 1, 1, 1]])
def test_an_interval_holds_where_one_picture_has_many_of_the_questions(sizes):
    """It held in 66% and 81%: the large cluster draws the mean towards itself, and there is little else to tell the spread by."""
    generator, held, marked = random.Random(5), 0, 0
    where = [number for number, size in enumerate(sizes) for _ in range(size)]
    for _ in range(300):
        shared = [generator.gauss(0, 0.3**0.5) for _ in sizes]
        values = [shared[number] + generator.gauss(0, 0.7**0.5) for number in where]
        found = estimate(mean, values, where)
        assert found.few, "also where there are 101 clusters"
        low, high = found.interval
        held += low <= 0 <= high
        common = [generator.random() < 0.5 for _ in sizes]
        marks = [common[number] if generator.random() < 0.5 else generator.random() < 0.5 for number in where]
        low, high = share_interval(marks, where)
        marked += low <= 0.5 <= high
    assert held > 0.92 * 300 and marked > 0.92 * 300
