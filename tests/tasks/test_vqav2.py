"""VQAv2: prompts, the official rule and lmms-eval's, types of answers and questions."""

import pytest

from tests.tasks.made_up import ENDINGS, SHORT, MadeUp, categories, prompt

VQAV2 = MadeUp("vqav2_val", "lmms-lab/VQAv2", "validation")


@pytest.mark.parametrize(("key", "ending"), [(None, SHORT), *ENDINGS.items()])
@pytest.mark.parametrize("task", ["vqav2_val", "vqav2_val_lmms"])
def test_the_prompt_of_each_model_family(cli, task: str, key: str | None, ending: str) -> None:
    assert prompt(cli, task, key) == "Is there a cross?" + ending


def people(*answers: str) -> dict[str, object]:
    """The column of the hub for these ten answers."""
    return {"answers": [{"answer": a, "answer_confidence": "yes", "answer_id": n} for n, a in enumerate(answers, 1)]}


def mostly(answer: str, other: str = "x") -> list[str]:
    return [answer] * 9 + [other]


HARD = [  # people, answer, the official score, lmms-eval's
    (["yes"] * 10, "yes", 1.0, 1.0),
    (["yes"] * 10, "Yes", 0.0, 1.0),
    (["yes"] * 10, "yes.", 0.0, 1.0),
    (["yes"] * 10, "yes\n", 1.0, 1.0),
    (mostly("yes", "no"), "Yes.", 1.0, 1.0),
    (mostly("yes", "no"), "no", 0.3, 0.3),
    (["2"] * 10, "two", 0.0, 1.0),
    (mostly("2"), "Two", 1.0, 1.0),
    (["red"] * 3 + ["blue"] * 7, "Red", 0.9, 0.9),
    (["red"] * 2 + ["blue"] * 8, "red", 0.6, 0.6),
    (mostly("dog"), "A dog", 1.0, 1.0),
    (mostly("don't know"), "dont know", 1.0, 1.0),
    (mostly("levi's"), "Levi 's", 0.0, 0.0),
    (mostly("1,234.50"), "1234.50", 1.0, 1.0),
    (mostly("25%"), "25 %", 0.0, 0.0),
    (mostly("stop sign"), "stop-sign", 1.0, 1.0),
    (mostly("no"), "yes, there is no dog", 0.0, 0.0),
    (mostly("red"), "The answer is red.", 0.0, 0.0),
    (mostly("红"), "红", 1.0, 1.0),
    (mostly("red"), "I can't tell", 0.0, 0.0),
    (mostly("red"), "<think>Red?</think>red", 1.0, 1.0),
    (mostly("red"), "<think>red", 0.0, 0.0),
]


@pytest.mark.parametrize(("task", "column"), [("vqav2_val", 2), ("vqav2_val_lmms", 3)])
def test_hard_answers(cli, tmp_path, task: str, column: int) -> None:
    docs = [people(*row[0]) for row in HARD]
    found = VQAV2.scores(cli, tmp_path, docs, [row[1] for row in HARD], "vqa_accuracy,none", task)
    assert found == [pytest.approx(row[column]) for row in HARD]


def test_types_of_answers_and_questions(cli, tmp_path) -> None:
    kinds = [("yes/no", "is the"), ("number", "how many"), ("other", "what color is the"), ("other", "what is the")]
    docs = [{**people(*["yes"] * 10), "answer_type": kind, "question_type": question} for kind, question in kinds]
    ran = VQAV2.run(cli, tmp_path, docs, ["yes", "no", "yes", "Yes"])
    assert ran.results["results"]["vqav2_val"]["vqa_accuracy,none"] == 0.5
    by_answer = categories(ran, "vqav2_val", "answer_type", "vqa_accuracy,none")
    assert list(by_answer.items()) == [("yes/no", 1), ("number", 0), ("other", 0.5)]
    assert categories(ran, "vqav2_val", "question_type", "vqa_accuracy,none")["what is the"] == 0
