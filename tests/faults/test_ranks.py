"""Ranks that die at the start, live ranks whose signs can't be written for a while, and clocks that jump."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mm_eval.engine import launch
from mm_eval.engine import ranks as ranks_module
from mm_eval.engine.launch import Processes, Rendezvous
from mm_eval.engine.ranks import Signs, sign_file, wait_for_ranks
from mm_eval.errors import ConfigError

HERE = Path(__file__).parent
COUNTS = {"reused": 0, "asked": 3, "shared": 0, "cached": 0, "answered": 3, "failed": 0}


def launch_by_hand(phase: str, folder: Path) -> list[subprocess.Popen]:
    """Two ranks without torchrun, which would end the one when the other dies."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    known = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "WORLD_SIZE": "2"}
    known |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    command = [sys.executable, str(HERE / "rank_0_dies.py"), phase, str(folder / "log"), "--tasks", "mme", "--sample"]
    command += ["--model", "slow", "--limit", "8", "--output_path", str(folder / "run")]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return [subprocess.Popen(command, env={**known, "RANK": rank, "LOCAL_RANK": rank}, **pipes) for rank in "01"]


def ends_with_a_message(phase: str, folder: Path) -> None:
    first, second = launch_by_hand(phase, folder)
    try:
        out, err = second.communicate(timeout=100)
    finally:
        for child in (first, second):
            child.kill()
            child.communicate()
    assert second.returncode == 2, err
    assert "Traceback" not in err and "frame #" not in err
    [said] = [line for line in err.splitlines() if line.startswith("mm-eval:")]
    assert "rank 1 of 2" in said and "Nothing was requested" in said


@pytest.mark.parametrize("phase", ["meeting", "claim"])
def test_rank_0_killed_at_the_start_ends_the_others_with_a_message(tmp_path: Path, phase: str) -> None:
    ends_with_a_message(phase, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["data", "weights", "journal"])
def test_rank_0_killed_at_any_other_phase_of_the_start(tmp_path: Path, phase: str) -> None:
    ends_with_a_message(phase, tmp_path)


class Store:
    """A store that a launcher serves: it outlives every rank. `fails`: it is gone."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.fails = False

    def set(self, key: str, value: str) -> None:
        self._look()
        self.values[key] = value.encode()

    def get(self, key: str) -> bytes:
        self._look()
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        self._look()
        return all(key in self.values for key in keys)

    def _look(self) -> None:
        if self.fails:
            raise RuntimeError("Connection was likely closed.")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(launch, "BEAT", 0.05)
    monkeypatch.setattr(launch, "SILENCE", 0.5)
    return Store()


def test_a_rank_that_takes_long_is_waited_for_and_a_dead_one_is_not(store: Store) -> None:
    slow, waiting = Rendezvous(lambda: store, 0, 2), Rendezvous(lambda: store, 1, 2)
    threading.Timer(1.5, lambda: slow.publish("launch", {"name": "x"})).start()
    assert waiting.wait_for("launch", 0) == {"name": "x"}, "three times as long as a dead one is waited for"
    slow._over.set()
    started = time.monotonic()
    with pytest.raises(ConfigError, match="rank 0 ended before the run began"):
        waiting.wait_for("read", 0)
    assert 0.4 < time.monotonic() - started < 5
    waiting._leave()


def test_a_rank_that_leaves_with_an_error_is_noticed_at_once(store: Store) -> None:
    first, second = Rendezvous(lambda: store, 0, 2), Rendezvous(lambda: store, 1, 2)
    launch.SILENCE = 60.0
    second._leave()
    started = time.monotonic()
    with pytest.raises(ConfigError, match="rank 1 ended"):
        first.wait_for_all("read") if first.publish("read", True) is None else None
    assert time.monotonic() - started < 5
    first._leave()


def test_a_store_that_is_gone_is_a_message(store: Store) -> None:
    own = Rendezvous(lambda: store, 1, 2)
    store.fails = True
    for call in (lambda: own.wait_for("launch", 0), lambda: own.publish("read", True)):
        with pytest.raises(ConfigError, match="the connection is lost"):
            call()
    own._leave()


def break_folder(ranks: Path) -> None:
    """A file in the place of ranks/: whatever is done in it fails, for any user."""
    shutil.rmtree(ranks, ignore_errors=True)
    ranks.write_text("")


def test_a_file_system_that_fails_for_a_while_kills_no_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_module, "BEAT", 0.05)
    ranks, over = tmp_path / "ranks", threading.Event()

    def other_rank() -> None:
        with Signs(tmp_path, "now", Processes(1, 2), lambda: COUNTS).given():
            over.wait(20)

    thread = threading.Thread(target=other_rank)
    thread.start()
    while not sign_file(tmp_path, "now", 1).exists():
        time.sleep(0.01)
    break_folder(ranks)
    threading.Timer(1.5, ranks.unlink).start()
    threading.Timer(3.0, over.set).start()
    dead, others = wait_for_ranks(tmp_path, "now", Processes(0, 2), lambda: False, silence=0.5, pause=0.02)
    assert dead == [] and others == [{"done": True, "beat": others[0]["beat"], **COUNTS}]
    thread.join()


def test_the_last_sign_is_given_again_until_it_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranks_module, "BEAT", 0.05)
    ranks = tmp_path / "ranks"
    break_folder(ranks)
    threading.Timer(0.5, ranks.unlink).start()
    with Signs(tmp_path, "now", Processes(1, 2), lambda: COUNTS).given():
        pass
    assert json.loads(sign_file(tmp_path, "now", 1).read_text())["done"] is True


def test_a_rank_that_was_done_stays_done_though_its_file_is_removed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ranks_module, "BEAT", 0.02)
    with Signs(tmp_path, "now", Processes(1, 2), lambda: COUNTS).given():
        pass
    signs = Signs(tmp_path, "now", Processes(0, 2), lambda: COUNTS)
    with signs.given():
        while not signs.heard:
            time.sleep(0.01)
    shutil.rmtree(tmp_path / "ranks")
    assert wait_for_ranks(tmp_path, "now", Processes(0, 2), lambda: False, 0.2, 0.02, heard=signs.heard) == (
        [],
        [{"done": True, "beat": 2, **COUNTS}],
    )


def test_a_pause_of_all_processes_and_a_clock_that_jumps_back_kill_no_rank(tmp_path: Path, monkeypatch) -> None:
    """A suspended job: the clock is a thousand seconds on, and the other rank had no chance to give a sign."""
    path = sign_file(tmp_path, "now", 1)
    path.parent.mkdir()
    path.write_text(json.dumps({"done": False, "beat": 1, **COUNTS}))
    clock, looks = [0.0], []
    monkeypatch.setattr(ranks_module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(ranks_module.time, "time", lambda: -1e9)

    def stopped() -> bool:
        looks.append(1)
        clock[0] += 1000.0 if len(looks) == 3 else 0.1
        if len(looks) == 5:
            path.write_text(json.dumps({"done": True, "beat": 2, **COUNTS}))
        return False

    assert wait_for_ranks(tmp_path, "now", Processes(0, 2), stopped, silence=60, pause=0)[0] == []
