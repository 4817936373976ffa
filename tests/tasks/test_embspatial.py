"""EmbSpatial-Bench: the prompts of two suites, and letters by our own rule."""

from pathlib import Path
from typing import Any

import pytest

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import MadeUp, categories

EMB = MadeUp("embspatial", "FlagEval/EmbSpatial-Bench", "test")
ASKED = "From your perspective, which of the equal balls is at the shortest distance?\n"
BALLS = ("yellow ball", "blue ball", "purple ball", "green ball")
OPTIONS = ["garage door", "cabinet", "table", "cart"]
HARD = [
    # answer, right where C is the answer; None where nothing is read
    ("C", 1), ("C) table", 1), ("(C)", 1), ("The answer is C.", 1), ("**C**", 1), ("table", 1), ("\\boxed{C}", 1), ("B", 0),
    ("The answer is B: cabinet", 0), ("Answer: C", 1), ("", None), ("A and C", None), ("I can't tell.", None), ("chair", None),
]  # fmt: skip


@each_of("key", ["default", "qwen2_5_vl", "qwen3_vl"])
def test_the_prompts(cli: Any, key: str) -> None:
    note = "Note: You only need to respond with A, B, C, D without providing any additional information.\n"
    expected = note + ASKED + "\n".join(f"{letter}) {ball}" for letter, ball in zip("ABCD", BALLS, strict=True))
    if key != "default":
        listed = "".join(f"{letter}: {ball}\n" for letter, ball in zip("ABCD", BALLS, strict=True))
        expected = f"Question: {ASKED}Options:\n{listed}Give me the answer letter directly. The best answer is:"
    assert prompt(cli, "embspatial", key, doc=4) == expected


def test_hard_answers(cli: Any, tmp_path: Path) -> None:
    docs = [{"answer_options": OPTIONS, "answer": 2}] * len(HARD)
    rows = EMB.run(cli, tmp_path, docs, [answer for answer, _ in HARD]).samples("embspatial")
    unread = [row["rules"]["none"][0] == "unparsed" for row in rows]
    scores = [None if none else row["scores"]["acc,none"] for none, row in zip(unread, rows, strict=True)]
    assert scores == [right for _, right in HARD]


def test_the_levels(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "embspatial", ["A"] * 9)
    right = [row["target"] == "A" for row in ran.samples("embspatial")]
    assert ran.results["results"]["embspatial"]["acc,none"] == pytest.approx(sum(right) / 9)
    assert categories(ran, "embspatial", "source", "n") == {"ai2thor": 3, "mp3d": 3, "scannet": 3}
    relations = categories(ran, "embspatial", "relation", "n")
    assert relations == {"above": 1, "close": 3, "far": 2, "left": 1, "right": 1, "under": 1}
