"""VQA accuracy and its ways to normalise answers."""

import pytest
from mm_eval.tasks.rules.vqa import SLIP, agreed_answer, textvqa_normalised, vqa_accuracy, vqa_normalised

from mm_eval.scoring.metrics.bounds import remarks
from mm_eval.values.errors import ConfigError
from tests.sets import each_of


@each_of(
    ("text", "expected"),
    [
        ("Yes", "yes"), ("1,000", "1000"), ("24/7", "24 7"), ("U.S.A.", "usa"), ("a", ""), ("dont", "don't"), ("two", "2"),
        ("None", "0"), ("The stop-sign.", "stop sign"), ("25 %", "25 %"), ("10:30", "10:30"), ("3.5", "3.5"), ("right.", "right"),
        ("red, blue", "red blue"), ("red,blue", "red blue"), ("1,000 a-b", "1000 ab"), ("- 5", "5"), ("yall'll", "y'all'll"),
        ("oclock", "o'clock"), ("somebody'd", "somebodyd"), (" a\tdog\n", "dog"), ("." * 40, "." * 8), ("红色", "红色"),
    ],
)  # fmt: skip
def test_an_answer_as_vqav2_compares_it(text, expected):
    assert vqa_normalised(text) == expected


@each_of(
    ("text", "expected"),
    [
        ("Levi's", "levi 's"), ("1,000", "1000"), ("1,000 x-b", "1000 x b"), ("Red,blue?", "redblue"), ("The Dog.", "dog"),
        ("two's", "2 's"), ("dont", "don't"), ("24/7", "24 7"), ("stop-sign", "stop sign"), ("", ""),
    ],
)  # fmt: skip
def test_an_answer_as_textvqa_compares_it(text, expected):
    assert textvqa_normalised(text) == expected


@each_of(
    ("people", "answer", "score"),
    [
        (["yes"] * 10, "yes", 1.0), (["yes"] * 9 + ["no"], "no", 0.3), (["x"] * 2 + ["b"] * 8, "x", 0.6),
        (["x"] * 3 + ["b"] * 7, "x", 0.9), (["x"] * 4 + ["b"] * 6, "x", 1.0), (["x"] * 10, "y", 0.0),
        (["yes"] * 10, "Yes", 0.0), (["yes"] * 9 + ["no"], "Yes.", 1.0), (["2"] * 10, "two", 0.0),
        (["2"] * 9 + ["3"], "Two.", 1.0),
        (["yes"] * 10, " yes\n", 1.0), (["the dog"] * 9 + ["cat"], "a dog", 1.0),
        (["dont"] * 9 + ["x"], "don't", 1.0),
        (["1,000"] * 9 + ["x"], "1000", 1.0), ([".5"] * 9 + ["x"], ".5.", 1.0), (["5"] * 9 + ["x"], ".5", 0.0),
        (["yes "] * 5 + ["yes"] * 5, "Yes", 0.0), ("red", "red", 1.0), (["yes"] * 9 + ["no"], "yes, there is no dog", 0.0),
    ],
)  # fmt: skip
def test_one_person_is_left_out_at_a_time_and_answers_are_normalised_where_people_disagree(people, answer, score):
    assert vqa_accuracy([people], [answer]) == [pytest.approx(score)]


def test_other_ways_to_normalise():
    assert vqa_accuracy([["yes"] * 10], ["Yes."], normalise="always") == [1.0]
    assert vqa_accuracy([["Levi's"] * 9 + ["x"]], ["levi 's"], normalise="always") == [0.0]
    assert vqa_accuracy([["Levi's"] * 9 + ["x"]], ["levi 's"], normalise="textvqa") == [1.0]
    with pytest.raises(ConfigError, match="unless_equal"):
        vqa_accuracy([["yes"]], ["yes"], normalise="sometimes")


def test_the_answer_that_enough_people_agree_on():
    assert agreed_answer(["red", "blue"] + ["Red."] * 3 + ["b", "c", "d", "e", "f"]) == "red"
    assert agreed_answer(["x"] * 3 + ["y"] * 3 + ["a b", "c", "d", "e"]) is None
    assert agreed_answer(["Yes"] * 10) == "Yes"
    assert agreed_answer(["Levi's"] * 2 + ["levi 's"] * 2 + ["x"] * 2 + list("bcde"), "textvqa") == "Levi's"


def test_what_the_scripts_slip_costs_is_remarked() -> None:
    def said(people: list[str], answer: str, normalise: str = "unless_equal") -> list[str]:
        with remarks() as found:
            vqa_accuracy([people], [answer], normalise)
        return found

    assert said(["yes"] * 10, "Yes.") == [SLIP] and said(["2"] * 10, "two") == [SLIP]
    assert said(["yes"] * 10, "yes") == said(["yes"] * 10, "no") == said(["yes"] * 9 + ["no"], "Yes") == []
    assert said(["yes"] * 10, "Yes", "always") == []
