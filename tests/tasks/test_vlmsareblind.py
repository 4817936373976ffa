"""BlindTest: the form of an answer by its task, the mean over tasks, and the two kinds of grids as one."""

from typing import Any

import pytest

from tests.tasks.answers import answered
from tests.tasks.made_up import MadeUp, categories, prompt

BLIND = MadeUp("vlmsareblind", "XAI/vlmsareblind", "valid")
CROSSINGS, CIRCLES, LETTER = "Line Plot Intersections", "Touching Circles", "Circled Letter"
BLANK, WORDS = "Counting Grid - Blank Grids", "Counting Grid - Word Grids"
HARD = [
    (CROSSINGS, "2", "{2}", 1),
    (CROSSINGS, "2", "2", 1),
    (CROSSINGS, "2", "The lines touch {2} times.", 1),
    (CROSSINGS, "2", "{ 2 }", 1),
    (CROSSINGS, "2", "Of 3 lines, {2}", 0),  # the first number
    (CROSSINGS, "2", "two", None),
    (CROSSINGS, "12", "{1}", 0),
    (CROSSINGS, "2", "<think>{1}</think>{2}", 1),
    ("Nested Squares", "4", "\\boxed{4}", 1),
    ("Olympic Counting - Pentagons", "5", "5.", 1),
    ("Subway Connections", "0", "{0}", 1),
    (CIRCLES, "Yes", "yes", 1),
    (CIRCLES, "Yes", " YES\n", 1),
    (CIRCLES, "Yes", "Yes.", None),
    (CIRCLES, "No", "No, they are apart", None),
    (CIRCLES, "No", "Yes", 0),
    (CIRCLES, "Yes", "是", None),
    (LETTER, "m", "{m}", 1),
    (LETTER, "M", "m", 1),
    (LETTER, "m", "The letter is {m}", 0),  # t, the first letter
    (LETTER, "m", "3", None),
    (BLANK, "3,4", "rows={3} columns={4}", 1),
    (BLANK, "3,4", "{3} {4}", 1),
    (BLANK, "3,4", "{3}{4}", 1),
    (WORDS, "3,4", "(3, 4)", 1),
    (WORDS, "3,4", "Rows={3} Columns={4}", 1),
    (WORDS, "3,4", "rows={4} columns={3}", 0),
    (WORDS, "3,4", "rows={3}, columns={4}", None),
    (WORDS, "3,4", "3 rows and 4 columns", None),
    (WORDS, "3,4", "", None),
    (WORDS, "3,4", "I can't see a grid.", None),
]


def test_hard_answers(cli: Any, tmp_path: Any) -> None:
    docs = [{"task": task, "groundtruth": truth} for task, truth, _, _ in HARD]
    rows = BLIND.run(cli, tmp_path, docs, [answer for _, _, answer, _ in HARD]).samples("vlmsareblind")
    scores = [row["scores"]["accuracy,none"] for row in rows]
    unread = [row["rules"]["none"][0] in ("unparsed", "truncated") for row in rows]
    assert [None if none else score for none, score in zip(unread, scores, strict=True)] == [case[-1] for case in HARD]
    assert not any(score for none, score in zip(unread, scores, strict=True) if none)


def test_the_mean_over_tasks(cli: Any, tmp_path: Any) -> None:
    """Right: both line plots, one of two pairs of circles, one of two grids. The mean is over eight tasks."""
    said = ["1", "0", "yes", "yes", *["-"] * 4, "{3}{4}", "-", "-"]
    ran = answered(cli, tmp_path, "vlmsareblind", said)
    row = ran.results["results"]["vlmsareblind"]
    assert row["accuracy,none"] == pytest.approx(4 / 11)
    assert row["task_mean,none"] == pytest.approx((1 + 0.5 + 0.5) / 8)
    assert categories(ran, "vlmsareblind", "task", "accuracy,none")["Counting Grid"] == 0.5
    assert len(categories(ran, "vlmsareblind", "subtask", "n")) == 9


def test_the_prompt(cli: Any) -> None:
    asked = "Are the two circles touching each other? Answer with Yes/No.\nAnswer only in the required format."
    assert prompt(cli, "vlmsareblind", doc=2) == asked
