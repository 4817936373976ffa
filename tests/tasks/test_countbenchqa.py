"""CountBenchQA: the caption is not in the prompt, and only the number itself is right."""

import pytest

from tests.tasks.made_up import ENDINGS, MadeUp, prompt

COUNTBENCHQA = MadeUp("countbenchqa", "vikhyatk/CountBenchQA", "test")
QUESTION = "How many green dots are there in the image?"
KIT = " Note that: answer with a number directly e.g. 3. Do not include any additional text."
NUMBER = "\nAnswer with a single number."


@pytest.mark.parametrize(
    ("key", "ending"),
    [
        (None, NUMBER),
        *[(key, KIT if key in ("qwen2_5_vl", "qwen3_vl") else end) for key, end in ENDINGS.items() if key != "llava"],
    ],
)
def test_the_prompt_of_each_model_family_without_the_caption(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "countbenchqa", key) == QUESTION + ending


def test_lmms_evals_prompt_has_the_caption(cli) -> None:
    caption = "A set of two green dots on white paper"
    assert prompt(cli, "countbenchqa_lmms") == f"{caption}\n\n{QUESTION}{NUMBER}"


HARD = [
    (3, "3", 1),
    (3, " 3\n", 1),
    (3, "3.", 0),
    (3, "three", 0),
    (3, "03", 0),
    (3, "3.0", 0),
    (3, "There are 3 dots.", 0),
    (3, "\\boxed{3}", 0),
    (10, "1", 0),
    (2, "12", 0),
    (10, "10", 1),
    (3, "3 or 4", 0),
    (3, "三", 0),
    (3, "I cannot count them.", 0),
    (3, "<think>1, 2, 3</think>3", 1),
    (3, "<think>1, 2, 3", 0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"number": gold} for gold, _, _ in HARD]
    found = COUNTBENCHQA.scores(cli, tmp_path, docs, [answer for _, answer, _ in HARD], "exact_match,none")
    assert found == [score for _, _, score in HARD]


def test_vlmevalkits_prompt_and_rule(cli, tmp_path) -> None:
    ending = " Note that: answer with a number directly e.g. 3. Do not include any additional text."
    assert prompt(cli, "countbenchqa_vlmevalkit") == QUESTION + ending
    cases = [(3, "There are 3 dots.", 1), (2, "12", 1), (1, "10", 1), (3, "three", 0), (10, "1", 0), (3, "", 0)]
    docs, said = [{"number": gold} for gold, _, _ in cases], [answer for _, answer, _ in cases]
    found = COUNTBENCHQA.scores(cli, tmp_path, docs, said, "contains,none", "countbenchqa_vlmevalkit")
    assert found == [score for _, _, score in cases]
