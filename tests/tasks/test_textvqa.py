"""TextVQA: prompts with and without OCR tokens, and the score of TextVQA's own processor."""

import pytest

from tests.tasks.made_up import ENDINGS, SHORT, MadeUp, prompt

TEXTVQA = MadeUp("textvqa_val", "lmms-lab/textvqa", "validation")
QUESTION = "What is the name of the street?"
TOKENS = "\nReference OCR token: NORTH, ST, Exit, 24"


@pytest.mark.parametrize(("key", "ending"), [(None, SHORT), ("ocr", TOKENS + SHORT), *ENDINGS.items()])
def test_the_prompt_of_each_model_family(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "textvqa_val", key) == QUESTION + ending


def test_the_line_of_ocr_tokens_stays_where_there_are_none(cli) -> None:
    assert prompt(cli, "textvqa_val", "ocr", 8) == f"What does the sign say?\nReference OCR token: {SHORT}"


TEN = ["north st"] * 4 + ["north street"] * 3 + ["north"] * 2 + ["st"]
HARD = [
    (TEN, "North St.", 1.0),
    (TEN, "north street", 0.9),
    (TEN, "the north", 0.6),
    (TEN, "ST", 0.3),
    (TEN, "The answer is north st", 0.0),
    (["yes"] * 10, "Yes", 1.0),
    (["yes"] * 10, "yes, there is no dog", 0.0),
    (["levi's"] * 10, "Levi 's", 1.0),
    (["1,000"] * 10, "1000", 1.0),
    (["1,234.50"] * 10, "1234.50", 1.0),
    (["25 %"] * 10, "25 %", 1.0),
    (["25%"] * 10, "25 %", 0.0),
    (["24/7"] * 10, "24 7", 1.0),
    (["usa"] * 10, "U.S.A.", 1.0),
    (["2"] * 10, "two", 1.0),
    (["dont walk"] * 10, "don't walk", 1.0),
    (["10:30"] * 10, "10:30", 1.0),
    (["unanswerable"] * 10, "unanswerable", 1.0),
    (["unanswerable"] * 10, "I cannot read it.", 0.0),
    (["出口"] * 10, "出口", 1.0),
    (["klm"] * 10, "<think>KLM?</think>KLM", 1.0),
    (["klm"] * 10, "<think>KLM", 0.0),
    (["a"] * 10, "", 1.0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"answers": people} for people, _, _ in HARD]
    found = TEXTVQA.scores(cli, tmp_path, docs, [answer for _, answer, _ in HARD], "vqa_accuracy,none")
    assert found == [pytest.approx(score) for _, _, score in HARD]
