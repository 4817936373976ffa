"""OK-VQA: prompts, VQAv2's rule and lmms-eval's, kinds of knowledge."""

import pytest

from tests.tasks.made_up import ENDINGS, SHORT, MadeUp, categories, prompt

OK_VQA = MadeUp("ok_vqa", "lmms-lab/OK-VQA", "val2014")
MISSING = "\nWhen the provided information is insufficient, respond with 'Unanswerable'."


@pytest.mark.parametrize(
    ("key", "ending"), [(None, SHORT), ("qwen_vl", ENDINGS["qwen_vl"]), ("qwen3_vl", ENDINGS["qwen3_vl"])]
)
def test_the_prompt_of_each_model_family(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "ok_vqa", key, 1) == "What has the color of the triangle?" + ending
    assert prompt(cli, "ok_vqa_lmms", key, 1) == "What has the color of the triangle?" + MISSING + SHORT


TEN = ["shepherd"] * 6 + ["collie"] * 4
HARD = [  # people, answer, the official score, lmms-eval's
    (["pony tail"] * 10, "pony tail", 1.0, 1.0),
    (["pony tail"] * 10, "Pony tail", 0.0, 1.0),
    (TEN, "Shepherd.", 1.0, 1.0),
    (TEN, "a collie", 1.0, 1.0),
    (["hat"] * 2 + ["coat"] * 8, "hat", 0.6, 0.6),
    (["four"] * 8 + ["many"] * 2, "4", 1.0, 1.0),
    (["levi's"] * 8 + ["x"] * 2, "Levi 's", 0.0, 1.0),
    (["1000"] * 8 + ["x"] * 2, "1,000", 1.0, 1.0),
    (TEN, "shepherd and collie", 0.0, 0.0),
    (TEN, "The answer is shepherd.", 0.0, 0.0),
    (TEN, "Unanswerable", 0.0, 0.0),
    (TEN, "牧羊犬", 0.0, 0.0),
    (TEN, "", 0.0, 0.0),
    (TEN, "<think>A collie?</think>shepherd", 1.0, 1.0),
    (TEN, "<think>shepherd", 0.0, 0.0),
]


@pytest.mark.parametrize(("task", "column"), [("ok_vqa", 2), ("ok_vqa_lmms", 3)])
def test_hard_answers(cli, tmp_path, task: str, column: int) -> None:
    docs = [{"answers": row[0]} for row in HARD]
    found = OK_VQA.scores(cli, tmp_path, docs, [row[1] for row in HARD], "vqa_accuracy,none", task)
    assert found == [pytest.approx(row[column]) for row in HARD]


def test_kinds_of_knowledge(cli, tmp_path) -> None:
    kinds = ["Plants and Animals", "Sports and Recreation", "Plants and Animals"]
    docs = [{"answers": TEN, "question_type": kind} for kind in kinds]
    ran = OK_VQA.run(cli, tmp_path, docs, ["shepherd", "shepherd", "cat"])
    assert categories(ran, "ok_vqa", "question_type", "vqa_accuracy,none") == {
        "Plants and Animals": 0.5,
        "Sports and Recreation": 1,
    }
