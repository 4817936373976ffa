"""TreeBench: two prompts of its authors, and the letter that their class in VLMEvalKit finds.

The letters were computed by VLMEvalKit at e8e78f0; an empty reply, which is A there, is unparsed here.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.treebench.utils import doc_to_text, letter_of

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

OPTIONS = "A. cross\nB. square\nC. circle\nD. triangle"
LETTERS = [
    # reply, the letter
    ("D", "D"), ("(D)", "D"), ("The answer is D.", "D"), ("The best option is B: Dog", "B"), ("Because of D", "B"), ("b", "B"),
    ("(c", "C"),
    ("<think>A or B</think><answer>d</answer>", "D"), ("<answer>A</answer> or <answer>B</answer>", "A"), ("It is D", "D"),
    ("<answer>triangle</answer>", "A"), ("F", None), ("triangle", None), ("", None), ("The answer is", None), ("f", None),
    ("The answer is b", None), ("<answer></answer>D", None),
]  # fmt: skip


@each_of(("reply", "letter"), LETTERS)
def test_the_letter(reply: str, letter: str | None) -> None:
    assert letter_of(reply) == letter


def test_the_prompts(cli: Any) -> None:
    asked = f"Question: Which shape is red?\nOptions:\n{OPTIONS}\nAnswer with the correct option's letter directly. \n"
    assert prompt(cli, "treebench", doc=1) == asked
    assert prompt(cli, "treebench", "reasoning", doc=1) == (
        f"Which shape is red? Options:\n{OPTIONS}\nSelect the best answer to the above multiple-choice question based on the "
        "image. After the reasoning process, respond with only the letter of the correct option between <answer> and </answer>."
    )


def test_a_question_without_columns_of_options_has_no_list() -> None:
    doc = {"question": "What does it say? A. STOP B. GO", "A": None, "B": "", "multi-choice options": ""}
    assert doc_to_text(doc, {"script": "", "post_prompt": "x"}) == "Question: What does it say? A. STOP B. GO\n"


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "treebench", ["A", "B", "C", "D", "none", ""])
    targets = [row["target"] for row in ran.samples("treebench")]
    row = ran.results["results"]["treebench"]
    right = [said == target for said, target in zip("ABCD", targets, strict=False)]
    assert row["acc,none"] == pytest.approx(sum(right) / 6) and 0 < sum(right) < 4 and row["unparsed"] == 2
    assert categories(ran, "treebench", "part", "n") == {"Perception": 4, "Reasoning": 2}
