"""kill -9 at a turn: all turns but the one in flight are asked once, and the numbers are those of a run that was never killed."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from mm_eval.engine.journal import read_journal
from tests.features.turns.talking import DOCS, TURNS, write
from tests.folders import results_of
from tests.processes import HANGS

HERE = Path(__file__).parent


def launch(turn: int, log: Path, task: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = ["--tasks", task, "--model", "dummy", "--no_report", "--output_path", str(folder)]
    command = [sys.executable, str(HERE / "dies_at.py"), str(turn), str(log), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=False, env={**os.environ})


def killed_at(tmp_path: Path, turns: list[int]) -> None:
    """Kills launches of one run at these turns, each counted from its launch, and compares what is left with a whole run."""
    task, folder, log = write(tmp_path / "task"), tmp_path / "run", tmp_path / "asked"
    deaths = 0
    for turn in turns:
        before = len(read_journal(folder).slots) if folder.exists() else 0
        died = launch(turn, log, task, folder)
        if died.returncode == 0:
            break  # fewer turns were left
        assert died.returncode == -signal.SIGKILL, died.stderr
        deaths += 1
        assert len(read_journal(folder).slots) == before + turn - 1
    last = launch(0, log, task, folder)
    assert last.returncode == 0, last.stderr
    asked = Counter(map(str, map(json.loads, log.read_text().splitlines())))
    assert len(asked) == TURNS and sum(asked.values()) == TURNS + deaths, "only what was in flight is asked again"
    assert launch(0, tmp_path / "other", task, tmp_path / "whole").returncode == 0
    assert results_of(folder) == results_of(tmp_path / "whole")


def test_kill_9_in_the_middle_of_a_conversation(tmp_path: Path) -> None:
    killed_at(tmp_path, [TURNS // 2])


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_kill_9_at_random_turns(tmp_path: Path, seed: int) -> None:
    draw = Random(seed)
    killed_at(tmp_path, [draw.randint(1, TURNS // 5) for _ in range(5)])


@pytest.mark.full
def test_two_processes_share_the_documents(tmp_path: Path) -> None:
    """Each process asks whole conversations, and the numbers are those of one."""
    task = write(tmp_path / "task")
    words = ["-m", "mm_eval", "--tasks", task, "--model", "dummy", "--no_report", "--output_path"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", "2"]
    two = subprocess.run(
        [*torchrun, *words, str(tmp_path / "two")], capture_output=True, text=True, timeout=2 * HANGS, check=False
    )
    assert two.returncode == 0, two.stderr
    one = subprocess.run(
        [sys.executable, *words, str(tmp_path / "one")], capture_output=True, text=True, timeout=HANGS, check=False
    )
    assert one.returncode == 0, one.stderr
    assert results_of(tmp_path / "one") == results_of(tmp_path / "two")
    state = read_journal(tmp_path / "two")
    assert len(state.slots) == TURNS and len(state.ends) == DOCS
    files = [path.read_text() for path in (tmp_path / "two" / "journal").glob("*.jsonl")]
    docs = [{json.loads(line)["slots"][0][1] for line in text.splitlines()} for text in files]
    assert len(docs) == 2 and not docs[0] & docs[1]
