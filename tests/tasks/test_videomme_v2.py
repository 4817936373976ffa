"""Video-MME-v2: letters A to H, and what a group of four questions is worth.

Letters and points were computed by the authors' evaluation/test_video_mme_v2.py at b24176a.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.videomme_v2.utils import letter_of, mean_of_groups, points, process_results

from mm_eval.values.errors import DocError
from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

LETTERS = [
    ("B", "B"), ("Final Answer: H", "H"), ("The answer is (G).", "G"), ("Because of it, C", "B"), ("Hard to say. D", "H"),
    ("I think so", None), ("", None), ("b", None), ("Best option: E", "E"), ("I", None), ("Answer: **F**", "F"),
]  # fmt: skip
CHAIN, MIDDLE, START = "[1, 2, 3, 4]", "[1, [2, 3], 4]", "[[1, 2], 3, 4]"
WORTH = [
    ("relevance", "None", (1, 0, 1, 0), 1 / 4), ("relevance", "None", (1, 1, 1, -1), 1 / 4), ("relevance", "None", (-1,) * 4, 0),
    ("relevance", "None", (1, 1, 1, 0), 9 / 16), ("logic", CHAIN, (1, 1, 0, 1), 1 / 4), ("logic", CHAIN, (0, 1, 1, 1), 0),
    ("logic", CHAIN, (-1,) * 4, 1), ("logic", CHAIN, (1, -1, 1, 0), 9 / 16), ("logic", MIDDLE, (1, 0, 1, 0), 1 / 3),
    ("logic", MIDDLE, (1, 0, 1, 1), 1 / 3), ("logic", MIDDLE, (1, 1, 1, 0), 7 / 12), ("logic", MIDDLE, (0, 1, 1, 1), 0),
    ("logic", START, (0, 1, 1, 1), 1 / 10), ("logic", START, (1, 0, 1, 1), 1 / 10), ("logic", START, (1, 1, 1, 1), 1),
]  # fmt: skip


@each_of(("answer", "letter"), LETTERS)
def test_the_letter(answer: str, letter: str | None) -> None:
    assert letter_of(answer) == letter


@each_of(("kind", "structure", "marks", "worth"), WORTH)
def test_what_a_group_is_worth(kind: str, structure: str, marks: tuple[int, ...], worth: float) -> None:
    assert points(kind, structure, marks) == pytest.approx(worth)


def test_a_group_without_one_of_its_questions_is_left_out() -> None:
    def item(group: str, place: int) -> dict[str, Any]:
        return {"group": group, "place": place, "kind": "relevance", "structure": "None", "mark": place % 2}

    assert mean_of_groups([*(item("a", place) for place in range(4)), item("b", 1), item("b", 3)]) == 1 / 4


def test_an_unknown_structure_is_named() -> None:
    doc = {"video_id": "1", "place": 0, "group_type": "logic", "group_structure": "[1, 2]", "answer": "A"}
    with pytest.raises(DocError, match=r"'logic' of structure '\[1, 2\]' is unknown"):
        process_results(doc, ["A"])


def test_the_prompts(cli: Any) -> None:
    options = "A. STOP.\nB. EXIT.\nC. MILK.\nD. TAXI.\nE. PULL.\nF. PUSH.\nG. OPEN.\nH. SALE.\n"
    end = (
        "Select the best answer to the following multiple-choice question based on the video. Respond with only the letter "
        "(A, B, C, D, E, F, G, or H) of the correct option."
    )
    asked = prompt(cli, "videomme_v2", doc=2)
    assert asked == f"These are the frames of a video.Question: What is the first word?\n{options}{end}"
    said = prompt(cli, "videomme_v2_w_subtitle", doc=2)
    assert said == asked.replace("video.Q", "video. This video's subtitles are listed below:\nTAXI OPEN\nQ", 1)
    assert prompt(cli, "videomme_v2", "reasoning").endswith("strictly in the format: 'Final Answer: <letter>.")


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """Of the second group the third answer is wrong, of the third one the second, and of the last one none is read."""
    ran = answered(cli, tmp_path, "videomme_v2", ["x"] * 16)
    gold = [row["target"] for row in ran.samples("videomme_v2")]
    said = [*gold[:12], *["none"] * 4]
    said[6] = said[9] = "I am unsure"
    said[3] = "A" if gold[3] != "A" else "B"
    ran = answered(cli, tmp_path, "videomme_v2", said)
    row = ran.results["results"]["videomme_v2"]
    assert row["score,none"] == pytest.approx((9 / 16 + 4 / 16 + 4 / 12 + 0) / 4) and row["unparsed"] == 6
    assert row["script_score,none"] == pytest.approx((9 / 16 + 1 + 1 + 1) / 4)
    assert row["acc,none"] == pytest.approx(9 / 16) and row["score_stderr,none"] > 0
    levels = categories(ran, "videomme_v2", "level", "score,none")
    assert levels == {"1": pytest.approx(9 / 32), "2": pytest.approx(1 / 4), "3": pytest.approx(1 / 3)}
    assert categories(ran, "videomme_v2", "group", "score,none")["relevance"] == pytest.approx(9 / 16)


def test_a_limit_counts_whole_groups(cli: Any) -> None:
    ran = cli("--tasks", "videomme_v2", "--sample", "--model", "dummy", "--limit", 1)
    assert ran.code == 0 and len(ran.samples("videomme_v2")) == 4
