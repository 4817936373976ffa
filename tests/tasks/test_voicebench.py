"""VoiceBench: questions that are only heard, the judge's prompt, and the points in its reply."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.voicebench.utils import judge_prompt, points

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

REPLIES = [("4", 4.0), (" 3.5\n", 3.5), ("Rating: [[2]]", 2.0), ("[[4.5]]", None), ("good", None), ("5 points", None)]


@each_of(("reply", "found"), REPLIES)
def test_the_points_of_a_reply(reply: str, found: float | None) -> None:
    assert points(reply, {}) == found


def test_the_judge_gets_what_was_said_and_the_answer() -> None:
    system, user = judge_prompt({"prompt": "Why {response}?"}, "Because.")
    assert system["content"].startswith("You are a helpful assistant who tries")
    assert "### [Instruction]: Why Because.?\n### [Response]: Because.\n" in user["content"], (
        "as the authors' replacing does"
    )


def test_nothing_is_written_beside_the_sound(cli: Any) -> None:
    assert prompt(cli, "voicebench_commoneval").strip() == "<audio>"


def test_the_checks_of_ifeval_count(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "voicebench_ifeval", ["A cat is soft and small.", "A dog, of course."])
    assert ran.results["results"]["voicebench_ifeval"]["prompt_level_strict_acc,none"] == pytest.approx(0.5)
