"""Intervals and paired differences: they hold the truth as often as they say, and say when they do not."""

import math
import random

import pytest

from benchmarks.coverage import CASES, covered, nearly_all_right
from mm_eval.scoring.metrics.aggregation import mean, median, nanmean
from mm_eval.scoring.metrics.corpus import Bleu
from mm_eval.scoring.metrics.paired import estimate, flips, paired_difference, right_or_wrong
from mm_eval.scoring.metrics.stderr import mean_stderr
from mm_eval.scoring.metrics.traits import declare, in_range, smooth, stratified_by
from mm_eval.values.types import NO_SHARE
from tests.sets import few


def within(share, count):
    """93% to 97%, and where fewer are simulated the play of chance beside it."""
    slack = 0.0 if count >= 2000 else 3 * math.sqrt(0.05 * 0.95 / count)
    return 0.93 - slack <= share <= 0.97 + slack


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(case):
    simulate, truth = CASES[case](60)
    count = 2000 if "mean" in case else 200
    assert within(covered(simulate, count, truth), count)


@pytest.mark.slow
@pytest.mark.parametrize("pictures", [60, 120])
@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_truth_in_93_to_97_percent_of_2000_evaluations(case, pictures):
    simulate, truth = CASES[case](pictures)
    assert within(covered(simulate, 2000, truth), 2000)


@pytest.mark.parametrize(
    ("accuracy", "docs"), few([(0.95, 10), (0.95, 20), (0.98, 60), (0.9, 30), (0.05, 20)], at=[0, 4])
)
def test_an_interval_holds_where_nearly_all_docs_are_right_or_wrong(accuracy, docs):
    """Student's t held 39% at 0.95 with 10 docs: often no doc is wrong, and then it has no width."""
    simulate, truth = nearly_all_right(accuracy)(docs)
    assert covered(simulate, 1000, truth) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / 1000)
    assert all(simulate(random.Random(seed)).few for seed in range(50))


@pytest.mark.full
def test_an_interval_holds_where_nearly_no_doc_flips():
    def flipped(generator):
        first = [float(generator.random() < 0.7) for _ in range(40)]
        second = [1 - a if generator.random() < 0.03 else a for a in first]
        return paired_difference(mean, first, second)

    truth = 0.03 * (0.3 - 0.7)
    held = [low <= truth <= high for low, high in (flipped(random.Random(seed)).interval for seed in range(1000))]
    assert sum(held) >= 940


def test_few_of_a_kind_are_said():
    assert estimate(mean, [1.0] * 95 + [0.0] * 5).few and not estimate(mean, [1.0] * 95 + [0.0] * 10).few
    assert paired_difference(mean, [1.0] * 100, [1.0] * 95 + [0.0] * 5).few


def test_too_few_clusters_are_said():
    assert estimate(mean, [0.0, 1.0] * 20).few and not estimate(mean, [0.0, 1.0] * 30).few
    assert estimate(mean, [1.0]).interval is None and estimate(mean, [1.0]).note
    assert estimate(mean, [0.0, 1.0], ["a", "a"]).interval is None


def test_a_paired_difference_is_tighter_than_two_runs_apart():
    generator = random.Random(3)
    hard = [generator.gauss(0, 1) for _ in range(100)]
    first, second = [h + generator.gauss(0, 0.1) for h in hard], [h + generator.gauss(0.2, 0.1) for h in hard]
    found = paired_difference(mean, first, second)
    assert found.value == pytest.approx(mean(second) - mean(first))
    assert found.stderr == pytest.approx(mean_stderr([b - a for a, b in zip(first, second, strict=True)]))
    assert found.stderr < 0.2 * math.hypot(mean_stderr(first), mean_stderr(second))
    assert found.p_value < 1e-6 and found.docs_needed < 100
    assert found.smallest_visible(1) == pytest.approx(2.83 * found.stderr, rel=0.01)


@pytest.mark.parametrize(("clusters", "p"), [(3, 0.25), (8, 2**-7)])
def test_docs_that_all_change_alike_are_as_sure_as_their_number(clusters, p):
    """Without spread there is no standard error to divide by; few docs may agree in their sign by chance."""
    groups = [doc % clusters for doc in range(2 * clusters)]
    first, second = [0.25] * len(groups), [0.75] * len(groups)
    found = paired_difference(mean, first, second, groups)
    assert (found.value, found.stderr, found.interval) == (0.5, 0, None) and found.p_value == pytest.approx(p)


def test_no_change_is_no_difference():
    values = [float(i % 3 == 0) for i in range(90)]
    found = paired_difference(mean, values, values)
    assert (found.value, found.stderr, found.p_value, found.docs_needed) == (0, 0, 1, None)


def test_docs_needed_shrink_the_interval_to_the_difference():
    changes = [1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] * 10
    found = paired_difference(mean, [0.0] * 100, changes)
    more = paired_difference(mean, [0.0] * found.docs_needed, (changes * 20)[: found.docs_needed])
    assert more.value / more.stderr == pytest.approx(2.8, rel=0.05)


