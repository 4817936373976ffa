"""DynaMath: the prompt, hard answers by the official rule, the average and the worst case over variants."""

import json
from pathlib import Path

import pytest
from mm_eval.tasks.dynamath.utils import gold_answer, process_results, worst_case

from tests.sets import each_of
from tests.tasks.math_prompts import prompt_of, replay

GUIDE = """
## Answer Instruction Please provide an answer to the question outlined above. Your response should adhere \n\
to the following JSON format, which includes two keys: 'solution' and 'short answer'. The 'solution' key can contain \n\
detailed steps needed to solve the question, and the 'short answer' key should provide a concise response. \
If the problem is a multiple choice problem, just provide the corresponing choice option, \n\
such as 'A', 'B', 'C', or 'D'. If the answer is a numerical value, format it as a three-digit floating-point number.

Example of expected JSON response format:

{
    "solution": "[Detailed step-by-step explanation]",
    "short answer": "[Concise Answer]"
}"""
NUMBER = "What is the smallest value of this function?Please answer in a floating-point number."
FLOAT = {"id": "1", "answer_type": "float", "ground_truth": "2.0944"}
CHOICE = {"id": "1", "answer_type": "multiple choice", "ground_truth": "B"}
TEXT = {"id": "1", "answer_type": "text", "ground_truth": "May"}


def said(answer: object) -> str:
    return json.dumps({"solution": "see below", "short answer": answer}, ensure_ascii=False)


HARD = [
    (FLOAT, said("2.0944"), 1, "json"),
    (FLOAT, said(2.0944), 1, "json"),
    (FLOAT, said("2.094"), 1, "json"),
    (FLOAT, said("2.09"), 0, "json"),  # more than 0.001 away
    (FLOAT, said("2.094 units"), 1, "json"),
    (FLOAT, '{"short answer": "0.66667π"}', 1, "json"),
    (FLOAT, said("2,094.4"), 0, "unparsed"),
    (FLOAT, said("about 2.094"), 0, "unparsed"),
    (FLOAT, said("25 %"), 0, "json"),
    (FLOAT, said("\\boxed{2.094}"), 0, "unparsed"),
    (FLOAT, f"Here it is:\n```json\n{said('2.094')}\n```", 1, "json"),
    (FLOAT, "The period is\n2.094.", 1, "last line"),  # the last line without its last character
    (FLOAT, "The period is 2.094.", 0, "unparsed"),
    (FLOAT, "", 0, "unparsed"),
    (FLOAT, said("nan"), 0, "json"),
    (CHOICE, said("B"), 1, "json"),
    (CHOICE, said("(B)"), 1, "json"),
    (CHOICE, said("B. cat"), 1, "json"),
    (CHOICE, said("ABC"), 1, "json"),  # a letter among the first three characters
    (CHOICE, said("b"), 0, "unparsed"),
    (CHOICE, said("Option B"), 0, "unparsed"),
    (CHOICE, said("答案B"), 1, "json"),
    (CHOICE, said("A"), 0, "json"),
    (CHOICE, "The answer is\nB.", 1, "last line"),
    (CHOICE, "I cannot answer this question", 0, "unparsed"),
    (CHOICE, '{"solution": "so it is B"}', 0, "unparsed"),
    (CHOICE, '["B"]', 0, "unparsed"),
    (TEXT, said("May"), 1, "json"),
    (TEXT, said("Maybe"), 1, "json"),
    (TEXT, said("may"), 0, "json"),
    (TEXT, "It is hottest in May.", 1, "last line"),
    (TEXT, said(["May"]), 1, "json"),
    (TEXT, '{"solution": "C:\\new", "short answer": "May"}', 1, "json"),  # backslashes are removed
]


def test_the_prompts(cli) -> None:
    assert prompt_of(cli, "dynamath", 0) == f"## Question\n{NUMBER}{GUIDE}"
    assert prompt_of(cli, "dynamath", 1) == f"## Question\nWhat is written below the tallest bar?{GUIDE}"


@each_of(("doc", "answer", "score", "rule"), HARD)
def test_hard_answers(doc, answer: str, score: int, rule: str) -> None:
    scored = process_results(doc, [answer])
    assert (scored["average"], scored["__rule__"]) == (score, rule)
    assert scored["worst_case"] == {"id": "1", "score": score}


@each_of("answer", ["{" * 200_000, "[" * 100_000 + "}", "{" + "9" * 200_000 + "}", "π" * 200_000, "\n" * 200_000])
def test_hostile_answers_are_wrong(answer: str) -> None:
    for doc in (FLOAT, CHOICE, TEXT):
        assert process_results(doc, [answer])["average"] == 0


@pytest.mark.parametrize("doc", [FLOAT, CHOICE, TEXT])
def test_the_gold_answer_is_right(doc) -> None:
    assert process_results(doc, [gold_answer(doc)])["average"] == 1


def test_the_worst_case_is_by_question() -> None:
    scores = {"1": [1, 1, 1], "2": [1, 0, 1], "3": [0, 0, 0], "4": [1]}
    assert worst_case([{"id": name, "score": score} for name, each in scores.items() for score in each]) == 0.5


def test_average_worst_case_and_categories(cli, tmp_path: Path) -> None:
    """The sample has question 1 in ten variants and question 2 in two; one variant of question 2 goes wrong."""
    rows = replay(cli, tmp_path, "dynamath", [""] * 12).samples("dynamath")
    docs = [row["doc"] for row in rows]
    assert [doc["id"] for doc in docs] == ["1", "2"] * 2 + ["1"] * 8
    answers = [gold_answer(doc) for doc in docs]
    answers[3] = "<think>" + answers[3]
    ran = replay(cli, tmp_path, "dynamath", answers, "--output_path", tmp_path / "second")
    result = ran.results["results"]["dynamath"]
    assert result["average,none"] == pytest.approx(11 / 12)
    assert result["worst_case,none"] == 0.5
    assert result["average_stderr,none"] > 0
    assert result["worst_case_stderr,none"] > 0
    subjects = ran.results["categories"]["dynamath"]["subject"]
    assert {name: row["worst_case,none"] for name, row in subjects.items()} == {
        "analytic geometry": 1.0,
        "statistics": 0.0,
    }
    assert subjects["statistics"]["average,none"] == 0.5
