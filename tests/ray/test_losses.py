"""Workers, nodes and drivers that are killed, hang or differ: nothing is lost, nothing is answered twice."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

MME = ("--tasks", "mme")
DOCS = 420


def counted(run: Any) -> Counter:
    """How often each slot was answered."""
    return Counter(tuple(map(str, slot)) for row in run.answers() for slot in row["slots"])


def whole(run: Any) -> None:
    assert set(counted(run).values()) == {1} and len(counted(run)) == DOCS
    row = run.results["results"]["mme"]
    assert row["failed"] == 0 and row["n"] == DOCS


def test_kill_9_of_workers_loses_nothing_and_asks_only_what_was_in_flight_again(start: Callable[..., Any]) -> None:
    run = start(*MME, seconds=0.02)
    kills = 0
    for requests in (50, 120, 200):
        run.wait_for(requests)
        run.kill_a_worker()
        kills += 1
    said = run.end()
    whole(run)
    assert said.count("A worker is gone") == kills
    again = len(run.noted("ask")) - DOCS
    assert 0 <= again <= 4 * kills, "the one under way, and those whose answers were on their way"


@pytest.mark.slow
def test_twenty_random_kills(start: Callable[..., Any]) -> None:
    draw, run = random.Random(5), start("--tasks", "mme,seedbench", seconds=0.05)
    for kill in range(20):
        run.wait_for(10 + 25 * kill + draw.randrange(20), seconds=300)
        run.kill_a_worker()
    run.end(seconds=400)
    assert set(counted(run).values()) == {1}
    assert all(row["failed"] == 0 for row in run.results["results"].values())
    assert len(run.noted("ask")) <= len(counted(run)) + 4 * 20, "one under way, and answers on their way"


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
    assert "3 workers one after another died while they loaded the model" in dying.end(2)
    assert 3 <= len(dying.noted("load")) <= 4


def test_kill_9_of_the_driver_leaves_no_worker_and_the_same_command_goes_on(
    start: Callable[..., Any], nodes: Any
) -> None:
    run = start(*MME, seconds=0.02)
    run.wait_for(100)
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    end, pids = time.monotonic() + 60, {pid for pid, _ in run.noted("ask")}
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
    begin = time.monotonic()
    run.process.send_signal(signal.SIGINT)
    run.end(130)
    assert time.monotonic() - begin < 20
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
