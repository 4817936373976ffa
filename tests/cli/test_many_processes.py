"""Real processes under torchrun: the same results as one process, a rank that is killed, resuming with another number of them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.folders import results_of
from tests.processes import HANGS

SCRIPT = Path(__file__).with_name("slow_model.py")
TASKS = ("--tasks", "mme,seedbench_ppl", "--model", "slow", "--sample", "--limit", "40")
ENVIRONMENT = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}


def start(log: Path, folder: Path, ranks: int, *options: str) -> subprocess.Popen:
    launcher = (
        ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks), *options] if ranks > 1 else []
    )
    command = [sys.executable, *launcher, str(SCRIPT), str(log), *TASKS, "--output_path", str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def calls(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def results(folder: Path) -> tuple[str, int]:
    """What runs have in common, and how many processes this one had."""
    return results_of(folder), json.loads((folder / "results.json").read_text())["run"]["processes"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    child = start(folder / "log", folder / "run", 1)
    _, err = child.communicate(timeout=HANGS)
    assert child.returncode == 0, err
    return folder


def equal_to_one_process(tmp_path: Path, whole: Path, ranks: int) -> None:
    child = start(tmp_path / "log", tmp_path / "run", ranks)
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 0, err
    assert results(tmp_path / "run") == (results(whole / "run")[0], ranks)
    assert Counter(calls(tmp_path / "log")) == Counter(calls(whole / "log")), "each question once, whoever asks it"
    assert len(list((tmp_path / "run" / "journal").glob("*.jsonl"))) == ranks
    assert out.count("run folder:") == 1, "one process tells"


def test_two_processes_give_the_bytes_of_one(tmp_path: Path, whole: Path) -> None:
    equal_to_one_process(tmp_path, whole, 2)


@pytest.mark.slow
def test_four_processes_give_the_bytes_of_one(tmp_path: Path, whole: Path) -> None:
    equal_to_one_process(tmp_path, whole, 4)


def rank_of(child: subprocess.Popen, rank: int) -> int:
    """The process id of a rank of a launch."""
    for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split():
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
        if re.search(rf"(^|\0)RANK={rank}\0", environment):
            return int(pid)
    raise AssertionError(f"no process of rank {rank}")


@pytest.mark.full
def test_what_a_killed_rank_owed_is_asked_after_a_restart_with_another_number(tmp_path: Path, whole: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "run"
    child = start(log, folder, 2)
    deadline = time.monotonic() + HANGS
    while len(calls(log)) < 8:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(rank_of(child, 1), signal.SIGKILL)
    child.communicate(timeout=HANGS)
    assert child.returncode != 0
    before = len(calls(log))
    last = start(log, folder, 1)
    out, err = last.communicate(timeout=HANGS)
    assert last.returncode == 0, err
    assert results(folder) == results(whole / "run")
    assert len(calls(log)) <= len(calls(whole / "log")) + 2 * 4, "twice at most what was in flight"
    assert before < len(calls(log)) or "nothing was requested" in out


@pytest.mark.slow
def test_torchruns_own_restart_brings_a_dead_rank_back(tmp_path: Path, whole: Path) -> None:
    log, folder = tmp_path / "log", tmp_path / "run"
    child = start(log, folder, 2, "--max-restarts", "1")
    deadline = time.monotonic() + HANGS
    while len(calls(log)) < 8:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(rank_of(child, 1), signal.SIGKILL)
    _, err = child.communicate(timeout=HANGS)
    assert child.returncode == 0, err
    assert results(folder) == (results(whole / "run")[0], 2)
    assert len(calls(log)) <= len(calls(whole / "log")) + 2 * 4
