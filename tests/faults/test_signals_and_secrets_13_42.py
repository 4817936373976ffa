"""Faults 13 and 42: an interrupt with 64 requests under way, and a secret that must be nowhere, against a real server process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from tests.processes import HANGS

HERE = Path(__file__).parent
SECRET = "sk-canary-8d1f0c"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator:
    """Starts a server process and gives its URL."""
    started: list[subprocess.Popen] = []

    def start(*arguments: object) -> str:
        port_file = tmp_path / f"port{len(started)}"
        command = [sys.executable, str(HERE / "http_server.py"), str(port_file), *map(str, arguments)]
        started.append(subprocess.Popen(command))
        deadline = time.monotonic() + HANGS
        while not (port_file.exists() and port_file.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return f"http://127.0.0.1:{port_file.read_text()}/v1"

    yield start
    for process in started:
        process.kill()
        process.wait()


def launch(url: str, folder: Path, *more: str, environment: dict[str, str] | None = None) -> subprocess.Popen:
    command = [sys.executable, "-m", "mm_eval", "--tasks", "seedbench", "--model", "openai", "--sample"]
    command += ["--output_path", str(folder), "--model_args", f"base_url={url},model=m,num_concurrent=64", *more]
    known = {**os.environ, "OMP_NUM_THREADS": "1", "OPENAI_API_KEY": SECRET, **(environment or {})}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=known)


def wait_for_answers(folder: Path, child: subprocess.Popen, count: int) -> None:
    deadline = time.monotonic() + HANGS
    while child.poll() is None and len(read_journal(folder).answers) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_13_an_interrupt_keeps_what_is_finished_and_ends_early_and_a_second_at_once(serve, tmp_path) -> None:
    slow = serve(0.4, 0)
    child = launch(slow, tmp_path / "run", "--limit", "400")
    wait_for_answers(tmp_path / "run", child, 64)
    child.send_signal(signal.SIGINT)
    before = len(read_journal(tmp_path / "run").answers)
    _, err = child.communicate(timeout=HANGS)
    assert child.returncode == 130, err
    assert before <= len(read_journal(tmp_path / "run").answers) < 400
    hanging = serve(600, 0)
    child = launch(hanging, tmp_path / "hangs", "--limit", "200")
    deadline = time.monotonic() + HANGS
    while not list((tmp_path / "hangs").glob("journal/*.jsonl")):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert child.poll() is None, "what is under way gets a few seconds"
    child.send_signal(signal.SIGINT)
    started = time.monotonic()
    child.communicate(timeout=HANGS)
    assert child.returncode == 130 and time.monotonic() - started < 100, "the server replies after ten minutes"


@pytest.mark.full
def test_42_a_secret_is_in_no_file_and_on_no_terminal_though_the_server_echoes_it(serve, tmp_path: Path) -> None:
    """The server writes the request's headers, key included, into its answers and into its errors."""
    folder = tmp_path / "run"
    child = launch(serve(0, 0.1, "tell"), folder, "--limit", "40", "--verbosity", "DEBUG")
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 3, err
    texts = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert b"Bearer [key]" in b"".join(texts.values()), "the server did echo the key"
    assert [path for path, text in texts.items() if SECRET.encode() in text] == []
    assert SECRET not in out + err
    for wrong in (
        f"base_url=http://u:{SECRET}@127.0.0.1:9/v1,model=m",
        f"base_url=http://127.0.0.1:9/v1,model=m,api_key={SECRET}",
    ):
        refused = launch("http://127.0.0.1:9/v1", tmp_path / "other", "--limit", "4", "--model_args", wrong)
        out, err = refused.communicate(timeout=HANGS)
        assert refused.returncode == 2 and SECRET not in out + err, err
        assert not (tmp_path / "other").exists()
