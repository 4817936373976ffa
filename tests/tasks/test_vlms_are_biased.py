"""VLMs Are Biased: truth and bias by the official rule and by the last braces, and the mean over topics."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.vlms_are_biased.utils import process_braces, process_results

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

RIGHT, BIASED, WRONG, UNREAD = (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), None
HARD = [
    # truth, bias, answer, by lmms-eval's code, by the last braces
    ("5", "4", "{5}", RIGHT, RIGHT), ("5", "4", "5", RIGHT, UNREAD), ("5", "4", "{4}", BIASED, BIASED),
    ("5", "4", "{3}", WRONG, WRONG), ("5", "4", "There are {5} legs.", RIGHT, RIGHT),
    ("5", "4", "{4} legs of the 5", WRONG, BIASED), ("34", "4", "between 3 and 4", RIGHT, UNREAD),
    ("5", "4", "It has 4 legs, no: {5}", WRONG, RIGHT), ("5", "4", "{4} or {5}", WRONG, RIGHT),
    ("5", "4", "{5 legs}", RIGHT, RIGHT), ("5", "4", "{4 or 5}", WRONG, WRONG), ("5", "4", "\\boxed{5}", RIGHT, RIGHT),
    ("5", "4", "\\{5\\}", RIGHT, RIGHT), ("5", "4", "{five}", UNREAD, WRONG), ("5", "4", "", UNREAD, UNREAD),
    ("5", "4", "{}", UNREAD, UNREAD), ("5", "4", "{05}", WRONG, WRONG), ("Yes", "No", "{Yes}", RIGHT, RIGHT),
    ("Yes", "No", " yes\n", RIGHT, UNREAD), ("Yes", "No", "{NO}", BIASED, BIASED), ("Yes", "No", "Yes.", UNREAD, UNREAD),
    ("Yes", "No", "{Yes}, they are.", UNREAD, RIGHT), ("Yes", "No", "{5}", UNREAD, WRONG),
    ("No", "Yes", "They are not: {No}", UNREAD, RIGHT),
]  # fmt: skip


@each_of(("truth", "bias", "answer", "official", "braces"), HARD)
def test_hard_answers(truth: str, bias: str, answer: str, official: Any, braces: Any) -> None:
    doc = {"ground_truth": truth, "expected_bias": bias, "topic": "Animals"}
    for rule, expected in ((process_results, official), (process_braces, braces)):
        found = rule(doc, [answer])
        assert (found["accuracy"], found["bias_ratio"]) == (expected or WRONG)
        assert found["topic_mean"] == ("Animals", found["accuracy"]) and (found["__rule__"] == "unparsed") == (
            expected is None
        )


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """Right: both legs and one of the stripes; biased: the other stripe and both lines."""
    said = ["{5}", "{5}", "{4}", "{3}", *["{1}"] * 8, "{No}", "no"]
    ran = answered(cli, tmp_path, "vlms_are_biased", said)
    row = ran.results["results"]["vlms_are_biased"]
    assert row["accuracy,none"] == pytest.approx(3 / 14) and row["bias_ratio,none"] == pytest.approx(3 / 14)
    assert row["topic_mean,none"] == pytest.approx((1 + 0.5) / 7)
    assert categories(ran, "vlms_are_biased", "topic", "accuracy,none")["Logos"] == 0.5
    braces = answered(cli, tmp_path, "vlms_are_biased_braces", said).results["results"]["vlms_are_biased_braces"]
    assert braces["bias_ratio,none"] == pytest.approx(2 / 14) and braces["unparsed"] == 1


def test_the_prompt_is_the_column(cli: Any) -> None:
    asked = "How many legs does this animal have? Answer with a number in curly brackets, e.g., {9}."
    assert prompt(cli, "vlms_are_biased") == prompt(cli, "vlms_are_biased_braces") == asked
