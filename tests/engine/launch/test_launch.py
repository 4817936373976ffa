"""The ranks of a launch: one claims the folder, all deal out the same docs, failures and counts of all are known."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine import launch as ranks
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.launch import Processes, Shared, launched, processes
from mm_eval.values.errors import ConfigError
from tests.processes import HANGS
from tests.sets import each_of


class Store:
    """The store of a launcher. `gone`: it has ended."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.gone = False

    def set(self, key: str, value: str) -> None:
        self._look()
        self.values[key] = value.encode()

    def get(self, key: str) -> bytes:
        self._look()
        return self.values[key]

    def check(self, keys: list[str]) -> bool:
        self._look()
        return all(key in self.values for key in keys)

    def add(self, key: str, number: int) -> int:
        self._look()
        self.values[key] = str(total := int(self.values.get(key, b"0")) + number).encode()
        return total

    def _look(self) -> None:
        if self.gone:
            raise RuntimeError("Connection was likely closed.")


def two(store: Store) -> tuple[Shared, Shared]:
    return Shared(Processes(0, 2), store, "one"), Shared(Processes(1, 2), store, "one")


def test_rank_0_waits_for_the_counts_of_the_others_however_long_they_take() -> None:
    first, second = two(Store())
    threading.Timer(0.5, lambda: second.others({"answered": 3}, lambda: False)).start()
    assert first.others({"answered": 1}, lambda: False) == [{"answered": 3}]
    assert Shared(Processes(0, 2), Store(), "two").others({}, lambda: True) == [], "the user stopped it"


def test_a_rank_knows_how_many_requests_failed_in_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = two(Store())
    assert first.failed_elsewhere({"failed": 2}) == 0
    assert second.failed_elsewhere({"failed": 4, "judge_failed": 1}) == 2
    assert first.failed_elsewhere({"failed": 3}) == 0, "it looks once a second"
    monkeypatch.setattr(ranks, "RETOLD", 0.0)
    first._next_look = second._next_look = 0.0
    assert first.failed_elsewhere({"failed": 3}) == 5
    assert second.failed_elsewhere({"failed": 4, "judge_failed": 1}) == 3, "each failure is added once"


def test_launches_of_one_process_share_nothing() -> None:
    store = Store()
    Shared(Processes(1, 2), store, "launch-1").publish("read")
    later = Shared(Processes(0, 2), store, "launch-2")
    assert later.wait_for("read", 1, iter([False, True]).__next__) is None


def test_the_others_claim_after_rank_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, order = Store(), list[int]()
    monkeypatch.setattr(ranks, "store_of", lambda own: store)
    monkeypatch.setattr(ranks, "_launches", iter([1, 1]))

    def join(rank: int) -> None:
        with launched(Processes(rank, 2), RunFolder(tmp_path), lambda: order.append(rank)) as launch:
            launch.all_have_read()

    second = threading.Thread(target=join, args=(1,))
    second.start()
    time.sleep(0.2)
    assert order == []
    join(0)
    second.join(HANGS)
    assert order == [0, 1]


def test_a_launcher_that_is_gone_is_a_message() -> None:
    store = Store()
    own = Shared(Processes(1, 2), store, "one")
    store.gone = True
    calls: list[Any] = [lambda: own.publish("read"), lambda: own.wait_for("claimed", 0)]
    calls += [lambda: own.failed_elsewhere({"failed": 1}), lambda: own.others({}, lambda: False)]
    for call in calls:
        with pytest.raises(
            ConfigError, match=r"rank 1: the launcher of this process has ended\. Recorded answers are safe"
        ):
            call()


def test_one_process_locks_claims_and_exchanges_nothing(tmp_path: Path) -> None:
    folder, claims = RunFolder(tmp_path), []
    with launched(Processes(), folder, lambda: claims.append(1)) as launch:
        with pytest.raises(ConfigError, match="in use"):
            RunFolder(tmp_path).refuse_if_held()
        launch.all_have_read()
        assert launch.others({"answered": 1}, lambda: False) == [] and launch.failed_elsewhere({"failed": 3}) == 0
    assert claims == [1]
    RunFolder(tmp_path).refuse_if_held()


