"""Standard errors: each way gives what it must, and where there is none it says why."""

import math
import random
import statistics
import time
import warnings

import numpy as np
import pytest
from mm_eval.tasks.mme.utils import mme_aggregate_results

from mm_eval.scoring.metrics.aggregation import mean, median, nanmean, perplexity, weighted_mean
from mm_eval.scoring.metrics.corpus import F1, MCC, Bleu
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.scoring.metrics.resampling import StandardError, half_samples, jackknife
from mm_eval.scoring.metrics.stderr import (
    bootstrap_stderr,
    mean_stderr,
    pop_stddev,
    sample_stddev,
    standard_error,
    stderr_for_metric,
)
from mm_eval.scoring.metrics.traits import CorpusMetric, not_smooth, smooth, stratified_by
from tests.sets import each_of, few


def numbers(count, seed=0):
    return [random.Random(seed + i).gauss(3, 2) for i in range(count)]


def test_a_mean_of_single_docs_has_the_textbook_error():
    values = numbers(50)
    expected = sample_stddev(values) / math.sqrt(50)
    assert mean_stderr(values) == pytest.approx(expected, rel=1e-12)
    assert mean_stderr(values, clusters=list(range(50))) == pytest.approx(expected, rel=1e-12)
    assert standard_error(mean, values, bootstrap_iters=0) == StandardError(pytest.approx(expected))
    assert sample_stddev(values) == pytest.approx(np.std(values, ddof=1)) and pop_stddev(values) == pytest.approx(
        np.std(values)
    )


def test_docs_on_one_picture_count_as_one_draw():
    values = numbers(40)
    doubled, clusters = [value for value in values for _ in range(2)], [i for i in range(40) for _ in range(2)]
    assert mean_stderr(doubled, clusters) == pytest.approx(mean_stderr(values), rel=1e-9)
    assert mean_stderr(doubled) < 0.75 * mean_stderr(values)


def test_the_clustered_error_is_the_spread_of_clusters_drawn_anew():
    generator = random.Random(1)
    clusters = [i for i in range(60) for _ in range(generator.randint(1, 4))]
    level = [generator.gauss(0, 1) for _ in range(60)]
    values = [level[c] + generator.gauss(0, 0.3) for c in clusters]
    drawn = bootstrap_stderr(mean, values, 4000, clusters=clusters)
    assert mean_stderr(values, clusters) == pytest.approx(drawn, rel=0.06)


@each_of("clusters", [None, [0] * 5])
@each_of("aggregation", [mean, nanmean, median, perplexity, MCC().aggregation, lambda values: 1.0])
def test_fewer_than_two_clusters_have_none_and_a_note(aggregation, clusters):
    values = [(0, 1)] * 5 if aggregation == MCC().aggregation else [1.0] * 5
    values = values[:1] if clusters is None else values
    found = standard_error(aggregation, values, clusters)
    assert found.value is None and "no standard error" in found.note
    assert mean_stderr([1.0]) is None and sample_stddev([1.0]) is None and bootstrap_stderr(mean, [1.0], 10) is None
    assert mean_stderr([1.0, 2.0], ["a", "a"]) is None


def test_nanmean_is_of_the_docs_that_have_a_number():
    values = numbers(20)
    assert standard_error(nanmean, [*values, math.nan, math.nan]).value == pytest.approx(mean_stderr(values))


