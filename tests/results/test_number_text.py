"""One rule decides in which unit a number is shown."""

import pytest

from mm_eval.results.number_text import PERCENT, POINTS, SMALL, Unit, unit_for, unit_of
from mm_eval.values.types import MetricKey, Number


@pytest.mark.parametrize(
    ("metric", "values", "ends", "scales", "unit"),
    [
        ("acc", [0.613, 0.0], [0.59, 0.63], [(0.0, 1.0), None], PERCENT),
        ("score", [0.613], [0.59, 0.63], [], PERCENT),  # nothing is known but the numbers
        ("score", [0.5], [-20.0, 21.0], [], POINTS),  # points of a model that earns none
        ("score", [0.4, 61.3], [], [], POINTS),
        ("mme_perception_score", [1820.5], [1790.0, 1850.0], [None], POINTS),
        ("bits_per_byte", [0.83], [0.8, 0.9], [(0.0, 1.0)], SMALL),
        ("brier_score@judge", [0.2], [], [], SMALL),
        ("likelihood", [-0.4], [-0.5, -0.3], [], SMALL),
        ("bleu", [0.7], [0.5, 0.9], [None], SMALL),  # 0.7 of 100, not 70
        ("chrf@judge", [0.9], [], [], SMALL),
        ("acc", [], [], [], PERCENT),
    ],
)
def test_shares_are_in_percent_and_points_stay_points(metric, values, ends, scales, unit: Unit) -> None:
    assert unit_for(metric, values, ends, scales) == unit


def test_numbers_differences_and_intervals_are_written_alike() -> None:
    key = MetricKey("acc", "none")
    number = Number(key, 0.6131, 0.0061, n=400, clusters=400, freedom=399, scale=(0.0, 1.0))
    unit = unit_of(number)
    assert (unit.text(number.value), unit.spread(number)) == ("61.3", "± 1.2")
    assert (unit.signed(0.0231), unit.signed(-0.0231), unit.signed(0.0), unit.signless(-0.02)) == (
        "+2.3",
        "-2.3",
        "0.0",
        "2.0",
    )
    assert unit.text(-0.0001) == "0.0" and unit.text(None) == "-" and unit.ends((0.1, 0.2), " to ") == "10.0 to 20.0"
    exact = Number(key, 1.0, 0.0, exact=(0.832, 1.0))
    assert unit.spread(exact) == "[83.2, 100.0] †" and POINTS.text(1820.456) == "1820.46"
