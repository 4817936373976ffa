"""Charades-STA: the spans that answers name, and their overlap with the right one."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.charades_sta import utils

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

DOC = {"timestamp": [2.0, 6.0]}
HARD = [
    # the spans as lmms-eval's code finds them, all of them
    ("The event happens in the 2.0 - 6.0 seconds.", [(2, 6)]),
    ("2 - 6", [(2, 6)]),
    ("From 2 to 6 seconds", [(2, 6)]),
    ("2.0s - 6.0s", [(2, 6)]),
    ("6 – 2", [(2, 6)]),
    ("0:02 - 0:06", [(2, 6)]),
    ("It starts at 00:00:02 and ends at 00:00:06.", [(2, 6)]),
    ("Start time: 2\nEnd time: 6", [(2, 6)]),
    ("I see 1 - 3 cups!\nIt happens in 2 - 6.", [(2, 6)]),
    ("2 - 6, so 2.0 - 6.0", [(2, 6)]),
    ("2 - 6 or 10 - 12", [(2, 6), (10, 12)]),
    ("It happens in 2 - 6 and 7 - 8.", [(2, 6), (7, 8)]),
    ("3\n4\n5\n6", [(3, 4), (5, 6)]),
    ("It starts at 2 and ends at 6.", []),
    ("2", []),
    ("two - six", []),
    ("I'm sorry, I can't find it.", []),
    ("", []),
]


@each_of(("answer", "expected"), HARD)
def test_spans_of_hard_answers(answer: str, expected: list[tuple[float, float]]) -> None:
    assert utils.spans(answer) == expected


@each_of(
    ("answer", "overlap", "reached", "rule"),
    [
        ("2 - 6", 1, [1, 1, 1], "one_span"),
        ("6 - 2", 1, [1, 1, 1], "one_span"),
        ("2 - 4.8", 0.7, [1, 1, 1], "one_span"),
        ("2 - 4", 0.5, [1, 1, 0], "one_span"),
        ("0 - 12", 1 / 3, [1, 0, 0], "one_span"),
        ("5 - 9", 1 / 7, [0, 0, 0], "one_span"),
        ("6 - 9", 0, [0, 0, 0], "one_span"),
        ("4 - 4", 0, [0, 0, 0], "one_span"),
        ("2 - 6, or 10 - 12", 0, [0, 0, 0], "several_spans"),
        ("I can't find it.", 0, [0, 0, 0], "unparsed"),
    ],
)
def test_overlaps(answer: str, overlap: float, reached: list[int], rule: str) -> None:
    found = utils.process_results(DOC, [answer])
    assert found["miou"] == pytest.approx(overlap) and found["__rule__"] == rule
    assert [found[f"iou_{bound}"] for bound in (0.3, 0.5, 0.7)] == reached


def test_the_sample_by_hand(cli: Any, tmp_path: Path) -> None:
    assert prompt(cli, "charades_sta").endswith(
        "Now I will give you the textual sentence: the cross moves left. Please return its start time and end time."
    )
    ran = answered(
        cli, tmp_path, "charades_sta", ["0 - 1", "The event happens in the 0.5 - 2.0 seconds", *["0 - 1 or 1 - 2"] * 10]
    )
    row = ran.results["results"]["charades_sta"]
    assert [row[f"{name},none"] for name in ("miou", "iou_0.3", "iou_0.5", "iou_0.7")] == pytest.approx(
        [(1 + 2 / 3) / 12, 2 / 12, 2 / 12, 1 / 12]
    )
