"""kill -9 at a turn: all turns but the one in flight are asked once, and the numbers are those of a run that was never killed."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mm_eval.cli import main
from mm_eval.engine.journal import read_journal
from tests.folders import results_of
from tests.processes import HANGS
from tests.rounds.dies_at import die_at
from tests.rounds.talking import DOCS, TURNS, turns_of, write

HERE = Path(__file__).parent


Launch = Callable[[int, Path, list[str]], int]
"""(turn, log, words of the command) -> its exit code, negative for the signal that killed it."""


def launch(turn: int, log: Path, words: list[str]) -> int:
    """The command in a process of its own."""
    command = [sys.executable, str(HERE / "dies_at.py"), str(turn), str(log), *words]
    return subprocess.run(command, capture_output=True, timeout=HANGS, check=False).returncode


def fork(turn: int, log: Path, words: list[str]) -> int:
    """The same in a copy of this process, which has imported all: a tenth of the time."""
    if (child := os.fork()) == 0:
        code = 99
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            die_at(turn, log)
            code = main(words)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_at(tmp_path: Path, turns: list[int], docs: int, start: Launch) -> None:
    """Kills launches of one run at these turns, each counted from its launch, and compares what is left with a whole run."""
    task, folder, log = write(tmp_path / "task", docs), tmp_path / "run", tmp_path / "asked"
    words = ["--tasks", task, "--model", "dummy", "--no_report", "--output_path"]
    for turn in turns:
        before = len(read_journal(folder).slots) if folder.exists() else 0
        assert start(turn, log, [*words, str(folder)]) == -signal.SIGKILL
        assert len(read_journal(folder).slots) == before + turn - 1
    assert start(0, log, [*words, str(folder)]) == 0
    asked, whole = Counter(log.read_text().splitlines()), sum(map(turns_of, range(docs)))
    assert len(asked) == whole and sum(asked.values()) == whole + len(turns), "only what was in flight is asked again"
    assert start(0, tmp_path / "other", [*words, str(tmp_path / "whole")]) == 0
    assert results_of(folder) == results_of(tmp_path / "whole")


@pytest.mark.full
def test_kill_9_in_the_middle_of_a_conversation(tmp_path: Path) -> None:
    killed_at(tmp_path, [TURNS // 2], DOCS, launch)


@pytest.mark.full
def test_kill_9_at_50_random_turns(tmp_path: Path) -> None:
    draw = Random(0)
    killed_at(tmp_path, [draw.randint(1, 4) for _ in range(50)], 48, fork)


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
