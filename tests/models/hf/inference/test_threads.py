"""The command chooses the number of threads by timing a step, records it, and keeps it. Python code is left alone."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from mm_eval.models.hf.inference import threads as module
from mm_eval.models.hf.inference.threads import PAUSE, Threads

from mm_eval import evaluate
from mm_eval.cli import main
from mm_eval.engine.threads import STATED_BY


@pytest.fixture
def four() -> Iterator[None]:
    """Torch has four threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> "Clock":
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


class Clock:
    """Time in which only steps pass. cost: seconds of a step with so many threads. steps: the threads of each."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.cost: Callable[[int], float] = lambda threads: 1.0 / threads
        self.steps: list[int] = []

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic

    def step(self) -> None:
        self.steps.append(torch.get_num_threads())
        self.now += self.cost(self.steps[-1])


@pytest.mark.parametrize(("cost", "chosen"), [(1.0, 1), (0.95, 1), (0.5, 4)])
def test_all_threads_are_taken_where_they_are_faster(four: None, clock: Clock, cost: float, chosen: int) -> None:
    clock.cost = lambda threads: 1.0 if threads == 1 else cost
    threads = Threads(clock.step)
    assert threads.number == torch.get_num_threads() == chosen and {1, 4} == set(clock.steps)
    threads.close()
    assert torch.get_num_threads() == 4


def test_it_looks_again_when_the_machine_gets_busy_and_when_it_is_idle_again(four: None, clock: Clock) -> None:
    threads = Threads(clock.step)
    timed = len(clock.steps)
    for _ in range(100):
        threads.look()
    assert len(clock.steps) == timed, "it does not look all the time"
    clock.now += 10_000
    threads.look()
    assert clock.steps[timed:] == [4], "one step, which took as long as before"
    clock.cost = lambda threads: 1.2 if threads == 1 else 5.0  # its partners are not scheduled
    clock.now += 10_000
    threads.look()
    assert threads.number == torch.get_num_threads() == 1
    clock.cost = lambda threads: 1.0 / threads  # idle: with one thread nothing has changed by much
    clock.now += 10_000
    threads.look()
    assert threads.number == 1
    timed, clock.now = len(clock.steps), clock.now + PAUSE / 2
    threads.look()
    assert len(clock.steps) == timed


def test_the_number_of_an_earlier_launch_is_kept(four: None, clock: Clock) -> None:
    assert Threads(clock.step, known=1).number == torch.get_num_threads() == 1
    assert Threads(clock.step, known=64).number == 1, "torch has no more now"


def test_a_model_that_takes_no_text_alone_keeps_the_threads_of_torch(four: None) -> None:
    def refuses() -> None:
        raise ValueError("pixel_values are missing")

    assert Threads(refuses).number == 4


@pytest.mark.full
def test_the_command_chooses_and_records_and_python_does_not(
    four: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in STATED_BY:
        monkeypatch.delenv(name, raising=False)
    known = list[int | None]()
    whole = Threads.__init__

    def noted(self: Threads, step: Callable[[], object], number: int | None = None) -> None:
        known.append(number)
        whole(self, step, number or 3)

    monkeypatch.setattr(Threads, "__init__", noted)
    words = ["--tasks", "mme", "--model", "tiny-llava", "--no_report", "--output_path", str(tmp_path / "run")]
    assert main([*words, "--limit", "1"]) == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["machine"]["threads"] == 3
    assert json.loads((tmp_path / "run" / "results.json").read_text())["run"]["threads"] == 3
    for journal in (tmp_path / "run" / "journal").iterdir():
        journal.unlink()
    assert main([*words, "--limit", "1"]) == 0 and known == [None, 3]
    assert torch.get_num_threads() == 4
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    (tmp_path / "run" / "run.json").unlink()
    assert main([*words[:-1], str(tmp_path / "stated"), "--limit", "1"]) == 0
    assert "threads" not in json.loads((tmp_path / "stated" / "run.json").read_text())["machine"]
    monkeypatch.delenv("OMP_NUM_THREADS")
    evaluate(tasks=["mme"], model="tiny-llava", limit=1, report=False, output_path=str(tmp_path / "python"))
    assert len(known) == 2
