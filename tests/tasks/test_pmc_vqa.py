"""PMC-VQA: the letter most similar to a reply, by the authors' src/MedVInT_TE/test.py at 1678ec2, and our own reading."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.pmc_vqa.utils import letter_of

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

LETTERS = [
    ("B", "B"), ("B:Focal uptake", "B"), ("The answer is B", "B"), ("Answer: B", "A"), ("D, not C", "C"), ("b", None), ("", None),
    ("Because it is D", "B"), ("none", None), ("Is it B? " + "B is the Bone. " * 20 + "C", "C"),
]  # fmt: skip


@each_of(("reply", "letter"), LETTERS)
def test_the_most_similar_letter(reply: str, letter: str | None) -> None:
    assert letter_of(reply) == letter


def test_the_prompts(cli: Any) -> None:
    choices = " A:silver   B:maroon   C:beige   D:blue "
    asked = "Question:  What is the color of one square? "
    assert prompt(cli, "pmc_vqa", doc=1) == f"{asked}The choices are: {choices}The Answer is: "
    assert prompt(cli, "pmc_vqa", "letter", doc=1).endswith("\nAnswer with the letter of the right choice only.")


def test_both_readings_of_a_run(cli: Any, tmp_path: Path) -> None:
    """The gold letters are C, D, A, and those of three more."""
    ran = answered(cli, tmp_path, "pmc_vqa", ["Answer: C", "D", "A", "none", "none", "none"])
    assert [row["target"] for row in ran.samples("pmc_vqa")][:3] == ["C", "D", "A"]
    row = ran.results["results"]["pmc_vqa"]
    assert (
        row["acc,none"] == pytest.approx(2 / 6) and row["acc,letter"] == pytest.approx(3 / 6) and row["unparsed"] == 3
    )