def test_bootstrap_iterations_are_exactly_honoured():
    calls = []

    @not_smooth
    def counted(values):
        calls.append(len(values))
        return float(sorted(values)[len(values) // 2])

    assert bootstrap_stderr(counted, numbers(10), 37) > 0
    assert calls == [10] * 37
    calls.clear()
    assert standard_error(counted, numbers(10), bootstrap_iters=53).value > 0
    assert len(calls) == 53


@pytest.mark.parametrize("aggregation", [Bleu().aggregation, median, perplexity])
def test_without_iterations_a_bootstrap_has_none_and_says_so(aggregation):
    values = [(["a b"], ["a b"]), (["a c"], ["a b"])] if aggregation.__name__ == "aggregation" else [1.0, 2.0]
    found = standard_error(aggregation, values, bootstrap_iters=0)
    assert found.value is None and "bootstrap_iters is 0" in found.note


def test_stderr_for_metric_is_none_at_zero_and_takes_metrics_too():
    assert stderr_for_metric(mean, 0) is None
    values = numbers(30)
    assert stderr_for_metric(mean, 10)(values) == pytest.approx(mean_stderr(values))
    assert stderr_for_metric(Metric.from_dict({"metric": "acc"}), 10)(values) == pytest.approx(mean_stderr(values))
    pairs = [(i % 2, (i // 2) % 2) for i in range(31)]
    assert stderr_for_metric(MCC(), 500)(pairs) > 0
    assert stderr_for_metric(median, 500)(values) > 0


def plain_bootstrap(f, xs, iters, clusters=None, seed=5):
    """The definition: draw clusters, call f on their docs, take the spread."""
    groups = {}
    for i, x in enumerate(xs):
        groups.setdefault(i if clusters is None else clusters[i], []).append(x)
    members, generator = list(groups.values()), random.Random(seed)
    draws = [f([x for group in generator.choices(members, k=len(members)) for x in group]) for _ in range(iters)]
    return np.std(draws, ddof=1)


PAIRS = [(i % 2, (i % 2) if i % 5 else 1 - i % 2) for i in range(150)]
WEIGHTED = [(-float(i % 7) - 1, 1 + i % 3) for i in range(120)]
SENTENCES = [
    (["the cat sat on the mat"], ["the cat sat on the mat" if i % 3 else f"a cat on mat {i}"]) for i in range(40)
]


@pytest.mark.parametrize("clustered", few([False, True], at=[0]))
@pytest.mark.parametrize(
    ("aggregation", "values"),
    [
        (MCC().aggregation, PAIRS), (F1().aggregation, PAIRS),
        (F1("macro").aggregation, [(i % 3, (i * i) % 3) for i in range(90)]),
        (weighted_mean, WEIGHTED), (perplexity, [a for a, _ in WEIGHTED]), (median, numbers(61)), (median, numbers(60)),
        (Bleu().aggregation, SENTENCES), (mean, numbers(50)),
    ],
)  # fmt: skip
def test_the_bootstrap_from_sums_agrees_with_the_plain_one(aggregation, values, clustered):
    clusters = [i // 2 for i in range(len(values))] if clustered else None
    fast = bootstrap_stderr(aggregation, values, 3000, clusters=clusters)
    plain = plain_bootstrap(aggregation, values, 600, clusters)
    assert fast == pytest.approx(plain, rel=0.15)


def test_a_seed_gives_the_same_error_and_another_seed_another():
    first, again, other = (bootstrap_stderr(MCC().aggregation, PAIRS, 200, seed=seed) for seed in (1, 1, 2))
    assert first == again != other


def test_fault_bootstrapping_corpus_metrics_costs_minutes():
    """lm-eval: 113 CPU seconds for BLEU of 1000 docs x 1000 draws, 349 for F1 of 2000 x 100,000 (benchmarks/bootstrap.py)."""
    words = ["the", "cat", "sat", "on", "a", "mat", "under", "one", "tree"]
    texts = [([" ".join(words[i % 5 :])], [" ".join(words[i % 3 :])]) for i in range(1000)]
    labels = [(i % 2, (i % 2) if i % 5 else 1 - i % 2) for i in range(2000)]
    started = time.process_time()
    assert standard_error(F1().aggregation, labels, bootstrap_iters=100_000).value > 0
    assert standard_error(Bleu().aggregation, texts, bootstrap_iters=1000).value > 0
    assert time.process_time() - started < 2.0


def test_the_jackknife_of_a_mean_is_its_closed_form():
    values, clusters = numbers(30), [i // 3 for i in range(30)]
    members = [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(10)]
    found = jackknife(mean, values, members).error
    assert found.value == pytest.approx(mean_stderr(values, clusters), rel=1e-9)


def score_per_category(values):
    """The sum of each category's mean, as MME's score is."""
    by_category = {}
    for value in values:
        by_category.setdefault(value["category"], []).append(value["score"])
    return sum(mean(scores) for scores in by_category.values())


CATEGORIES = [{"category": "abc"[i % 3], "score": random.Random(i).random() + i % 3} for i in range(90)]


def test_fault_custom_aggregations_have_a_standard_error():
    declared = stratified_by(lambda value: value["category"])(lambda values: score_per_category(values))
    found = standard_error(declared, CATEGORIES)
    by_category = [[v["score"] for v in CATEGORIES if v["category"] == c] for c in "abc"]
    assert found.value == pytest.approx(math.sqrt(sum(mean_stderr(scores) ** 2 for scores in by_category)), rel=1e-6)
    assert found.note == ""
    named = stratified_by("category")(lambda values: score_per_category(values))
    assert standard_error(named, CATEGORIES) == found
    assert standard_error(score_per_category, CATEGORIES).value == pytest.approx(found.value, rel=0.35), (
        "undeclared: rougher"
    )


def counted(function):
    """The function, and a list that grows by one at each of its calls."""
    calls = []

    def call(values):
        calls.append(len(values))
        return function(values)

    return call, calls


def test_up_to_two_thousand_clusters_are_left_out_one_by_one():
    values = numbers(2000)
    slow, calls = counted(mean)
    assert standard_error(slow, values).value == pytest.approx(mean_stderr(values), rel=1e-9)
    assert len(calls) == 2000


@pytest.mark.full
def test_more_clusters_are_left_out_in_groups():
    values = numbers(6000)
    slow, calls = counted(mean)
    assert standard_error(slow, values).value == pytest.approx(mean_stderr(values), rel=0.12)
    assert 500 <= len(calls) <= 1000


def test_clusters_that_are_alike_are_left_out_once_for_all():
    values, clusters = [float(i % 3 > 0) for i in range(20_000)], [i // 2 for i in range(20_000)]
    slow, calls = counted(mean)
    assert standard_error(slow, values, clusters).value == pytest.approx(mean_stderr(values, clusters), rel=1e-9)
    assert len(calls) == 2, "pictures with one and with two right answers"


def mme_docs(pictures):
    generator = random.Random(2)
    chances = [generator.random() for _ in range(pictures)]
    return [
        {"category": "abcde"[i % 5], "question_id": i, "score": float(generator.random() < chance)}
        for i, chance in enumerate(chances)
        for _ in range(2)
    ]


@pytest.mark.full
def test_a_declared_content_makes_mmes_error_exact_and_its_cost_grow_with_the_docs_only():
    docs = mme_docs(1500)
    clusters = [doc["question_id"] for doc in docs]
    members = [[2 * i, 2 * i + 1] for i in range(1500)]
    one_by_one = jackknife(mme_aggregate_results, docs, members, lambda doc: doc["category"], most=1500).error
    assert standard_error(mme_aggregate_results, docs, clusters).value == pytest.approx(one_by_one.value, rel=1e-9)
    for pictures in (100, 1500):
        number, calls = counted(mme_aggregate_results)
        declared = smooth(stratified_by("category", content="score")(number))
        standard_error(declared, mme_docs(pictures), [i // 2 for i in range(2 * pictures)])
        assert len(calls) <= 15, "three kinds of pictures in five categories"


def user_median(values):
    return statistics.median(values)


def test_fault_a_users_median_has_no_jackknife_error():
    """The jackknife of a median does not come closer to the truth with more docs."""
    values = numbers(301)
    drawn = bootstrap_stderr(median, values, 2000)
    assert standard_error(user_median, values).value == pytest.approx(drawn, rel=0.1)
    assert standard_error(user_median, values) == standard_error(user_median, values), "seeded"
    rows = [{"id": i, "value": value} for i, value in enumerate(values)]
    by_id = standard_error(lambda rows: user_median([row["value"] for row in rows]), rows)
    assert by_id == standard_error(user_median, values)


@pytest.mark.parametrize("clustered", [False, True])
def test_half_samples_of_a_mean_vary_as_its_closed_form_says(clustered):
    values = numbers(75)
    clusters = [i // 3 for i in range(75)] if clustered else list(range(75))
    members = [[i for i in range(75) if clusters[i] == c] for c in sorted(set(clusters))]
    found = half_samples(mean, values, members, draws=4000)
    assert found.error.value == pytest.approx(mean_stderr(values, clusters), rel=0.05)
    strata = half_samples(mean, values, members, lambda value: value > 3, draws=400)
    assert strata.error.value < 0.8 * found.error.value, "what divides the documents does not vary"


def test_a_count_and_a_function_of_ids_keep_the_jackknife():
    rows = [{"id": i, "right": float(i % 4 > 0)} for i in range(80)]
    error = mean_stderr([row["right"] for row in rows])
    assert standard_error(lambda rows: sum(row["right"] for row in rows), rows).value == pytest.approx(79 * error)

    def by_id(rows):
        return mean(list({row["id"]: row["right"] for row in rows}.values()))

    assert standard_error(by_id, rows).value == pytest.approx(error, rel=0.07), "drawn twice, a row would count once"
    assert standard_error(smooth(lambda rows: by_id(rows)), rows).value == pytest.approx(error)


def test_a_trimmed_mean_is_smooth_enough_for_the_jackknife():
    values = numbers(200)

    def trimmed(values):
        return mean(sorted(values)[len(values) // 10 : -(len(values) // 10)])

    members = [[i] for i in range(200)]
    assert standard_error(trimmed, values) == jackknife(trimmed, values, members).error


def test_a_stratum_with_one_cluster_stays_and_is_noted():
    calls = []

    @stratified_by("category")
    def declared(values):
        calls.append({value["category"] for value in values})
        return score_per_category(values)

    lone = [*CATEGORIES, {"category": "lone", "score": 1.0}]
    found = standard_error(declared, lone)
    assert found.value > 0 and "1 of 4 strata" in found.note
    assert all("lone" in categories for categories in calls)
    assert standard_error(declared, lone[-1:] + [{"category": "other", "score": 0.0}]).value is None


def test_a_function_that_fails_on_a_part_of_the_docs_has_none_and_advice():
    def needs_all(values):
        return 1.0 / (len(values) == 4)

    found = standard_error(needs_all, [1.0, 2.0, 3.0, 4.0])
    assert found.value is None
    assert "ZeroDivisionError" in found.note and "@stratified_by" in found.note
    assert standard_error(lambda values: math.inf if len(values) < 4 else 1.0, [1.0] * 4).value is None


def test_a_corpus_metric_that_changes_the_number_but_not_the_sums_is_not_trusted():
    class Halved(Bleu):
        """Half of BLEU."""

        def aggregation(self, items):
            return super().aggregation(items) / 2

    half = standard_error(Halved().aggregation, SENTENCES).value
    assert half == pytest.approx(standard_error(Bleu().aggregation, SENTENCES, bootstrap_iters=2000).value / 2, rel=0.2)
    assert issubclass(Halved, CorpusMetric)


def test_a_perplexity_beyond_the_squares_of_floats_has_no_standard_error_and_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = standard_error(perplexity, [-709.0, -1.0], bootstrap_iters=100)
    assert found.value is None and found.note.startswith("the number is not finite on some draws")
