"""Faults 1 to 4 of the specification: kill -9 at every point of a run, with real kills of child processes."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from mm_eval.values.types import Slot
from tests.folders import results_of
from tests.processes import HANGS
from tests.sets import few

HERE = Path(__file__).parent
IN_FLIGHT = 4


def echo(folder: Path, count: int, **options: object) -> int:
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, str(HERE / "echo.py"), str(folder), str(count), *words]
    return subprocess.run(command, timeout=HANGS, stderr=subprocess.DEVNULL).returncode


def lines(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def all_answered(folder: Path, count: int) -> bool:
    state = read_journal(folder)
    found = [state.answer(Slot("t", n)) for n in range(count)]
    return all(each is not None and each.output == f"echo question {n}" for n, each in enumerate(found))


def killed_and_resumed(folder: Path, count: int, kill_at: int, delay: float = 0) -> int:
    """Kills one run, finishes it, and returns how many calls there were beyond one a question.

    In flight is what was asked and is not acknowledged: with an instant model also what waits for the sync.
    """
    assert echo(folder, count, in_flight=IN_FLIGHT, kill_at=kill_at, delay=delay) == -signal.SIGKILL
    first, safe = lines(folder / "calls"), set(lines(folder / "acknowledged"))
    assert len(safe) >= kill_at
    in_flight = len(set(first) - safe)
    assert echo(folder, count, in_flight=IN_FLIGHT) == 0
    again = lines(folder / "calls")[len(first) :]
    assert not safe & set(again), "an acknowledged answer was asked again"
    assert len(first) + len(again) <= count + in_flight
    assert all_answered(folder, count)
    return len(first) + len(again) - count


@pytest.mark.parametrize("kill_at", few([1, 2, 37, 99, 100], at=(1, 2)))
def test_01_kill_9_at_an_answer_boundary(tmp_path: Path, kill_at: int) -> None:
    killed_and_resumed(tmp_path, 100, kill_at)


@pytest.mark.slow
def test_01_kill_9_at_each_of_100_answer_boundaries(tmp_path: Path) -> None:
    beyond = [killed_and_resumed(tmp_path / str(kill_at), 100, kill_at, delay=0.02) for kill_at in range(1, 101)]
    assert max(beyond) <= IN_FLIGHT + 1, beyond  # one may wait for its sync while four are with the model


def kills_in_a_row(folder: Path, count: int, kills: int, delay: float = 0) -> int:
    """Kills a run again and again, finishes it, and returns how many calls there were beyond one a question."""
    draw, lost = random.Random(4), 0
    for _ in range(kills):
        before, kill_at = len(lines(folder / "calls")), draw.randrange(1, count // kills // 2)
        assert echo(folder, count, in_flight=IN_FLIGHT, kill_at=kill_at, delay=delay) == -signal.SIGKILL
        lost += len(set(lines(folder / "calls")[before:]) - set(lines(folder / "acknowledged")))
    assert echo(folder, count, in_flight=IN_FLIGHT) == 0
    assert len(lines(folder / "calls")) <= count + lost
    assert all_answered(folder, count)
    return len(lines(folder / "calls")) - count


@pytest.mark.full
def test_04_kills_in_a_row(tmp_path: Path) -> None:
    kills_in_a_row(tmp_path, 200, 5, delay=0.005)


@pytest.mark.slow
def test_04_20_kills_in_one_run_of_1000(tmp_path: Path) -> None:
    assert kills_in_a_row(tmp_path, 1000, 20, delay=0.02) <= 20 * (IN_FLIGHT + 1)


POINTS = {"answers": False, "samples": False, "scoring": False, "results": False, "thumbnails": True, "report": True}
"""All answers are there; half a samples file is written; before the numbers; before results.json, the thumbnails or
report.html are renamed. The value says whether results.json is there by then."""


def run(log: Path, folder: Path, point: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / "dies_at.py"), point, str(log), "--tasks", "mme", "--model", "slow"]
    command += ["--sample", "--limit", "12", "--output_path", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, env=environment)


def derived(folder: Path) -> dict[str, bytes]:
    """Samples and pictures by their names."""
    files = [*folder.glob("samples/*.jsonl"), *folder.glob("media/*.jsonl")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if not path.name.startswith(".")}


@pytest.mark.full
def test_02_and_03_kill_9_after_the_answers_asks_nothing_and_gives_equal_results(tmp_path: Path) -> None:
    whole, log, folder = tmp_path / "whole", tmp_path / "log", tmp_path / "run"
    done = run(tmp_path / "whole.log", whole)
    assert done.returncode == 0, done.stderr
    for point, scored in POINTS.items():
        died = run(log, folder, point)
        assert died.returncode == -signal.SIGKILL, (point, died.stderr)
        assert (folder / "results.json").exists() == scored and not (folder / "report.html").exists(), point
        assert len(log.read_text().splitlines()) == 12, f"after {point} something was asked again"
    last = run(log, folder)
    assert last.returncode == 0 and "nothing was requested" in last.stdout, last.stderr
    assert results_of(folder) == results_of(whole)
    assert derived(folder) == derived(whole) and len(derived(folder)) == 2
    assert not list(folder.rglob(".*.tmp")), "what a killed launch had begun to write is removed"
    assert (folder / "report.html").stat().st_size == pytest.approx((whole / "report.html").stat().st_size, rel=0.01)
