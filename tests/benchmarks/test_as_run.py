"""The main job costs little more CPU beside other work than alone, with nothing set."""

import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_beside_a_busy_loop_a_core_the_main_job_costs_as_much_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.2 is the goal on a machine of its own; shared caches make CPU seconds longer here. Spinning threads: 1.3 to 2.9."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import as_run  # type: ignore[import-not-found,unused-ignore]

    ratios: list[float] = []
    while len(ratios) < 3 and min(ratios, default=9.0) > 1.5:
        quiet, _ = as_run.seconds("default", 8)
        with as_run.busy_loops(as_run.CORES):
            busy, _ = as_run.seconds("default", 8)
        ratios.append(busy / quiet)
    assert min(ratios) <= 1.5, ratios
    monkeypatch.delitem(sys.modules, "as_run")
