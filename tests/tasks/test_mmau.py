"""MMAU and MMAR: the words of an option in the answer, the prompt, and the file for the authors' server.

`names_option` equals string_match of evaluation.py (Sakshi113/MMAU at 110127f) on 200,000 made answers.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.rules.option_words import names_option

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

OPTIONS = ["it rises", "it falls", "it rises and then falls", "Rain"]
ANSWERS = [
    # answer, right option, whether it is named
    ("It rises.", "it rises", True), ("(A) it rises", "it rises", True), ("A", "it rises", False), ("", "it rises", False),
    ("it rises and then falls", "it rises", False), ("then it falls and rises", "it rises and then falls", True),
    ("it rises", "it rises and then falls", False), ("not rain", "Rain", True), ("rainy", "Rain", False),
    ("RAIN, no doubt", "Rain", True), ("rain, or it falls", "Rain", False),
]  # fmt: skip


@each_of(("answer", "right", "named"), ANSWERS)
def test_the_words_of_an_option(answer: str, right: str, named: bool) -> None:
    assert names_option(answer, right, OPTIONS) is named


def test_options_with_the_same_words_are_one() -> None:
    assert names_option("falls it", "it falls", ["it falls", "falls it", "it rises"])


def test_the_prompts(cli: Any) -> None:
    first = "What is heard in the audio?"
    options = ["beeps", "a melody", "a spoken word", "a tone"]
    shown = prompt(cli, "mmau_mini")
    listed = shown.partition("options:\n")[2].splitlines()
    assert shown.endswith("\n".join(listed)) and shown.partition(f"{first} Choose the correct option")[1]
    assert [line[:4] for line in listed] == ["(A) ", "(B) ", "(C) ", "(D) "] and len(options) == len(listed)
    letters = prompt(cli, "mmau_mini", "letter")
    assert "\nA. " in letters and letters.endswith("\nAnswer with the option's letter from the given choices directly.")


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "mmau_mini", ["a melody", "very low", *[""] * 38])
    targets = [row["target"] for row in ran.samples("mmau_mini")]
    right = (targets[0] == "a melody") + (targets[1] == "very low")
    assert ran.results["results"]["mmau_mini"]["acc,none"] == pytest.approx(right / 40)
    assert categories(ran, "mmau_mini", "domain", "n") == {"music": 8, "sound": 25, "speech": 7}


def test_the_file_for_the_server(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "mmau", ["beeps"] * 10)
    [path] = ran.folder.rglob("mmau_test.json")
    [first, *_] = json.loads(path.read_text(encoding="utf-8"))
    assert first["model_output"] == first["model_prediction"] == "beeps"
    assert isinstance(first["choices"], list) and first["task"] and "answer" not in first and "audio" not in first


def test_mmar_counts_the_same_words(cli: Any, tmp_path: Path) -> None:
    gold = [row["target"] for row in answered(cli, tmp_path, "mmar", ["x"] * 6).samples("mmar")]
    ran = answered(cli, tmp_path, "mmar", [f"(B) {each}" for each in gold[:3]] + ["B"] * 3)
    assert ran.results["results"]["mmar"]["acc,none"] == pytest.approx(0.5)
    assert sum(categories(ran, "mmar", "layer", "n").values()) == 6
    assert "Choose the correct option from the following options:\n(A) " in prompt(cli, "mmar")
