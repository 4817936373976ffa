"""Workers, nodes and drivers that are killed, hang or differ: nothing is lost, nothing is answered twice."""

import json
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.ray.model import HANGS

MME = ("--tasks", "mme")
DOCS = 420


def counted(run: Any) -> Counter:
    """How often each slot was answered."""
    return Counter(tuple(map(str, slot)) for row in run.answers() for slot in row["slots"])


def whole(run: Any) -> None:
    assert set(counted(run).values()) == {1} and len(counted(run)) == DOCS
    row = run.results["results"]["mme"]
    assert row["failed"] == 0 and row["n"] == DOCS


def asked_again(run: Any, killed: list[int]) -> int:
    """How many requests were asked again: exactly those that killed workers had taken and whose answers did not arrive.

    Workers log each request that their model takes, and the usage of a recorded answer names the process that gave it.
    """
    takers: dict[str, list[int]] = {}
    for pid, what in run.noted("ask"):
        takers.setdefault(what, []).append(pid)
    rows = [row for row in run.answers() if row["kind"] == "answer"]
    giver = {"{}:{}".format(*row["slots"][0]): row["usage"]["pid"] for row in rows}
    assert giver.keys() == takers.keys()
    for what, pids in takers.items():
        assert pids[-1] == giver[what], "it was asked again after its answer had arrived"
        assert set(pids[:-1]) <= set(killed), "it was asked again though its worker lived"
    for pid in killed:
        arrived = [giver[what] == pid for worker, what in run.noted("ask") if worker == pid]
        assert arrived == sorted(arrived, reverse=True), "answers arrive in their order, so the last ones are lost"
    return sum(len(pids) - 1 for pids in takers.values())


def test_kill_9_of_workers_loses_nothing_and_asks_again_what_had_not_arrived(start: Callable[..., Any]) -> None:
    run, killed = start(*MME, seconds=0.02), []
    for requests in (50, 120, 200):
        run.wait_for(requests)
        killed.append(run.kill_a_worker())
    said = run.end()
    whole(run)
    assert said.count(f"The worker on {socket.gethostname()} is gone") == len(killed) and "(raylet)" not in said
    assert asked_again(run, killed) == len(run.noted("ask")) - DOCS


@pytest.mark.slow
def test_twenty_random_kills(start: Callable[..., Any]) -> None:
    draw, run, killed = random.Random(5), start("--tasks", "mme,seedbench", seconds=0.05), []
    for kill in range(20):
        run.wait_for(10 + 25 * kill + draw.randrange(20), seconds=300)
        killed.append(run.kill_a_worker())
    run.end(seconds=400)
    assert set(counted(run).values()) == {1} and len(killed) == len(set(killed)) == 20
    assert all(row["failed"] == 0 for row in run.results["results"].values())
    assert asked_again(run, killed) == len(run.noted("ask")) - len(counted(run))


def test_a_killed_node_and_a_late_one(start: Callable[..., Any], nodes: Any) -> None:
    run = start(*MME, seconds=0.03, workers=3)
    run.wait_for(40)
    assert len(run.noted("load")) == 2, "there is room for two"
    nodes.add(1)
    while len({pid for pid, _ in run.noted("ask")}) < 3:
        assert run.process.poll() is None, "the late node took no part"
        time.sleep(0.1)
    nodes.remove(nodes.nodes[-1])
    run.end()
    whole(run)


def test_a_poison_request_fails_alone(start: Callable[..., Any]) -> None:
    run = start(*MME, "--limit", "100", poison="blue square", seconds=0.01)
    said = run.end(3)
    row = run.results["results"]["mme"]
    poisoned = [
        row["doc_id"] for row in map(json.loads, run.content()["mme.jsonl"].splitlines()) if "blue square" in str(row)
    ]
    assert row["failed"] == len(poisoned) > 0
    asked = Counter(what for _, what in run.noted("ask"))
    deaths = {doc_id: asked[f"mme:{doc_id}"] for doc_id in poisoned}
    assert max(deaths.values()) <= 5, (
        "in its block, in its group, twice alone; and once for the block before, whose answers died too"
    )
    assert "workers were lost while they answered this request" in said


def test_a_worker_that_hangs_is_replaced(start: Callable[..., Any]) -> None:
    run = start(*MME, "--limit", "100", "--worker_timeout", "4", hang="?")
    assert "said nothing for 4 seconds" in run.end()
    assert run.results["results"]["mme"]["n"] == 100


def test_a_worker_with_another_dtype_is_refused_with_the_difference(start: Callable[..., Any]) -> None:
    run = start(*MME, differs=1, seconds=0.02)
    said = run.end()
    assert "dtype is 'bfloat16' here and 'float32' there" in said
    whole(run)
    assert len({pid for pid, _ in run.noted("ask")}) == 1


def test_what_is_wrong_with_the_model_is_told_before_anything_is_asked(start: Callable[..., Any]) -> None:
    broken = start(*MME, unloadable=1)
    assert "the weights are not here. Put them here." in broken.end(2)
    assert not broken.folder.exists()
    dying = start(*MME, die=1, name="dying")
    assert "3 workers in a row died while they loaded the model" in dying.end(2)
    assert 3 <= len(dying.noted("load")) <= 4


def test_kill_9_of_the_driver_leaves_no_worker_and_the_same_command_goes_on(
    start: Callable[..., Any], nodes: Any
) -> None:
    run = start(*MME, seconds=0.02)
    run.wait_for(100)
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    end, pids = time.monotonic() + HANGS, {pid for pid, _ in run.noted("ask")}
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < end, "its workers live on"
        time.sleep(0.2)
    assert nodes.free_cpus() == 2
    kept = len(counted(run))
    again = start(*MME, seconds=0)
    again.end()
    whole(again)
    assert len(again.noted("ask")) == DOCS - kept


def test_an_interrupt_keeps_what_was_answered_and_gives_the_workers_back(start: Callable[..., Any], nodes: Any) -> None:
    run = start(*MME, seconds=0.02)
    run.wait_for(60)
    run.process.send_signal(signal.SIGINT)
    run.end(130)
    assert len(counted(run)) == len(run.noted("ask")) < DOCS, "all that was asked is recorded"
    assert not any(alive(pid) for pid, _ in run.noted("ask")) and nodes.free_cpus() == 2


def test_two_commands_that_want_more_than_there_is_share_it(start: Callable[..., Any]) -> None:
    one, two = start(*MME, seconds=0.005, name="one"), start(*MME, seconds=0.005, name="two")
    one.end(), two.end()
    whole(one), whole(two)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"
