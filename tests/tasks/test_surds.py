"""SURDS: questions made of objects, options in tags, pairs, and points in a box.

Questions, marks and scores are those of hfdata_to_eval_vqa.py and eval_from_json.py of XiandaGuo/Drive-MLLM at 7895f99.
"""

import random
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.surds.questions import MAKE, SAME, depth_ranges
from mm_eval.tasks.surds.utils import centerness, choice, point

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

CAR = {"options": ["The red car", "The van (left)", SAME], "answer": "The red car"}
FAR = {
    "options": ["Between 1 meter and 4 meters", "Between 6 meters and 10 meters"],
    "answer": "Between 1 meter and 4 meters",
}
MARKS = [
    # question, reply, whether it is right, whether it is read
    (CAR, "<answer>The red car</answer>", True, True), (CAR, "<think>a van</think><answer>\nthe RED car.</answer>", True, True),
    (CAR, "The red car", False, False), (CAR, "<answer>red car</answer>", False, False),
    (CAR, "<answer>A the red car</answer>", True, True),
    (CAR, "<answer>The red car, since it is near</answer>", False, True), (CAR, "<answer>Almost the same</answer>", False, True),
    (CAR, "<answer>The van (left)</answer>", False, False), (CAR, "<answer>The red car</answer><answer>x</answer>", True, True),
    (CAR, "<answer></answer>", False, False), (CAR, "", False, False),
    (FAR, "<answer>between 1 meter and 4 meters</answer>", True, True), (FAR, "<answer>1 to 4 meters</answer>", False, False),
    (FAR, "<answer>Between 1 meter, and 4 meters</answer>", False, False),
]  # fmt: skip
POINTS = [
    ("[800, 450]", (800, 450)), ("[0.5, 0.25]", (800, 225)), ("It is at [800,450].", (800, 450)),
    ("[100, 200, 301, 300]", (200, 250)),
    ("[0.1, 0.2, 0.4, 0.4]", (0, 0)), ("(800, 450)", None), ("[1600, 450]", None), ("[-1, 450]", None), ("[05, 450]", None),
    ("[800, 450,]", (800, 450)), ("[800]", None), ("[800 450]", None), ("[..., 5]", None), ("[a] [1, 2]", (1, 2)),
    ("[1, 0]", (1, 0)),
]  # fmt: skip


@each_of(("doc", "reply", "right", "is_read"), MARKS)
def test_an_option_in_tags(doc: dict[str, Any], reply: str, right: bool, is_read: bool) -> None:
    found, rule = choice(doc, reply)
    assert (found, rule != "unparsed") == (right, is_read)


@each_of(("answer", "where"), POINTS)
def test_the_point_of_an_answer(answer: str, where: tuple[float, float] | None) -> None:
    assert point(answer) == where


@each_of(
    ("where", "score"), [((50, 50), 1), ((25, 50), (1 / 3) ** 0.5), ((25, 75), 1 / 3), ((0, 50), 0), ((101, 50), 0)]
)
def test_a_point_is_worth_more_near_the_middle(where: tuple[float, float], score: float) -> None:
    assert centerness(where, [0, 0, 100, 100]) == pytest.approx(score)


def row(*objects: tuple[str, int, float, float]) -> dict[str, Any]:
    """A picture of objects: name, how far right, depth, distance."""
    names, rights, depths, distances = ([each[place] for each in objects] for place in range(4))
    points = [[right, 450] for right in rights]
    return {
        "descs": names,
        "yaw_descs": ["West"] * len(names),
        "xy2Ds": points,
        "depths": depths,
        "distances": distances,
    }


ROWS = [
    row(("red car", 400, 5.0, 6.0)),
    row(("dog", 100, 5.0, 5.5), ("cat", 199, 5.5, 6.5)),
    row(("bus", 900, 20.0, 21.0)),
]


def test_differences_that_are_none() -> None:
    """99 pixels are none, and 1 metre of distance; half a metre of depth is one."""
    answers = {kind: [asked[2] for asked in MAKE[kind](ROWS)] for kind in MAKE}
    assert answers["distance"] == answers["left_right"] == [SAME, SAME]
    assert answers["front_behind"] == ["No", "Yes"] and answers["yaw"] == ["West", "East"]
    farther = [row(("dog", 100, 5.0, 5.4), ("cat", 200, 5.4, 6.5)), ROWS[0]]
    answers = {kind: [asked[2] for asked in MAKE[kind](farther)] for kind in MAKE}
    assert answers["distance"] == answers["left_right"] == ["The dog", "The cat"]
    assert answers["front_behind"] == ["Almost the same in terms of front-back position"] * 2


def test_what_the_seed_draws() -> None:
    """As the authors' script draws it: one of the two pictures with one thing, its options, and its ranges."""
    (place, _, _, named, turns), _ = MAKE["yaw"](ROWS)
    assert (place, named) == (0, {"camera": "North", "name": "the red car"})
    assert turns == ["South", "East", "West", "North"]
    [(_, _, right, _, ranges)] = MAKE["depth"](ROWS)
    assert right == "Between 2 meters and 8 meters"
    assert ranges == [right, "Between 13 meters and 16 meters", "Between 9 meters and 12 meters"]


@each_of(("depth", "places"), [(5.0, (0, 1, 2)), (10.0, (1, 0, 2)), (20.0, (2, 1, 0))])
def test_where_the_wrong_ranges_lie(depth: float, places: tuple[int, ...]) -> None:
    ranges = depth_ranges(depth, random.Random(1))
    ordered = sorted(ranges)
    assert tuple(ordered.index(each) for each in ranges) == places and ordered[0][0] >= 1


def test_the_prompt_and_the_picture_behind_it(cli: Any) -> None:
    asked = prompt(cli, "surds_front_behind", doc=1)
    assert (
        "Question:\nIs the red circle behind the blue square?\n\nOptions:\n- Yes\n- No\n- Almost the same in terms"
        in asked
    )
    assert "front-back position\n\nReason carefully" in asked and asked.endswith(
        "<answer>[Final answer]</answer>\n<image>"
    )


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """Of the pairs one is right as a whole; the point lies beside the middle."""
    kinds = ("yaw", "xy2d", "depth", "distance", "left_right", "front_behind")
    tasks = {f"surds_{kind}": ["none"] * (2 if kind in ("xy2d", "depth") else 4) for kind in kinds}
    tasks["surds_front_behind"] = [f"<answer>{each}</answer>" for each in ("Yes", "No", "No", "No")]
    tasks["surds_xy2d"][0] = "<answer>[1100, 420]</answer>"
    ran = answered(cli, tmp_path, "surds", tasks)
    gold = [each["target"] for each in ran.samples("surds_front_behind")]
    assert gold == ["Almost the same in terms of front-back position"] * 2 + ["No", "Yes"]
    tasks["surds_front_behind"] = [f"<answer>{each}</answer>" for each in (gold[0], gold[1], "No", "No")]
    ran = answered(cli, tmp_path, "surds", tasks)
    row = ran.results["results"]["surds_front_behind"]
    assert row["score,none"] == 1 / 2 and row["acc,none"] == 3 / 4
    near = ran.results["results"]["surds_xy2d"]["score,none"]
    assert 0 < near < 1 / 2 and ran.results["results"]["surds_xy2d"]["unparsed"] == 1
    assert ran.results["groups"]["surds"]["score,none"] == pytest.approx((near + 1 / 2) / 6)
