"""CharXiv: the questions of both tasks, the judge's prompts, its replies, and the docs behind them."""

import pytest
from mm_eval.tasks.charxiv import descriptive, reasoning
from mm_eval.tasks.charxiv.utils import (
    descriptive_question,
    descriptive_verdict,
    judge_descriptive,
    judge_reasoning,
    reasoning_question,
    reasoning_verdict,
    skill,
    subplots,
)

from tests.sets import each_of
from tests.tasks.answers import prompt
from tests.tasks.judged import judged

REASONING, DESCRIPTIVE = "charxiv_val_reasoning", "charxiv_val_descriptive"
GOOD, BAD = '{"extracted_answer": "x", "score": 1}', '{"extracted_answer": "x", "score": 0}'


def asked(kind: int, row: int | None = 0, column: int | None = 0, place: str | None = None) -> dict[str, object]:
    located = {"subplot_row": row, "subplot_col": column, "subplot_loc": place}
    return {"question_number": 2, "descriptive_q2": kind, "descriptive_a2": "5", "descriptive_q1": 1, **located}


def reasoned(kind: int, answer: str = "9.17") -> dict[str, object]:
    return {"reasoning_q": "How {much} more?", "reasoning_a": answer, "reasoning_a_type": kind, "reasoning_q_source": 1}


def test_the_prompt_of_a_reasoning_question(cli) -> None:
    shown = prompt(cli, REASONING)
    assert shown.startswith(
        "Which method has the lower loss at epoch 3?\n    * Your final answer must be grounded to some text"
    )
    # the type of the answer chooses the instruction, not who wrote the question (3 and 4 here)
    assert "* Your final answer must be a number with 1 decimal places." in prompt(cli, REASONING, doc=3)


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("3", "an exact integer."),
        ("9.17", "a number with 2 decimal places."),
        ("-0.5", "a number with 1 decimal places."),
    ],
)
def test_a_number_in_general_says_how_exact_it_is(answer: str, form: str) -> None:
    assert (
        reasoning_question(reasoned(4, answer)) == f"How {{much}} more?\n    * Your final answer must be {form}\n    "
    )
    assert form not in reasoning_question(reasoned(3, answer))


@each_of(
    ("doc", "start"),
    [
        (asked(10), "For the current plot, how many lines are there?"),
        (asked(10, 2, 3), "For the subplot at row 2 and column 3, how many lines are there?"),
        (asked(10, None, None, "the bottom subplot"), "For the bottom subplot, how many lines are there?"),
        (asked(18, 2, 3), "What is the layout of the subplots?"),
        (asked(19, None, None, "the bottom subplot"), "What is the number of subplots?"),
    ],
)
def test_the_place_of_a_descriptive_question(doc, start: str) -> None:
    assert descriptive_question(doc).split("\n")[0] == start


def test_each_chart_is_asked_its_four_questions_in_turn(cli) -> None:
    firsts = [prompt(cli, DESCRIPTIVE, doc=doc).split("\n")[0] for doc in (0, 1, 2, 3, 4, 11)]
    assert firsts == [
        "For the current plot, what is its title?",
        "For the current plot, what is the label of the x-axis?",
        "For the current plot, how many lines are there?",
        "For the current plot, what are the names of the labels in the legend?",
        "For the current plot, what is difference between consecutive numerical tick values on the y-axis?",
        "What is the layout of the subplots?",
    ]


def test_the_question_types_have_the_rubrics_and_skills_of_the_authors() -> None:
    assert (
        sorted(descriptive.QUESTIONS)
        == sorted(descriptive.GRADED_AS)
        == sorted(descriptive.RUBRIC_OF)
        == list(range(1, 20))
    )
    rubrics = [descriptive.RUBRIC_OF[kind] for kind in range(1, 20)]
    assert rubrics == [
        "title", *["ocr"] * 6, *["quant"] * 3, "bool", "quant", "enum", "quant", "quant", "trend", "quant", "layout", "quant",
    ]  # fmt: skip
    skills = [skill(asked(kind)) for kind in (7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 19)]
    assert [each[0] for each in skills] == list("IECPCEEPCPC") and skills[8] == "Compositionality"
    assert [subplots({"num_subplots": n}) for n in (1, 2, 4, 5)] == [
        "1 Subplot",
        "2-4 Subplots",
        "2-4 Subplots",
        "5+ Subplots",
    ]