@each_of("count", [1, 2, 3, 8])
@each_of("begun", [set(), {0, 1, 2, 3, 4, 5, 6, 7}, set(range(30))])
def test_every_doc_has_one_rank_and_docs_of_one_picture_have_the_same(count: int, begun: set[int]) -> None:
    groups = {doc_id: doc_id // 3 for doc_id in range(30)}
    shares = [ranks.share(Processes(rank, count), groups, begun) for rank in range(count)]
    assert sorted(doc_id for share in shares for doc_id in share) == list(range(30))
    for share in shares:
        assert all(share.count(doc_id // 3 * 3) == 1 for doc_id in share)


def test_pending_docs_are_dealt_out_evenly_though_one_rank_died() -> None:
    groups = {doc_id: doc_id for doc_id in range(40)}
    begun = set(range(0, 40, 2))  # rank 1 of 2 died before its first answer
    shares = [ranks.share(Processes(rank, 2), groups, begun) for rank in range(2)]
    assert [len(set(share) - begun) for share in shares] == [10, 10]


def test_each_process_takes_the_gpu_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    for name, value in {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert processes.__wrapped__() == Processes(1, 4, 1) and taken == [1]
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ConfigError, match="no GPU for process 2 of this machine, which has 2"):
        processes.__wrapped__()
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    processes.__wrapped__()
    assert taken == [1]


def in_a_round(rank: int, store: Store, body: Callable[[ranks.Round], object]) -> str:
    """What `all_together` raises on a rank; each rank is a thread here, and its round is given to the body."""
    own = ranks.Round(Processes(rank, 2), store, 1)
    try:
        with own:
            body(own)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_where_one_rank_of_a_training_fails_all_raise_and_none_waits_for_ever() -> None:
    store, said = Store(), dict[int, str]()

    def waits(own: ranks.Round) -> None:
        Shared(own.own, store, own.next_name(), own).all_have_read()

    def fails(own: ranks.Round) -> None:
        raise OSError("the disk is full")

    other = threading.Thread(target=lambda: said.update({1: in_a_round(1, store, waits)}))
    other.start()
    said[0] = in_a_round(0, store, fails)
    other.join(HANGS)
    assert said == {0: "OSError: the disk is full", 1: said[1]}
    assert said[1].startswith("ModelError: process 0 of 2: the disk is full. The answers so far are recorded")


def test_no_rank_of_a_training_leaves_before_all_have_ended() -> None:
    store, order = Store(), list[str]()

    def slow(own: ranks.Round) -> None:
        time.sleep(0.3)
        order.append("slow")

    other = threading.Thread(target=in_a_round, args=(1, store, slow))
    other.start()
    assert in_a_round(0, store, lambda own: None) == ""
    order.append("fast left")
    other.join(HANGS)
    assert order == ["slow", "fast left"]


def test_what_a_rank_publishes_before_it_fails_is_read() -> None:
    """Rank 0 says that the folder holds another run, and fails: the others choose another folder as it does."""
    store = Store()
    own, other = (ranks.Round(Processes(rank, 2), store, 1) for rank in range(2))
    Shared(own.own, store, "one", own).publish("claimed", ["another run"])
    own.end("another run")
    assert Shared(other.own, store, "one", other).wait_for("claimed", 0) == ["another run"]


def test_a_training_that_nobody_here_started_has_its_own_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeepSpeed's launcher, mpirun: their processes have a process group, and the group's store is used."""
    import torch.distributed as dist

    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "LOCAL_RANK": "1", "LOCAL_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("TORCHELASTIC_USE_AGENT_STORE", raising=False)
    processes.cache_clear()
    store = dist.HashStore()
    monkeypatch.setattr(dist, "is_initialized", lambda: True)
    monkeypatch.setattr(dist.distributed_c10d, "_get_default_store", lambda: store)
    try:
        assert processes() == Processes(1, 2, 1)
        ranks.store_of(processes()).set("a", "b")
        assert ranks.store_of(processes()).get("a") == b"b"
        monkeypatch.setenv("LOCAL_SIZE", "1")
        processes.cache_clear()
        with pytest.raises(ConfigError, match="1 of the 2 processes of this launch are on this machine"):
            processes()
    finally:
        processes.cache_clear()
        ranks.store_of.cache_clear()
