"""PixMo-Count: the first digits of an answer are its number."""

from typing import Any

from tests.tasks.made_up import MadeUp, categories, prompt

PIXMO = MadeUp("pixmo_count", "kcz358/pixmo-count", "test")
HARD = [
    ("3", "3", 1),
    ("3", " 3\n", 1),
    ("3", "3.", 1),
    ("3", "There are 3 circles.", 1),
    ("3", "\\boxed{3}", 1),
    ("3", "**3**", 1),
    ("3", "3 or 4", 1),
    ("4", "3 or 4", 0),
    ("3", "<think>1, 2, 3, 4</think>3", 1),
    ("3", "3.0", 1),
    ("3", "03", 0),
    ("3", "13", 0),
    ("10", "1", 0),
    ("3", "three", None),
    ("3", "三", None),
    ("3", "B and C", None),
    ("3", "I cannot count them.", None),
    ("3", "", None),
    ("3", "<think>1, 2, 3", None),
]


def test_hard_answers(cli: Any, tmp_path: Any) -> None:
    ran = PIXMO.run(cli, tmp_path, [{"answer": gold} for gold, _, _ in HARD], [answer for _, answer, _ in HARD])
    rows = ran.samples("pixmo_count")
    unread = [row["rules"]["none"][0] in ("unparsed", "truncated") for row in rows]
    scores = [row["scores"]["acc,none"] for row in rows]
    assert [None if none else score for none, score in zip(unread, scores, strict=True)] == [
        right for _, _, right in HARD
    ]
    assert all(score == 0 for none, score in zip(unread, scores, strict=True) if none)
    assert categories(ran, "pixmo_count", "number", "n") == {"3": 17, "4": 1, "10": 1}


def test_the_prompt_has_no_mark(cli: Any) -> None:
    assert prompt(cli, "pixmo_count") == "How many green circles are there in the image?\nAnswer with a single number."
