"""MINERVA: the prompt of lmms-eval, the letter of a number, and videos named by their ids."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.minerva.utils import doc_to_target, doc_to_visual

from mm_eval.values.errors import DocError
from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories


@each_of("stated", ["a-b_c", "https://www.youtube.com/watch?v=a-b_c", "https://youtu.be/a-b_c"])
def test_the_file_of_a_video(stated: str) -> None:
    assert doc_to_visual({"video_id": stated})[0].path == "a-b_c.mp4"


@each_of(("place", "letter"), [(0, "A"), ("4", "E")])
def test_the_letter_of_a_number(place: object, letter: str) -> None:
    assert doc_to_target({"answer_id": place}) == letter


def test_a_number_that_no_choice_has_is_named() -> None:
    with pytest.raises(DocError, match="'answer_id' is 5; expected 0 to 4"):
        doc_to_target({"answer_id": 5})


def test_the_prompt(cli: Any) -> None:
    assert prompt(cli, "minerva", doc=1) == (
        "What does the circle do last?\nA. It blinks.\nB. It moves left.\nC. It moves up.\nD. It grows.\nE. It moves right.\n"
        "Answer with the option's letter from the given choices directly."
    )


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """The second one is right, and none is guessed."""
    ran = answered(cli, tmp_path, "minerva", ["none", "The answer is E, not A.", "none", "none", "none", "none"])
    row = ran.results["results"]["minerva"]
    assert row["acc,none"] == pytest.approx(1 / 6) and row["unparsed"] == 5
    assert categories(ran, "minerva", "domain", "acc,none")["Short Films"] == 0.5
