"""MM-Vet: the question, the grading prompt, which replies are grades, the total and the capabilities."""

import pytest
from mm_eval.tasks.mmvet.utils import capabilities, gold_answer, integration, judge_prompt, percent, verdict

from tests.tasks.made_up import prompt

DOC = {"question": "What is x?", "answer": "-1<AND>-5<OR>five", "capability": "ocr,math"}
READ = [
    ("0.0", 0.0),
    ("1.0", 1.0),
    ("0.5", 0.5),
    ("1", 1.0),
    ("0", 0.0),
    (".7", 0.7),
    ("0.25", 0.25),  # the prompt asks for tenths; the authors take any number of 0 to 1
    (" 0.4 \n", 0.4),
    ("0.4.", 0.4),
    ("| 0.4 |", 0.4),
    ("**0.4**", 0.4),
    ("Correctness: 0.9", 0.9),
    ("**Correctness:** 0.9", 0.9),
    ("0.3\nThe prediction names one of three.", 0.3),
]
UNREAD = ["", "1.5", "-0.5", "10", "0.5 or 1.0", "1 of 10", "0.5 0.6", "well, 1 of 10", "The answer is right.\n1.0", "0,5", "50%",
          "nan", "inf", "1e0", "٣", "I can't tell.", "<think>0.5", "x = 1.0", "|" * 100_000, "9" * 100_000]  # fmt: skip


def test_the_prompts(cli) -> None:
    question = "What do a soup and a cake cost together?"
    assert prompt(cli, "mmvet") == question
    reasoning = (
        "First please perform reasoning, and think step by step to provide best answer to the following question: \n\n"
    )
    assert prompt(cli, "mmvet", "llava_onevision") == reasoning + question


def test_the_grading_prompt_ends_with_the_open_line_of_its_table() -> None:
    asked = judge_prompt(DOC, "x is -1")
    assert asked.startswith("Compare the ground truth and prediction from AI models, to give a correctness score")
    assert asked.endswith("physical characteristics. | 1.0\n\nWhat is x? | -1 <AND> -5 <OR> five | x is -1 | ")
    assert (
        len([line for line in asked.splitlines() if line.count(" | ") == 3]) == 10
    )  # two lines of the head, 7 examples, this


@pytest.mark.parametrize(("reply", "grade"), READ)
def test_a_grade_is_read(reply: str, grade: float) -> None:
    assert verdict(reply) == grade


@pytest.mark.parametrize("reply", UNREAD, ids=lambda reply: reply[:20])
def test_what_is_no_grade_is_not_read(reply: str) -> None:
    assert verdict(reply) is None


def test_the_capabilities_of_a_doc_and_their_integration() -> None:
    assert capabilities(DOC) == ["ocr", "math"]
    assert (
        integration(DOC)
        == integration({"capability": "math,ocr"})
        == integration({"capability": ["math", "ocr"]})
        == "ocr_math"
    )
    assert integration({"capability": "rec"}) == "rec"


def test_a_gold_answer_has_each_wanted_part_and_one_of_several() -> None:
    assert gold_answer(DOC) == "-1 and -5"
    assert gold_answer({"answer": "no<OR>empty"}) == "no"


def test_the_total_is_in_percent() -> None:
    assert percent([1.0, 0.5, 0.0, 0.5]) == 50
