"""SLAKE: which short answers are equal, by lmms-eval's rule at 75571cf, and the two languages."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.slake.utils import process_results

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

HARD = [
    # answer, reply, whether it is right, whether it is read
    ("Lung", "lung.", True, True), ("Lung", "It is the lung.", False, True), ("Lung", "Lung (left)", True, True),
    ("X-Ray", "x ray", True, True), ("X-Ray", "Xray", True, True), ("Yes", "true", True, True), ("No", "Nope!", True, True),
    ("是的", "有", True, True), ("是的", "正常", True, True), ("不包含", "没有。", True, True),
    ("Lung, Heart", "Heart, lung", False, True),
    ("2", "two", False, True), ("Lung", "（肺）", False, False), ("Lung", "", False, False), ("()", "()", False, False),
]  # fmt: skip


@each_of(("answer", "reply", "right", "is_read"), HARD)
def test_hard_replies(answer: str, reply: str, right: bool, is_read: bool) -> None:
    found = process_results({"answer": answer}, [reply])
    assert (found["acc"], found["__rule__"] != "unparsed") == (right, is_read)


def test_each_language_asks_its_questions_in_its_words(cli: Any) -> None:
    assert prompt(cli, "slake_en").endswith("?\nAnswer the question using a single word or phrase.")
    assert prompt(cli, "slake_zh", doc=1) == "图片中包含大象吗？\n请用一个词或短语回答问题。"


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    said = {"slake_en": ["none", "yes"] * 3, "slake_zh": ["CT", "没有"] + ["none", "none"] * 2}
    ran = answered(cli, tmp_path, "slake", said)
    assert ran.results["results"]["slake_en"]["acc,none"] == pytest.approx(1 / 2)
    assert ran.results["groups"]["slake"]["acc,none"] == pytest.approx(5 / 12)
    assert categories(ran, "slake_en", "answer", "acc,none") == {"CLOSED": 1.0, "OPEN": 0.0}
    assert categories(ran, "slake_zh", "modality", "acc,none")["CT"] == 1.0
