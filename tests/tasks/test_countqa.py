"""CountQA: the first number of a reply, exact and near, as evalscope's adapter count_qa at fde259d counts."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.countqa.utils import SYSTEM, process_results

from tests.sets import each_of
from tests.tasks.answers import answered
from tests.tasks.made_up import categories

HARD = [
    # right number, reply, acc, ra_5, ra_10, whether it is read
    ("12", "12", 1, 1, 1, True), ("12", "**12**.", 1, 1, 1, True), ("12", "There are 12 of 15.", 1, 1, 1, True),
    ("12", "-12", 1, 1, 1, True),
    ("100", "105", 0, 1, 1, True), ("100", "106", 0, 0, 1, True), ("100", "90", 0, 0, 1, True), ("100", "111", 0, 0, 0, True),
    ("7", "Row 1 has 3, row 2 has 4. Total: 7", 0, 0, 0, True), ("1200", "1,200", 0, 0, 0, True), ("0", "0", 1, 1, 1, True),
    ("0", "1", 0, 0, 0, True), ("5", "5.4", 1, 1, 1, True), ("3", "three", 0, 0, 0, False), ("0", "", 0, 0, 0, False),
]  # fmt: skip


@each_of(("answer", "reply", "acc", "five", "ten", "is_read"), HARD)
def test_hard_replies(answer: str, reply: str, acc: int, five: int, ten: int, is_read: bool) -> None:
    found = process_results({"answer": answer}, [reply])
    assert (found["acc"], found["ra_5"], found["ra_10"], found["__rule__"] != "unparsed") == (acc, five, ten, is_read)


def test_each_question_of_a_photo_is_asked_behind_the_system_text(cli: Any) -> None:
    shown = cli("show", "countqa", "--sample", "--model", "dummy", "--doc", 2).out
    assert SYSTEM in shown and "How many circles and squares are there?" in shown


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """Six questions on four photos; the third one is on the same photo as the second."""
    ran = answered(cli, tmp_path, "countqa", ["0"] * 6)
    gold = [row["target"] for row in ran.samples("countqa")]
    assert [row["cluster"] for row in ran.samples("countqa")][1:3] == [["1"], ["1"]]
    ran = answered(cli, tmp_path, "countqa", [gold[0], "none", str(int(gold[2]) + 1), "0", "0", "0"])
    row = ran.results["results"]["countqa"]
    assert row["acc,none"] == pytest.approx(1 / 6) and row["ra_5,none"] == pytest.approx(2 / 6) and row["unparsed"] == 1
    assert categories(ran, "countqa", "focused", "n") == {"False": 3, "True": 3}
