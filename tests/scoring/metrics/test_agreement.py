"""Agreement of judges, their noise, and the number corrected for their errors: known values, and how often intervals hold."""

import math
import random
import time

import pytest

from benchmarks.coverage import CORRECTED_CASES, JUDGED_CASES, covered
from mm_eval.judge.agreement import (
    agreement,
    corrected,
    corrected_interval,
    correlation,
    is_nominal,
    kappa,
    measure,
    noise_share,
    spearman,
)
from mm_eval.values.errors import ScoringError


def test_kappa_and_spearman_have_their_known_values():
    one = ["a"] * 25 + ["b"] * 25
    other = ["a"] * 20 + ["b"] * 5 + ["a"] * 10 + ["b"] * 15
    assert kappa(one, other) == pytest.approx(0.4)  # Cohen's example: 70% agree, 50% by chance
    assert kappa([1, 0, 1, 0], [0, 1, 0, 1]) == pytest.approx(-1)
    assert kappa([1, 1], [1, 1]) == 1
    assert spearman([1, 2, 3, 4], [10, 20, 30, 1000]) == pytest.approx(1)
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486832980505138)  # scipy.stats.spearmanr
    assert math.isnan(spearman([1, 1], [1, 2]))


def test_verdicts_that_are_classes_get_kappa_and_numbers_a_difference():
    assert is_nominal([1, 0, 1.0, True]) and is_nominal(["A", "B"]) and not is_nominal([0, 0.5])
    of_classes = agreement([1.0, 0.0, 1.0, 1.0, 0.0, 0.0] * 10, [1, 0, 0, 1, 0, 0] * 10)
    assert of_classes.kappa is not None and of_classes.difference is None
    assert of_classes.equal.value == pytest.approx(5 / 6) and of_classes.differing == tuple(range(2, 60, 6))
    low, high = of_classes.kappa.interval
    assert -1 <= low < of_classes.kappa.value < high <= 1
    of_numbers = agreement([0.2, 0.5, 1.0, 0.0, 0.7], [0.3, 0.5, 1.0, 0.1, 0.9])
    assert of_numbers.kappa is None and of_numbers.difference.value == pytest.approx(0.08)
    assert of_numbers.spearman.value == pytest.approx(1)


