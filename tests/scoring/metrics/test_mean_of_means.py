"""The macro average over categories: its value, its standard error and its paired difference, by hand."""

import math
import random
import time

import pytest

from mm_eval.scoring.metrics.aggregation import mean_of_means
from mm_eval.scoring.metrics.metric import AGGREGATIONS
from mm_eval.scoring.metrics.paired import estimate, paired_difference
from mm_eval.scoring.metrics.resampling import jackknife
from mm_eval.scoring.metrics.stderr import mean_stderr, standard_error
from mm_eval.scoring.metrics.traits import traits_of

ITEMS = [("a", 1.0), ("a", 0.0), ("b", 1.0), ("b", 1.0), ("b", 0.0), ("b", 1.0)]


def test_every_category_counts_the_same():
    assert AGGREGATIONS.get("mean_of_means") is mean_of_means
    assert mean_of_means(ITEMS) == (0.5 + 0.75) / 2
    assert mean_of_means([["a", 1.0], ["b", 0.0], ["b", 0.0]]) == 0.5  # lists, as samples/ has them
    assert mean_of_means(list(reversed(ITEMS))) == mean_of_means(ITEMS)


def test_the_error_is_that_of_independent_category_means():
    # category a: variance 1/2, so 1/2 / 2; category b: variance 1/4, so 1/4 / 4
    assert standard_error(mean_of_means, ITEMS).value == pytest.approx(math.sqrt(1 / 4 + 1 / 16) / 2, rel=1e-12)


def test_the_error_equals_the_stratified_jackknife():
    generator = random.Random(3)
    items = [(generator.choice("abc"), generator.random()) for _ in range(120)]
    by_jackknife = jackknife(mean_of_means, items, [[i] for i in range(120)], lambda item: item[0]).error
    assert standard_error(mean_of_means, items).value == pytest.approx(by_jackknife.value, rel=1e-9)


def test_clusters_inside_a_category_are_drawn_together():
    clusters = [0, 1, 2, 2, 3, 3]
    a, b = mean_stderr([1.0, 0.0], [0, 1]), mean_stderr([1.0, 1.0, 0.0, 1.0], [2, 2, 3, 3])
    expected = math.sqrt(a**2 + b**2) / 2
    assert standard_error(mean_of_means, ITEMS, clusters).value == pytest.approx(expected, rel=1e-12)


def test_the_error_holds_where_clusters_cross_categories():
    """Each picture has a question in both categories, and all its answers are right or wrong together."""
    generator = random.Random(5)

    def draw(pictures):
        marks = [float(generator.random() < 0.6) for _ in range(pictures)]
        return [(category, mark) for mark in marks for category in "ab"]

    clusters = [i // 2 for i in range(200)]
    values = [mean_of_means(draw(100)) for _ in range(2000)]
    centre = sum(values) / len(values)
    spread = math.sqrt(sum((value - centre) ** 2 for value in values) / len(values))
    errors = [standard_error(mean_of_means, draw(100), clusters).value for _ in range(50)]
    assert sum(errors) / 50 == pytest.approx(spread, rel=0.06)
    items = draw(100)
    assert standard_error(mean_of_means, items, clusters).value == pytest.approx(
        mean_stderr([mark for _, mark in items], clusters), rel=1e-9
    )


def test_a_category_of_one_doc_is_noted():
    found = standard_error(mean_of_means, [*ITEMS, ("c", 1.0)])
    assert found.value == pytest.approx(math.sqrt(1 / 4 + 1 / 16) / 3, rel=1e-12)
    assert found.note == "1 of 3 strata have a single cluster, whose spread is unknown."
    assert standard_error(mean_of_means, [("a", 1.0), ("b", 0.0)]).value is None


def test_a_paired_difference_is_that_of_the_changes():
    second = [("a", 1.0), ("a", 1.0), ("b", 0.0), ("b", 1.0), ("b", 0.0), ("b", 1.0)]
    changes = [(category, after - before) for (category, before), (_, after) in zip(ITEMS, second, strict=True)]
    found = paired_difference(mean_of_means, ITEMS, second)
    assert found.value == pytest.approx(mean_of_means(changes))
    assert found.stderr == pytest.approx(standard_error(mean_of_means, changes).value, rel=1e-12)
    assert estimate(mean_of_means, ITEMS).freedom == 4  # six docs, two categories
    assert traits_of(mean_of_means).smooth


def test_a_hundred_thousand_docs_take_less_than_a_second():
    generator = random.Random(1)
    items = [(f"subject {generator.randrange(57)}", generator.random()) for _ in range(100_000)]
    clusters = [i // 3 for i in range(100_000)]
    started = time.process_time()
    assert standard_error(mean_of_means, items, clusters).value == pytest.approx(0.288 / math.sqrt(100_000), rel=0.05)
    assert time.process_time() - started < 3
