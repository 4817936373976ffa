"""kill -9 at every stage of a judged run: what is on the disk is not asked again, and the number is that of a whole run."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from tests.folders import results_of
from tests.judge.conftest import JUDGE, TASK, UTILS
from tests.processes import HANGS

HERE = Path(__file__).parent
DOCS = 24


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """(URL, log of its prompts) of a scripted judge in a process of its own."""
    port, log = tmp_path / "port", tmp_path / "asked"
    command = [sys.executable, "-m", "tests.judge.server", str(port), str(log), "0.01"]
    process = subprocess.Popen(command, cwd=HERE.parent.parent)
    try:
        until = time.monotonic() + HANGS
        while not (port.exists() and port.read_text()):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        yield port.read_text(), log
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def words(tmp_path: Path, judge: tuple[str, Path]) -> list[str]:
    folder = tmp_path / "task"
    folder.mkdir()
    (folder / "graded.yaml").write_text(TASK + JUDGE)
    (folder / "utils.py").write_text(UTILS)
    rows = [{"q": f"What is {n}?", "a": str(n)} for n in range(DOCS)]
    answers = [{"task": "graded", "doc_id": n, "resps": [str(n if n % 3 else 0)]} for n in range(DOCS)]
    for name, content in (("rows.jsonl", rows), ("answers.jsonl", answers)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in content))
    found = ["--tasks", "graded", "--include_path", str(folder), "--model", "replay"]
    found += ["--model_args", f"path={folder / 'answers.jsonl'}", "--no_report"]
    found += ["--judge", "openai", "--judge_args", f"base_url={judge[0]},model=j,num_concurrent=1"]
    return [*found, "--judge_preflight", "false"]


def asked(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines()) if log.exists() else Counter()


def on_disk(folder: Path) -> int:
    return sum(bool(slot.judge) and answer.error is None for slot, answer in read_journal(folder).slots.items())


def command(point: str, words: list[str], folder: Path) -> list[str]:
    return [sys.executable, str(HERE / "judged_dies_at.py"), point, *words, "--output_path", str(folder)]


def run(point: str, words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command(point, words, folder), capture_output=True, text=True, timeout=HANGS, env=environment, check=False
    )


@pytest.mark.full
def test_kill_9_at_every_stage_asks_only_what_is_owed(
    tmp_path: Path, words: list[str], judge: tuple[str, Path]
) -> None:
    folder, log, beyond = tmp_path / "run", judge[1], 0
    for point in ("answers", "verdict1", "verdict4", "verdict9", "verdicts", "samples", "scoring", "results"):
        safe, before = on_disk(folder), asked(log)
        died = run(point, words, folder)
        assert died.returncode == -signal.SIGKILL, (point, died.stdout)
        assert on_disk(folder) >= safe
        if point == "answers":
            assert not asked(log), "a verdict was asked for before all answers were there"
        if point in ("samples", "scoring", "results"):
            assert asked(log) == before, f"after {point} something was asked again"
        in_flight = sum(asked(log).values()) - beyond - on_disk(folder)
        # One is in flight. On a busy disk others arrive while a sync lasts; a judge's answer takes 10 ms or more.
        assert 0 <= in_flight <= 4, "what was asked and is not on the disk: in flight, or waiting for its sync"
        beyond += in_flight
        assert not (folder / "results.json").exists()
    last = run("", words, folder)
    assert last.returncode == 0, last.stderr + last.stdout
    assert len(asked(log)) == DOCS and sum(asked(log).values()) == DOCS + beyond
    results = json.loads((folder / "results.json").read_text())
    right = sum(n % 3 != 0 or n == 0 for n in range(DOCS))
    assert results["results"]["graded"]["judge_score,none"] == right / DOCS
    before = asked(log)
    whole = run("", words, tmp_path / "whole")
    assert whole.returncode == 0 and sum(asked(log).values()) == sum(before.values()) + DOCS
    assert results_of(folder) == results_of(tmp_path / "whole")
    samples = [each / "samples" / "graded.jsonl" for each in (folder, tmp_path / "whole")]
    assert samples[0].read_bytes() == samples[1].read_bytes()


@pytest.mark.full
def test_an_interrupt_while_judging_keeps_the_verdicts(
    tmp_path: Path, words: list[str], judge: tuple[str, Path]
) -> None:
    folder, log = tmp_path / "run", judge[1]
    process = subprocess.Popen(command("", words, folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + HANGS
    while sum(asked(log).values()) < 5:
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=HANGS)
    assert process.returncode == 130, out + err
    there = on_disk(folder)
    assert 4 <= there < DOCS
    last = run("", words, folder)
    assert last.returncode == 0 and f"verdicts: {there} were there already, {DOCS - there} w" in last.stdout


@pytest.mark.full
def test_two_ranks_judge_the_docs_they_were_dealt(tmp_path: Path, words: list[str], judge: tuple[str, Path]) -> None:
    folder, log = tmp_path / "run", judge[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = subprocess.run(
        [*launch, "-m", "mm_eval", *words, "--output_path", str(folder)],
        capture_output=True, text=True, timeout=HANGS, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(asked(log)) == DOCS == sum(asked(log).values())
    files = list((folder / "journal").glob("*.jsonl"))
    assert len(files) == 2 and all('"kind":"judge"' in path.read_text() for path in files)
    row = json.loads((folder / "results.json").read_text())["results"]["graded"]
    assert row["judge_score,none"] == sum(n % 3 != 0 or n == 0 for n in range(DOCS)) / DOCS


@pytest.mark.full
def test_the_judge_is_tried_once_for_two_ranks_and_its_refusal_ends_both(
    tmp_path: Path, words: list[str], judge: tuple[str, Path]
) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "mm_eval"]
    tried = words[: words.index("--judge_preflight")]

    def launched(folder: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*launch, *tried, "--output_path", str(tmp_path / folder)],
            capture_output=True, text=True, timeout=HANGS, env=environment, check=False,
        )  # fmt: skip

    done = launched("run")
    assert done.returncode == 0, done.stdout + done.stderr
    worthless = [count for prompt, count in asked(judge[1]).items() if "I don't know" in prompt]
    assert worthless and set(worthless) == {1}, "one process tries the judge, on some documents once each"
    assert max(asked(judge[1]).values()) <= 2  # the gold answer of a tried doc may be another rank's
    (tmp_path / "task" / "rows.jsonl").write_text(json.dumps({"q": "FAULTCHATTY", "a": "1"}) + "\n")
    refused = launched("refused")
    assert refused.returncode != 0 and "gives no verdict on the answer '1'" in refused.stderr
    assert not (tmp_path / "refused" / "run.json").exists()
