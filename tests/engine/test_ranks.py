"""The ranks of a run: signs of life, and no rank waits for a dead one for ever."""

import json
import time
from pathlib import Path

import pytest

from mm_eval.engine.folder import RunFolder
from mm_eval.engine.launch import Processes
from mm_eval.engine.ranks import Signs, clear_signs, launched, sign_file, wait_for_ranks
from mm_eval.errors import ConfigError


def sign(folder: Path, rank: int, done: bool, beat: int = 1, failed: int = 0) -> None:
    counts = {"reused": 0, "asked": rank, "shared": 0, "cached": 0, "answered": rank, "failed": failed}
    path = sign_file(folder, "now", rank)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"done": done, "beat": beat, **counts}))


def test_rank_0_waits_for_the_living_and_not_for_the_dead(tmp_path: Path) -> None:
    own = Processes(0, 4)
    sign(tmp_path, 1, done=True)
    sign(tmp_path, 2, done=False)
    sign_file(tmp_path, "earlier", 3).write_text('{"done": true, "beat": 9}')
    beats = iter(range(2, 12))

    def stopped() -> bool:
        sign(tmp_path, 2, done=(beat := next(beats)) == 11, beat=beat)
        return False

    dead, others = wait_for_ranks(tmp_path, "now", own, stopped, silence=0.2, pause=0.05)
    assert dead == [3] and [each["asked"] for each in others] == [1, 2]


def test_a_rank_knows_how_many_requests_failed_in_the_others(tmp_path: Path) -> None:
    sign(tmp_path, 0, done=False, failed=100)
    sign(tmp_path, 1, done=False, failed=2)
    sign(tmp_path, 3, done=True, failed=5)
    assert Signs(tmp_path, "now", Processes(0, 4), dict).failed_elsewhere() == 7
    assert Signs(tmp_path, "now", Processes(), dict).failed_elsewhere() == 0


def test_waiting_ends_when_the_user_stops_it(tmp_path: Path) -> None:
    started = time.monotonic()
    assert wait_for_ranks(tmp_path, "now", Processes(0, 2), lambda: True)[0] == []
    assert time.monotonic() - started < 1


def test_the_last_sign_says_done_only_when_nothing_was_raised(tmp_path: Path) -> None:
    counts = {"answered": 3}
    with Signs(tmp_path, "a", Processes(1, 2), lambda: counts).given():
        assert json.loads(sign_file(tmp_path, "a", 1).read_text())["done"] is False
    assert json.loads(sign_file(tmp_path, "a", 1).read_text()) == {"done": True, "beat": 2, "answered": 3}
    with pytest.raises(OSError), Signs(tmp_path, "b", Processes(1, 2), lambda: counts).given():
        raise OSError("disk")
    assert json.loads(sign_file(tmp_path, "b", 1).read_text())["done"] is False
    clear_signs(tmp_path)
    assert list((tmp_path / "ranks").iterdir()) == []


def test_one_process_locks_claims_and_needs_no_signs(tmp_path: Path) -> None:
    folder, claims = RunFolder(tmp_path), []
    with launched(Processes(), folder, lambda: claims.append(1)):
        with pytest.raises(ConfigError, match="in use"):
            RunFolder(tmp_path).refuse_if_held()
        with Signs(tmp_path, "a", Processes(), dict).given():
            pass
    assert claims == [1] and not (tmp_path / "ranks").exists()
    RunFolder(tmp_path).refuse_if_held()
