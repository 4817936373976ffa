"""What a release writes down of its comparisons."""

from types import SimpleNamespace
from typing import Any

import pytest

from mm_eval.features.study.deciding.rules import WhenDecided
from mm_eval.features.study.deciding.trial import Trial
from mm_eval.features.study.deciding.units import Leaf, TaskValues, Unit


@pytest.mark.parametrize(("metric", "factor"), [("acc", 100.0), ("brier_score", 1.0)])
def test_a_difference_is_said_in_the_unit_of_the_table(metric: str, factor: float) -> None:
    request: Any = SimpleNamespace(linked={"name": "a", "pairs": [("a", "b")]}, margin=None)
    pair, docs = ("t", "a", "b"), range(40)
    decided = WhenDecided(request)
    decided.units = {"t": Unit("t", (Leaf("t", metric, "none"),))}
    decided.trial = Trial({pair: [1.0]})
    found = {
        name: {"t": TaskValues({i: 0.5 + step * (i % 3) for i in docs}, {i: i for i in docs})}
        for name, step in (("a", 0.1), ("b", 0.2))
    }
    decided._test(1, found)
    decided._ended_unit = lambda name: None  # type: ignore[method-assign]
    [comparison] = decided.outcome()["comparisons"]
    assert comparison["difference"] == pytest.approx(0.0975) and comparison["unit"] == factor
