"""RefSpatial-Bench: the share of an answer's points that lie in the mask, by the authors' script and as JSON."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mm_eval.tasks.refspatial.utils import process_results, process_results_json
from PIL import Image

from tests.tasks.answers import answered, prompt

HALF = np.zeros((10, 20), np.uint8)
HALF[:, :10] = 255
"""20 pixels wide, 10 high; the left half is right."""
DOC = {"mask": Image.fromarray(HALF)}
TUPLES = [
    # answer, the share of its points in the left half: what the authors' script gives at d97a995
    ("[(0.25, 0.5)]", 1.0),
    ("[(0.25, 0.5), (0.75, 0.5)]", 0.5),
    ("(0.499, 0.999)", 1.0),
    ("(0.5, 0.5)", 0.0),
    ("(0.25, 1.0)", 0.0),  # row 10 of 10 is beyond the picture
    ("(-0.04, 0.5)", 1.0),  # cut towards zero
    ("(5, 5)", 1.0),  # whole numbers are pixels
    ("(15, 5)", 0.0),
    ("(1, 0.5)", 0.0),  # one fraction makes both fractions
    ("(0.0, 0.0, 1.0, 1.0)", 0.5),  # a box is all of its pixels
    ("(0.25, 0.0, 0.75, 1.0), (0.25, 0.5)", 51 / 101),
    ("(1, 2, 3)", None),
    ("[0.25, 0.5]", None),
    ("", None),
    ("I see none.", None),
]
BRACKETS = [
    ('```json\n[{"point_2d": [250, 500], "label": "a"}]\n```', 1.0),
    ('[{"point_2d": [250, 500]}, {"point_2d": [750, 500]}]', 0.5),
    ("(250, 500)", 1.0),
    ("(0.25, 0.5)", 1.0),
    ("[1000, 500]", 0.0),
    ("[250, 500, 300, 600]", None),
    ("", None),
]


def share(scores: dict[str, Any]) -> float | None:
    return None if scores["__rule__"] == "unparsed" else scores["acc"]


@pytest.mark.parametrize(("answer", "expected"), TUPLES)
def test_the_share_of_an_answers_points(answer: str, expected: float | None) -> None:
    found = process_results(DOC, [answer])
    assert share(found) == (expected if expected is None else pytest.approx(expected)) and (
        expected or found["acc"] == 0
    )


@pytest.mark.parametrize(("answer", "expected"), BRACKETS)
def test_points_as_json(answer: str, expected: float | None) -> None:
    assert share(process_results_json(DOC, [answer])) == expected


def test_any_value_above_zero_of_the_first_channel_is_right() -> None:
    colours = np.dstack([HALF // 255, 255 - HALF, 255 - HALF])
    assert process_results({"mask": Image.fromarray(colours)}, ["(0.25, 0.5), (0.75, 0.5)"])["acc"] == 0.5


def test_a_box_with_its_corners_in_the_other_order_is_unread() -> None:
    assert share(process_results(DOC, ["(0.75, 0.0, 0.25, 1.0)"])) is None


def test_long_answers_take_no_time() -> None:
    assert share(process_results(DOC, ["(" + "1" * 200_000])) is None
    assert process_results(DOC, ["(999999999999.9, 0.5)" * 1000])["acc"] == 0


def test_the_prompts(cli: Any) -> None:
    asked = prompt(cli, "refspatial_location", "default", doc=0)
    assert (
        asked.startswith("Please point out the ") and ". Your answer should be formatted as a list of tuples" in asked
    )
    asked = prompt(cli, "refspatial_location_json", doc=0)
    assert asked.startswith("Locate the ") and asked.endswith(
        " in this image and output the point coordinates in JSON format."
    )


def test_the_group_is_of_location_and_placement(cli: Any, tmp_path: Path) -> None:
    right = ["[(0.166, 0.366)]", "[(0.5, 0.366)]", "[(0.833, 0.366)]"] * 2  # the circles' middles
    ran = answered(cli, tmp_path, "refspatial_bench", {"refspatial_location": right, "refspatial_placement": right})
    found = ran.results["results"]
    assert found["refspatial_location"]["acc,none"] == 1 and found["refspatial_placement"]["acc,none"] == 0
    assert ran.results["groups"]["refspatial_bench"]["acc,none"] == 0.5
