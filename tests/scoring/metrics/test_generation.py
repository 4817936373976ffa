"""Metrics of generated answers."""

import pytest
from mm_eval.tasks.rules.vqa import vqa_accuracy

from mm_eval.scoring.metrics.generation import anls, edit_distance, exact_match_fn, relaxed_accuracy
from tests.sets import each_of


def match(reference, prediction, **kwargs):
    return exact_match_fn([reference], [prediction], **kwargs)["exact_match"][0]


@each_of(
    ("reference", "prediction", "options", "score"),
    [
        ("a", "a", {}, 1), ("a", "A", {}, 0), ("a", "A", {"ignore_case": True}, 1), ("ΟΔΟΣ", "οδος", {"ignore_case": True}, 1),
        ("a.", "a", {"ignore_punctuation": True}, 1), ("a1", "a", {"ignore_numbers": True}, 1),
        ("$12", "12", {"regexes_to_ignore": ["\\$"]}, 1), ("12", "$12", {"regexes_to_ignore": "\\$"}, 1),
        (["x", "y"], "y", {}, 1), (["x", "y"], "z", {"multiple_targets": True}, 0), ([], "z", {}, 0), (None, "None", {}, 0),
        ("", "", {}, 1),
    ],
)  # fmt: skip
def test_exact_match(reference, prediction, options, score):
    assert match(reference, prediction, **options) == score


def test_fault_a_digit_target_is_compared_as_text():
    assert match("42", "42") == 1
    assert match(42, "42") == 1
    assert match("07", "7") == 0


@pytest.mark.parametrize("metric", [anls, relaxed_accuracy, vqa_accuracy])
def test_what_no_rule_could_read_scores_zero(metric):
    assert metric([["a"]], [None, "a"]) == [0, 1]
    assert exact_match_fn(["a"], [None, "a"]) == {"exact_match": [0, 1]}
    assert metric([[]], ["a"]) == [0]


def test_edit_distance():
    assert [edit_distance(*pair) for pair in (("kitten", "sitting"), ("", "abc"), ("abc", "abc"), ("ab", "ba"))] == [
        3,
        3,
        0,
        2,
    ]


@each_of(
    ("targets", "answer", "score"),
    [
        (["hello world"], "Hello  World", 1.0), (["hello"], "hell", 0.8), (["hello"], "hxxxx", 0.0), (["ab"], "ax", 0.5),
        (["x", "hello"], "hello", 1.0), (["abcdefghij"], "abcdefghix", 0.9), ("hello", "hello", 1.0),
        (["1000"], "$1,000", 1 - 2 / 6), (["yes"], "Yes.", 0.75), (["yes"], "The answer is yes", 0.0), ([""], "", 1.0),
        (["a b"], "a   c", 0.8), (["a b"], "a  b", 1.0), (["straße"], "strase", 1 - 1 / 7),
    ],
)  # fmt: skip
def test_anls_is_the_closest_targets_similarity_and_zero_below_half(targets, answer, score):
    assert anls([targets], [answer]) == [pytest.approx(score)]


@each_of(
    ("target", "answer", "score"),
    [
        ("100", "105", 1), ("100", "94.9", 0), ("-2", "-2.09", 1), ("0", "0.0", 0), ("0", "0", 1), ("0%", "0", 0),
        ("45%", "0.46", 1), ("45%", "45", 0), ("Yes", "yes", 1), ("No", "yes", 0), ("12", "twelve", 0),
        ("1,234", "1,234", 1), ("2016", "2017", 1),
        ("25%", "25 %", 1), ("0.25", "25 %", 1), ("5", "nan", 0), ("5", "5.", 1), ("1234.5", "1,234.50", 0),
        ("12%", "12%.", 0), ("5", ".5.", 0), ("2010", "1950", 1),
        ("[a, b]", "[b, a]", 0), ("Yes", " yes\n", 1), ("100", "105.01", 0),
    ],
)  # fmt: skip
def test_relaxed_accuracy_allows_five_percent_of_a_number(target, answer, score):
    assert relaxed_accuracy([target], [answer]) == [score]