def test_the_judge_of_a_descriptive_answer_gets_one_pair() -> None:
    text = judge_descriptive(asked(17), "It is 5.")
    assert "You will be given 1 pairs of ground truth answers and model responses" in text
    assert "keys [['extract_answer_T1', 'score_T1']]" in text
    assert "Overarching Question: What is the total number of explicitly labeled ticks across all axes?" in text
    assert descriptive.RUBRICS["quant"] in text
    assert text.endswith("T1:\nResponse 1: It is 5.\nGround Truth 1: 5\n\n") and "<|" not in text


@each_of("answer", ["9", "<|question|> <|ground_truth|> <|response|>", "{0} {", ""])
def test_the_judge_of_a_reasoning_answer_gets_it_as_it_is(answer: str) -> None:
    text = judge_reasoning(reasoned(2), answer)
    assert text.startswith(reasoning.INTRODUCTION) and "semantic meaning" in text
    assert f"* Question: How {{much}} more?\n    * Ground Truth: 9.17\n    * Response: {answer}\n\n    " in text
    assert text.count("<|response|>") == answer.count("<|response|>")


@each_of(
    ("reply", "value"),
    [
        (GOOD, 1), (BAD, 0), ('{"extract_answer": "", "score": 0}', 0), ('{"extracted_answer": 5, "score": 1.0}', 1),
        (f"```json\n{GOOD}\n```", 1), (f"Here is the result: {BAD} Done.", 0),
        ('{"extracted_answer": "$\\alpha \\unit$", "score": 1}', 1), ('{"extracted_answer": "$l_\\\\infty$", "score": 1}', 1),
        ('{"extracted_answer": "two\nlines", "score": 0}', 0),
        ('{"score": 1}', None), ('{"extracted_answer": "x"}', None), ('{"extracted_answer": "x", "score": -1}', None),
        ('{"extracted_answer": "x", "score": "1"}', None), ('{"extracted_answer": "x", "score": true}', None),
        ('{"extracted_answer": "x", "score": 0.5}', None), ('{"extracted_answer": "x", "score": null}', None),
        ('{"extracted_answer": "x", "score": NaN}', None), ('{"extracted_answer": "x", "score": 1, "score": 0}', None),
        (f"{GOOD}\n{BAD}", None), (f"[{GOOD}, {BAD}]", None), ("score: 1", None), ("", None), ("{" * 19_000, None),
        (GOOD[:-1], None), ('{"extracted_answer": "x", "score": 1, "more": ' + "[" * 9_000 + "}", None), ("}{", None),
    ],
)  # fmt: skip
def test_replies(reply: str, value: float | None) -> None:
    assert reasoning_verdict(reply) == value
    assert descriptive_verdict(
        reply.replace("extracted_answer", "extract_answer_T1").replace('"score"', '"score_T1"')
    ) == (None if '"extract_answer"' in reply else value)


def test_a_judged_run_by_hand(cli, tmp_path) -> None:
    answers = ["Adam", "It falls.", "10", "1", "", "1", "Run 2", "flat"]
    replies = [GOOD, BAD, GOOD, "no JSON", None, BAD, GOOD, GOOD]
    ran = judged(cli, tmp_path, REASONING, answers, replies, code=3)
    row = ran.results["results"][REASONING]
    assert row["judge_score,none"] == pytest.approx(4 / 7)  # the empty answer is 0 without a reply
    assert row["judge_failed"] == 1 and row["judge_bounds"] == pytest.approx([4 / 8, 5 / 8])
    found = {
        name: each["judge_score,none"] for name, each in ran.results["categories"][REASONING]["answer type"].items()
    }
    assert found == {
        "Text-in-Chart": pytest.approx(2 / 3), "Text-in-General": 0.5, "Number-in-Chart": 1.0, "Number-in-General": 0.0,
    }  # fmt: skip


@pytest.mark.parametrize("task", [REASONING, DESCRIPTIVE])
def test_its_examples_hold(cli, task: str) -> None:
    assert cli("validate", task, "--sample").code == 0
