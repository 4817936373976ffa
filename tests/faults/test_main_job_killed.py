"""kill -9 in a loop over the job that the README begins with: the bundled model, real forwards, the same bytes in the end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from tests.folders import results_of
from tests.processes import HANGS

JOB = [sys.executable, "-m", "mm_eval", "--tasks", "mme,seedbench", "--model", "tiny-llava"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def start(folder: Path, *more: str) -> subprocess.Popen:
    command = [*JOB, "--output_path", str(folder), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def finished(folder: Path, *more: str) -> dict[str, bytes]:
    """Lets the job end; its files by name, what comes from a clock left out."""
    out, err = (child := start(folder, *more)).communicate(timeout=HANGS)
    assert child.returncode == 0, err
    samples = {path.name: path.read_bytes() for path in (folder / "samples").glob("*.jsonl")}
    return {"results.json": results_of(folder).encode(), **samples}


def answered(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("journal/*.jsonl"))


def killed_in_a_loop(tmp_path: Path, kills: int, least: int, most: int, *more: str) -> None:
    whole, folder, draw = finished(tmp_path / "whole", *more), tmp_path / "run", random.Random(5)
    questions = answered(tmp_path / "whole")
    for _ in range(kills):
        child, until, deadline = (
            start(folder, *more),
            answered(folder) + draw.randint(least, most),
            time.monotonic() + HANGS,
        )
        while child.poll() is None and answered(folder) < until:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, child.stderr.read()
        assert until <= answered(folder) < questions, "it dies with answers pending"
    before = set(read_journal(folder).answers)
    assert finished(folder, *more) == whole
    lines = b"".join(path.read_bytes() for path in folder.glob("journal/*.jsonl")).splitlines()
    keys = [record["key"] for record in map(json.loads, lines) if record["kind"] == "answer"]
    assert len(keys) == len(set(keys)), "no question that had an answer on disk was asked again"
    assert before < set(keys)


@pytest.mark.full
def test_the_main_job_killed_once_ends_in_the_same_bytes(tmp_path: Path) -> None:
    killed_in_a_loop(tmp_path, 1, 2, 6, "--limit", "12", "--batch_size", "4")


@pytest.mark.slow
def test_the_whole_main_job_killed_ten_times_ends_in_the_same_bytes(tmp_path: Path) -> None:
    killed_in_a_loop(tmp_path, 10, 1, 50, "--batch_size", "16")