def test_docs_of_one_cluster_are_drawn_together():
    generator = random.Random(3)
    first, second = [], []
    for _ in range(30):
        agree = generator.random() < 0.7  # the judges differ on whole pictures
        for _ in range(4):
            verdict = float(generator.random() < 0.5)
            first.append(verdict)
            second.append(verdict if agree else 1 - verdict)
    alone, together = agreement(first, second), agreement(first, second, [i // 4 for i in range(120)])
    assert together.kappa.value == alone.kappa.value and together.kappa.stderr > 1.5 * alone.kappa.stderr


def test_judges_that_never_differ_get_no_interval_of_width_zero():
    found = agreement([1, 0] * 30, [1, 0] * 30).kappa
    assert found.value == 1 and found.interval[1] == 1 and 0.8 < found.interval[0] < 0.95
    assert "kappa is undefined" in agreement([1] * 30, [1] * 30).kappa.note


def test_nothing_is_said_where_nothing_can_be():
    with pytest.raises(ScoringError, match="no document has verdicts of both"):
        agreement([], [])
    with pytest.raises(ScoringError, match="texts and some are numbers"):
        agreement(["A", 0.5], ["B", 0.5])
    assert correlation([1, 1, 1], [1, 2, 3]) is None and correlation([1, 2], [1, 2]) is None
    assert noise_share([[1.0], [0.0]]) is None and noise_share([[1, 1], [1, 1]]) is None


def test_the_share_of_noise_is_none_where_repeats_agree_and_all_where_docs_do():
    assert noise_share([[1, 1], [0, 0], [1, 1]]).value == 0
    assert noise_share([[1, 0], [0, 1], [1, 0], [0, 1]]).value == 1
    found = noise_share([[0.2, 0.4, 0.3], [0.9, 0.8, 1.0], [0.5], [0.1, 0.1, 0.4]])
    assert 0 <= found.interval[0] < found.value < found.interval[1] <= 1 and found.n == 3


def test_the_corrected_number_is_that_of_the_paper_and_stays_within_0_and_1():
    assert corrected(0.55, 0.9, 0.8) == pytest.approx((0.55 + 0.8 - 1) / 0.7)
    assert corrected(0.95, 0.9, 0.9) == 1 and corrected(0.01, 0.9, 0.9) == 0
    p, right, wrong, z = (165 + 1.959964**2 / 2) / (300 + 1.959964**2), 46 / 52, 41 / 52, 1.959964
    value, slope = (p + wrong - 1) / (right + wrong - 1), right + wrong - 1
    of_right, of_wrong = right * (1 - right) / 52, wrong * (1 - wrong) / 52
    centre = value + 2 * z**2 * (value * of_right - (1 - value) * of_wrong)
    stderr = math.sqrt(p * (1 - p) / (300 + z**2) + (1 - value) ** 2 * of_wrong + value**2 * of_right) / slope
    found = corrected_interval(0.55, 300, 0.9, 50, 0.8, 50)
    assert found == pytest.approx((centre - z * stderr, centre + z * stderr), abs=1e-4)
    low, high = corrected_interval(0.95, 100, 0.9, 50, 0.9, 50)
    assert 0 <= low < high == 1
    low, high = corrected_interval(0.5, 1000, 1.0, 10, 1.0, 10)
    assert high - low > 0.1, "a judge without an error on 20 labels may still make some"


def test_a_judge_no_better_than_chance_is_refused():
    for shares in ((0.5, 0.5), (0.2, 0.7)):
        with pytest.raises(ScoringError, match="sum to at most 1"):
            corrected(0.5, *shares)
    with pytest.raises(ScoringError, match="labelled wrong"):
        measure([True, False], [True, None])
    with pytest.raises(ScoringError, match="sum to at most 1"):
        measure([True, False] * 10, [False, True] * 10)


def test_labels_in_clusters_count_for_less():
    verdicts = ([True] * 4 + [False] * 4) * 20
    labels = ([True] * 4 + [False] * 4) * 15 + ([False] * 4 + [True] * 4) * 5
    alone = measure(verdicts, labels)
    together = measure(verdicts, labels, [place // 4 for place in range(160)])
    assert alone.sensitivity[0] == together.sensitivity[0] == pytest.approx(0.75)
    assert alone.positives == together.positives == 80
    assert _width(together.corrected) > 1.3 * _width(alone.corrected)


def _width(found):
    return found[1][1] - found[1][0]


@pytest.mark.full
@pytest.mark.parametrize("case", JUDGED_CASES)
def test_intervals_of_judged_numbers_hold_the_truth(case):
    simulate, truth = JUDGED_CASES[case](200)
    assert covered(simulate, 300, truth) >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 300)


def test_only_the_corrected_number_holds_the_truth():
    shares = {}
    for name, case in CORRECTED_CASES.items():
        simulate, truth = case(90)
        shares[name] = covered(simulate, 300, truth)
    plain, among, others = shares.values()
    assert plain < 0.2 and among >= 0.95 and others >= 0.91


@pytest.mark.full
def test_100_000_docs_take_seconds():
    generator = random.Random(0)
    first = [float(generator.random() < 0.6) for _ in range(100_000)]
    second = [mark if generator.random() < 0.9 else 1 - mark for mark in first]
    graded = [generator.choice((0.0, 0.3, 0.5, 1.0)) for _ in range(100_000)]
    began = time.process_time()
    found = agreement(first, second, [place // 2 for place in range(100_000)])
    numbers = agreement(graded, [min(1.0, grade + 0.1) for grade in graded])
    measured = measure(
        [mark == 1 for mark in first], [mark == 1 if place % 4 else None for place, mark in enumerate(second)]
    )
    assert time.process_time() - began < 60
    assert (
        found.kappa.value == pytest.approx(0.79, abs=0.01)
        and numbers.spearman.value > 0.99
        and measured.judged == 100_000
    )
