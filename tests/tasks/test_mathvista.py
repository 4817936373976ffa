"""MathVista: prompts, hard answers by rules alone, the official normalisation with its surprises, categories."""

import time
from pathlib import Path

import pytest
from mm_eval.tasks.mathvista.utils import process_results, process_results_digits

from tests.sets import each_of
from tests.tasks.math_prompts import prompt_of, replay

HINT = "Hint: Please answer the question and provide the correct option letter, e.g., A, B, C, D, at the end.\n"
QUERY = f"{HINT}Question: Which bar is the tallest?\nChoices:\n(A) R\n(B) S\n(C) T"
SHORT = "\nPlease try to answer the question with short words or phrases if possible."
PROMPTS = {None: QUERY, "qwen2_vl": QUERY + SHORT}


def doc(
    answer: str, kind: str = "text", choices: list[str] | None = None, precision: float | None = None
) -> dict[str, object]:
    return {"answer": answer, "answer_type": kind, "choices": choices, "precision": precision}


SIDES = doc("145°", choices=["35°", "145°", "135°", "120°"])
YES = doc("no", choices=["yes", "no"])
LETTERS = doc("C", choices=["A", "B", "C", "D"])
COUNT = doc("8", "integer")
TENTH = doc("1.2", "float", precision=1.0)
LIST = doc("[1, 2]", "list")
HARD = [
    (SIDES, "B", 1, "whole_answer"),
    (SIDES, "(B)", 1, "whole_answer"),
    (SIDES, "145°", 1, "whole_answer"),
    (SIDES, "145", 1, "whole_answer"),  # by the smallest edit distance
    (SIDES, "(B) 145°", 1, "whole_answer"),
    (SIDES, "B. 145°", 1, "unparsed"),  # no letter by the official rule; the edit distance is large
    (SIDES, "The answer is (B).", 1, "phrase"),
    (SIDES, 'The answer is "145°".', 1, "quoted"),
    (SIDES, "Answer: B because A is wrong", 1, "phrase"),
    (SIDES, "(A) is too small for the angle that is shown in the figure here, so the answer is B", 1, "phrase"),
    (SIDES, "\\boxed{B}", 1, "boxed"),
    (SIDES, "\\boxed{\\text{(B)}}", 1, "boxed"),
    (SIDES, "Let me see.\nTherefore, the answer is 145°", 1, "phrase"),
    (SIDES, "答案是B", 1, "phrase"),
    (SIDES, "C", 0, "whole_answer"),
    (SIDES, "", 0, "unparsed"),
    (SIDES, "I cannot answer this question, since there is no figure in it, sorry about that.", 0, "unparsed"),
    (YES, "The answer is no", 1, "phrase"),
    (YES, "yes, there is no dog", 0, "unparsed"),
    (LETTERS, "C", 1, "whole_answer"),
    (LETTERS, 'The answer is "C".', 1, "quoted"),
    (COUNT, "8", 1, "whole_answer"),
    (COUNT, "There are 8 objects left on the table.", 1, "only number"),
    (COUNT, "3 + 5 = 8. The answer is 8.", 1, "phrase"),
    (COUNT, "The answer is 3 + 5 = 8", 1, "phrase"),
    (COUNT, "The total is \\boxed{8}.", 1, "boxed"),
    (COUNT, "8.7", 1, "whole_answer"),
    (COUNT, "8 cm", 0, "unparsed"),
    (COUNT, "25%", 0, "unparsed"),
    (COUNT, "There are 3 red and 5 blue objects in this picture, as far as I can tell.", 0, "unparsed"),
    (doc("1234", "integer"), "The answer is 1,234.", 1, "phrase"),
    (doc("1234", "integer"), "1,234", 0, "unparsed"),
    (TENTH, "1.23", 1, "whole_answer"),
    (TENTH, "The answer is 1.2.", 1, "phrase"),
    (TENTH, "1.3", 0, "whole_answer"),
    (LIST, "[1, 2]", 1, "whole_answer"),
    (LIST, "The final answer is [1, 2].", 1, "phrase"),
    (LIST, "[1,2]", 0, "whole_answer"),  # lists are compared as text
]


@pytest.mark.parametrize("key", PROMPTS)
def test_the_prompts(cli, key: str | None) -> None:
    assert prompt_of(cli, "mathvista_testmini", 1, key) == PROMPTS[key]


def test_the_prompt_of_a_question_with_a_unit(cli) -> None:
    hint = "a floating-point number with two decimal places and provide the final value, e.g., 1.23, 1.34, 1.45, at the end."
    asked = "Question: What is the area of the rectangle? (Unit: m^2)"
    assert prompt_of(cli, "mathvista_testmini", 6) == f"Hint: Please answer the question requiring {hint}\n{asked}"


@each_of(("row", "answer", "score", "rule"), HARD)
def test_hard_answers(row, answer: str, score: int, rule: str) -> None:
    assert process_results(row, [answer]) == {"acc": score, "__rule__": rule}


@each_of(("answer", "paper", "script"), [("8.0", 0, 1), ("8.7", 0, 1), ("8", 1, 1), ("1e400", 0, 0), ("nan", 0, 0)])
def test_integers_by_the_runs_of_the_paper_and_by_the_script(answer: str, paper: int, script: int) -> None:
    assert process_results_digits(COUNT, [answer])["acc"] == paper
    assert process_results(COUNT, [answer])["acc"] == script


def test_the_nearest_choice_is_the_first_of_equals_and_twins_are_the_same() -> None:
    assert process_results(doc("(a)", choices=["(c)", "(a)"]), ["(b)"])["acc"] == 1  # a letter before all
    assert process_results(doc("ab", choices=["ab", "ac"]), ["ad"])["acc"] == 1
    assert process_results(doc("5", choices=["4", "5", "5"]), ["C"])["acc"] == 1


def test_categories_and_unclosed_thinking(cli, tmp_path: Path) -> None:
    answers = ["8", "B", "no", "<think>10cm</think>B", "C", "5", "0.75", "A", "[1, 2]", "<think>8", "quarter past"]
    ran = replay(cli, tmp_path, "mathvista_testmini", answers)
    assert ran.results["results"]["mathvista_testmini"]["acc,none"] == pytest.approx(8 / 11)
    found = {
        level: {name: row["acc,none"] for name, row in rows.items()}
        for level, rows in ran.results["categories"]["mathvista_testmini"].items()
    }
    assert set(found) == {
        "question_type",
        "answer_type",
        "language",
        "source",
        "category",
        "task",
        "context",
        "grade",
        "skills",
    }
    assert found["question_type"] == {"free_form": pytest.approx(3 / 5), "multi_choice": pytest.approx(5 / 6)}
    assert found["answer_type"] == {"float": 1.0, "integer": 0.5, "list": 0.0, "text": pytest.approx(5 / 6)}
    assert found["language"] == {"chinese": 1.0, "english": pytest.approx(7 / 10)}
    assert found["skills"]["statistical reasoning"] == pytest.approx(2 / 3)
    assert found["skills"]["algebraic reasoning"] == pytest.approx(4 / 5)  # a question counts in each of its skills


@each_of(
    "answer",
    ["answer is " * 20_000, "is 1. " * 33_000, "9" * 200_000, "\\boxed{" * 30_000, "(" * 200_000, "\n" * 200_000],
)
def test_hostile_answers_take_bounded_time(answer: str) -> None:
    started = time.process_time()
    for row in (SIDES, COUNT, LIST):
        process_results(row, [answer])
    assert time.process_time() - started < 5