def test_a_stratified_jackknife_of_pairs_equals_that_of_differences_where_it_must():
    """A sum of category means is linear, so that pairing by function and pairing by value agree."""

    @stratified_by("category")
    def total(values):
        found = {}
        for value in values:
            found.setdefault(value["category"], []).append(value["score"])
        return sum(mean(scores) for scores in found.values())

    generator = random.Random(5)
    first = [{"category": "ab"[i % 2], "score": generator.gauss(0, 1)} for i in range(40)]
    second = [{**value, "score": value["score"] + generator.gauss(0.5, 0.3)} for value in first]
    apart = [{**b, "score": b["score"] - a["score"]} for a, b in zip(first, second, strict=True)]
    by_value, by_function = estimate(total, apart), paired_difference(total, first, second)
    assert by_function.value == pytest.approx(by_value.value)
    assert by_function.stderr == pytest.approx(by_value.stderr)
    assert by_function.freedom == 38


def test_corpus_metrics_are_paired_by_their_sums():
    texts = [
        f"the {word} sat on the {thing} mat" for word in ("cat", "dog", "cow") for thing in ("red", "old", "wet", "big")
    ]
    pairs = [([text], text) for text in texts]
    worse = [([text], text.replace("sat on", "was at") if "cat" in text else text) for text in texts]
    metric = Bleu()
    found = paired_difference(metric.aggregation, pairs, worse)
    assert found.value == pytest.approx(metric.aggregation(worse) - metric.aggregation(pairs))
    assert found.stderr is not None and found.interval[1] < 0


def test_a_median_is_drawn_anew_in_pairs():
    first = [float(i) for i in range(41)]
    found = paired_difference(median, first, [value + 1 for value in first])
    assert found.value == 1 and found.stderr == pytest.approx(0, abs=1e-12)


def test_flips_are_mcnemars_table():
    first = {0: 1.0, 1: 1.0, 2: 0.0, 3: 0.0, 4: 0.0}
    second = {0: 1.0, 1: 0.0, 2: 1.0, 3: 1.0, 4: 0.0, 9: 1.0}
    found = flips(first, second)
    assert (found.both_right, found.both_wrong, found.gained, found.lost) == (1, 1, (2, 3), (1,))
    assert found.p_value == 1.0
    assert flips({0: 0.5}, {0: 1.0}) is None and flips({}, {}) is None
    assert right_or_wrong({"score": 1.0, "category": "x"}) is True and right_or_wrong("yes") is None


def test_the_interval_of_a_fraction_stays_on_its_scale() -> None:
    high = estimate(mean, [1.0, 0.9, 0.7])
    low, top = high.interval or (0.0, 0.0)
    assert top == 1.0 and 0 < low < high.value and high.margin is None and high.exact is None
    points = estimate(mean, [10.0, 9.0, 7.0])
    assert points.margin and (points.interval or (0, 0))[1] > 10, "points have no scale"
    rate = declare(fraction=True)(smooth(lambda values: math.fsum(values) / len(values)))
    assert (estimate(rate, [1.0, 0.9, 0.7]).interval or (0, 0))[1] == 1.0
    changed = paired_difference(mean, [0.1, 0.9, 0.2], [0.9, 0.9, 0.9])
    assert changed.interval and changed.interval[0] >= -1 and changed.interval[1] <= 1.0


def test_a_nan_that_a_mean_leaves_out_makes_its_interval_no_narrower() -> None:
    """nanmean: the docs without a number are no docs of the number, neither for its interval nor for an exact one."""
    without = [math.nan] * 95
    for marks in ([1.0, 0.0, 0.0], [0.3, 0.9, 0.35], [1.0] * 5):
        clusters = [*range(len(marks)), *range(100, 195)]
        found, wanted = estimate(nanmean, marks + without, clusters), estimate(mean, marks)
        assert found.interval == wanted.interval and found.interval and found.freedom == len(marks) - 1


@pytest.mark.parametrize("ends", [NO_SHARE, (0.0, 5.0)])
def test_values_that_are_all_0_or_1_by_chance_are_no_share_of_right_documents(ends: tuple[float, float]) -> None:
    """One answer for each document: another document may take 7, so no interval of a share holds."""
    counts = in_range(mean, ends)
    for values in ([1.0] * 20, [0.0] * 20, [0.0] * 19 + [1.0]):
        found, stated = estimate(counts, values), estimate(mean, values)
        assert found.exact is None and stated.exact is not None
        assert (found.stderr == 0) == bool(found.note)
    for second in ([1.0] * 20, [0.0] * 19 + [1.0]):
        assert paired_difference(counts, [0.0] * 20, second).exact is None
    assert estimate(in_range(mean, (0.0, 1.0)), [1.0] * 20).exact is not None
