"""MM-Vet: the question, the grading prompt, which replies are grades, the total and the capabilities."""

from pathlib import Path

import pytest
from mm_eval.tasks.mmvet.utils import capabilities, gold_answer, integration, judge_prompt, percent, verdict

from tests.papers.judged import replay_judged
from tests.sets import each_of
from tests.tasks.made_up import categories, prompt

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


@each_of(("reply", "grade"), READ)
def test_a_grade_is_read(reply: str, grade: float) -> None:
    assert verdict(reply) == grade


@each_of("reply", UNREAD, ids=lambda reply: reply[:20])
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


def test_an_unread_grade_is_in_no_number_and_an_empty_answer_counts_0(cli, tmp_path: Path) -> None:
    answers = ["6", "pasta", "", *["an answer"] * 9]
    ran = replay_judged(cli, None, tmp_path, "mmvet", answers, ["1.0", "I can't tell", "1.0", *["0.5"] * 9])
    assert ran.code == 3
    row = ran.results["results"]["mmvet"]
    assert row["judge_score,none"] == pytest.approx(100 * (1 + 0 + 9 * 0.5) / 11)
    assert row["judge_failed"] == 1
    assert row["judge_bounds"] == pytest.approx([100 * 5.5 / 12, 100 * 6.5 / 12])
    assert row["judge_score_stderr,none"] > 0
    math = categories(ran, "mmvet", "capability", "judge_score,none")["math"]
    assert math == pytest.approx(100 * (1 + 0.5 + 0.5 + 0.5) / 4)
    together = categories(ran, "mmvet", "integration", "judge_score,none")
    assert together["ocr_spat"] == 0  # of "pasta", which has no grade, and of the empty answer
    unread, empty = ran.samples("mmvet")[1:3]
    assert unread["judge"]["verdict"] is None and unread["scores"] == {}
    assert empty["judge"]["attempts"] == 0 and empty["scores"] == {"judge_score,none": 0}


def test_where_no_grade_can_be_read_there_is_no_number(cli, tmp_path: Path) -> None:
    ran = replay_judged(cli, None, tmp_path, "mmvet", ["x"] * 12, ["it is 1 of 10"] * 12)
    assert ran.code == 3
    row = ran.results["results"]["mmvet"]
    assert row["judge_score,none"] is None and row["judge_failed"] == 12 and row["judge_bounds"] == [0, 100]
