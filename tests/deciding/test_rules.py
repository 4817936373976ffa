"""What a release writes down of its comparisons."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mm_eval.deciding.deciding import Deciding
from mm_eval.deciding.looks import write_look
from mm_eval.deciding.rules import WhenDecided
from mm_eval.deciding.trial import Trial
from mm_eval.deciding.units import Leaf, TaskValues, Unit
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.outcome import Outcome
from mm_eval.request import RunRequest


@pytest.mark.parametrize(("metric", "factor"), [("acc", 100.0), ("brier_score", 1.0)])
def test_a_difference_is_said_in_the_unit_of_the_table(metric: str, factor: float) -> None:
    deciding = SimpleNamespace(linked={"name": "a", "pairs": [("a", "b")]}, margin=None)
    request: Any = SimpleNamespace(deciding=deciding)
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


def test_the_looks_of_an_earlier_launch_are_gone_before_an_answer_is_asked_for(tmp_path: Path) -> None:
    """Another model would decide by what an older scoring gave."""
    folder = RunFolder(tmp_path)
    write_look(folder, 1, "digest", {})
    request = RunRequest(tasks=("mme",))
    part = Deciding(request, rule=cast("Any", SimpleNamespace(over=False)), schedule=cast("Any", SimpleNamespace()))
    asking = SimpleNamespace(folder=folder, stop=SimpleNamespace(requested=True), outcome=Outcome())
    assert list(part.passes(cast("Any", None), cast("Any", asking), cast("Any", None))) == []
    assert not (tmp_path / "looks").exists()
