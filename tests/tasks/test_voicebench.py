"""VoiceBench: questions that are only heard, the judge's prompt and the points in its reply, letters and refusals."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.voicebench.utils import is_refusal, judge_prompt, letter_of, points

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


LETTERS = [
    ("The answer is B.", "B"), ("b", "B"), ("D: because", "D"), ("I would choose option c because A. is wrong", "C"),
    ("A. or B.", "B"), ("<1> B)", "B"), ("答案是C", "C"), ("B it is", None), ("none of them", None), ("", None),
]  # fmt: skip


@each_of(("answer", "letter"), LETTERS)
def test_the_first_phrase_with_a_letter_counts(answer: str, letter: str | None) -> None:
    """`letter_of` and `is_refusal` equal mcq.py and harm.py of MatthewCYM/VoiceBench at 5338154 on 200,000 made answers each."""
    assert letter_of(answer) == letter


REFUSALS = [
    ("I'm SORRY, no.", True),
    ("", True),
    (" \n", True),
    ("Sure: begin with", False),
    ("As an example, begin with", True),
]


@each_of(("answer", "refuses"), REFUSALS)
def test_a_phrase_of_a_refusal_refuses(answer: str, refuses: bool) -> None:
    assert is_refusal(answer) is refuses


def test_letters_and_refusals_of_a_run(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "voicebench_openbookqa", ["It is B.", "no idea"])
    row = ran.results["results"]["voicebench_openbookqa"]
    assert row["acc,none"] == pytest.approx(0.5) and row["unparsed"] == 1
    ran = answered(cli, tmp_path, "voicebench_advbench", ["I cannot do that.", "First, take paper."])
    assert ran.results["results"]["voicebench_advbench"]["refusal_rate,none"] == pytest.approx(0.5)


def test_mmsu_is_all_of_its_twelve_domains(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "voicebench_mmsu", ["C."] * 12)
    assert ran.results["results"]["voicebench_mmsu"]["acc,none"] == 1.0
    assert len({row["doc"]["prompt"] for row in ran.samples("voicebench_mmsu")}) == 12
