"""MMSU, AIR-Bench and OmniBench: the letters of their authors' scripts, and their prompts.

`letter_of` equals mmsu_evaluation.py (dingdongwang/MMSU_Bench at 321b276), and rule "omnibench" answer_parsing.py
(multimodal-art-projection/OmniBench at 21a7f75), on 200,000 made answers each, but for answers without a letter.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.mmsu.utils import letter_of
from mm_eval.tasks.rules.mmmu import mmmu_letter

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

OPTIONS = ["circle", "square", "star", "triangle"]
MMSU = [
    ("B", "B"), ("B. four", "B"), ("The answer is C.", "C"), ("The answer is C", None), ("(D)", "D"), ("Because", "B"),
    ("\nA\n", "A"), ("None", None), ("", None), ("b", None), ("**A**", None),
]  # fmt: skip
OMNIBENCH = [
    ("A", "A"), ("(C)", "C"), ("The answer is B.", "B"), ("A. circle", "A"), ("A or B", "B"), ("b", None),
    ("I think that it is the square", "B"), ("the square", None), ("", None), ("A, I mean D ", "D"),
]  # fmt: skip


@each_of(("answer", "letter"), MMSU)
def test_the_first_character_or_the_last_but_one(answer: str, letter: str | None) -> None:
    assert letter_of(answer) == letter


@each_of(("answer", "letter"), OMNIBENCH)
def test_mmmus_letter_with_its_punctuation(answer: str, letter: str | None) -> None:
    assert mmmu_letter(answer, OPTIONS, "omnibench")[0] == letter


def test_the_prompts(cli: Any) -> None:
    asked = prompt(cli, "mmsu")
    assert "Do not provide any additional explanations or content.\n\nQuestion: Which number is said?\n\nA. " in asked
    asked = prompt(cli, "omnibench")
    assert "Please answer the following question based on the given image and audio:\n" in asked
    assert "?.\nPlease choose only one answer from the following options:\nA. " in asked and asked.endswith(".")
    assert prompt(cli, "omnibench", "direct").endswith(
        "Answer with the option's letter from the given choices directly."
    )


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    targets = [row["target"] for row in answered(cli, tmp_path, "mmsu", ["x"] * 4).samples("mmsu")]
    ran = answered(cli, tmp_path, "mmsu", [targets[0], f"The answer is {targets[1]}.", "none of them", ""])
    row = ran.results["results"]["mmsu"]
    assert row["acc,none"] == pytest.approx(0.5) and row["unparsed"] == 2


def test_a_missing_option_of_air_bench_is_written_as_none(cli: Any, tmp_path: Path) -> None:
    task = "air_bench_foundation_sound"
    asked = prompt(cli, task, doc=1)
    begin = "Choose the most suitable answer from options A, B, C, and D to respond the question in next line, "
    assert f"{begin}you may only choose A or B or C or D.\n" in asked and asked.endswith("\nC. None\nD. None")
    ran = answered(cli, tmp_path, task, ["none of them", "B. it is"])
    row = ran.results["results"][task]
    assert row["acc,none"] == pytest.approx(0.5) and row["unparsed"] == 1


def test_a_question_of_omnibench_shows_its_picture_and_its_sound(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "omnibench", ["A"] * 6)
    rows = ran.samples("omnibench")
    assert ran.results["results"]["omnibench"]["acc,none"] == pytest.approx(
        sum(row["target"] == "A" for row in rows) / 6
    )
