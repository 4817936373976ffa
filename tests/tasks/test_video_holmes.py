"""Video-Holmes: the authors' prompt, and the letter that their script finds.

The letters were computed by their evaluate.py at 52ef8da.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.video_holmes.utils import doc_to_text, letter_of

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

LETTERS = [
    # reply, the letter
    ("<answer>B</answer>", "B"), ("<answer> B: Siblings </answer>", "B"), ("<answer>B. Siblings</answer>", "B"), ("C", "C"),
    ("<think>A or B</think><answer>C</answer>", "C"), ("<answer>A</answer> no: <answer>D</answer>", "D"), ("[E]", "E"),
    ("The answer is F.", "F"), ("<answer>D: A man</answer>", "A"), ("<answer>F: Cleaners</answer>", "F"), ("D or [C", "C"),
    ("A question. It is D", "A"), ("It is D, not B", "B"), ("<answer>b</answer>", None), ("<answer></answer> D", None),
    ("<answer>none</answer>", None), ("", None), ("<answer>B", "B"),
]  # fmt: skip


@each_of(("reply", "letter"), LETTERS)
def test_the_letter(reply: str, letter: str | None) -> None:
    assert letter_of(reply) == letter


def test_an_option_that_a_question_lacks_is_not_listed() -> None:
    block = {"pre_prompt": "", "options_prompt": " ", "mark": ": ", "between": ", ", "post_prompt": "!"}
    assert (
        doc_to_text({"Question": "Who?", "Options": {"A": "he", "B": "she", "F": None}}, block) == "Who? A: he, B: she!"
    )


def test_the_prompts(cli: Any) -> None:
    asked = (
        "Based on the given video, reason and answer the single-choice question. Provide your reasoning between the <think> and "
        "</think> tags, and then give your final answer between the <answer> and </answer> tags. The question is: What does the "
        "square do last?. The options are: A: It moves right, B: It moves down, C: It moves up, D: It blinks, E: It moves left. "
        "Your answer:"
    )
    assert prompt(cli, "video_holmes", doc=3) == asked
    assert prompt(cli, "video_holmes", "direct", doc=3).startswith(
        "Question: What does the square do last?\nA. It moves right\n"
    )


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """Right: the first and the last."""
    ran = answered(cli, tmp_path, "video_holmes", ["<answer>D</answer>", "none", "<answer>A</answer>", "E"])
    assert [row["target"] for row in ran.samples("video_holmes")] == ["D", "F", "F", "E"]
    row = ran.results["results"]["video_holmes"]
    assert row["acc,none"] == pytest.approx(1 / 2) and row["unparsed"] == 1
    assert categories(ran, "video_holmes", "kind", "acc,none") == {"CTI": 0.5, "TCI": 0.5}
