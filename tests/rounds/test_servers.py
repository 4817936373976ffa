"""Conversations with a server, and over several processes and workers."""

import json
import pickle
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from mm_eval import evaluate
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import ModelSettings
from mm_eval.ray import blocks
from mm_eval.ray.worker import row_of
from mm_eval.values.files import digest_of
from mm_eval.values.types import Answer, Instance
from tests.engine.fakes import Echo, Threads, a_fleet
from tests.faults.server import Server, fault, reply
from tests.folders import results_of
from tests.rounds.talking import DOCS, TASK, TURNS, UTILS, run, turns_of, write


def turn_of(body: dict[str, Any]) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


def doc_of(body: dict[str, Any]) -> int:
    content = body["messages"][0]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return int(text.removeprefix("What is ").removesuffix("?"))


def seconds(body: dict[str, Any], nth: int) -> float:
    """Every document has one slow turn, another one each."""
    return 10.0 if turn_of(body) == doc_of(body) // 4 else 1.0


def answers(body: dict[str, Any], nth: int) -> httpx.Response:
    return reply(f"{doc_of(body)} {turn_of(body)}")


def test_no_conversation_waits_for_another_one(tmp_path: Path) -> None:
    server = Server(answers, seconds)
    # without pictures, which threads encode: the clock does not wait for them
    task = TASK.replace("doc_to_visual: !function utils.visual\n", "")
    utils = UTILS.replace('"image", "image": picture(doc, 4)', '"text", "text": "Look."')
    run(write(tmp_path / "task", task=task, utils=utils), tmp_path / "run", server.model(num_concurrent=64))
    each = [sum(10.0 if turn == doc // 4 else 1.0 for turn in range(turns_of(doc))) for doc in range(DOCS)]
    rounds = [
        max(10.0 if turn == doc // 4 else 1.0 for doc in range(DOCS) if turns_of(doc) > turn) for turn in range(4)
    ]
    (began, first), (last, body) = server.requests[0], server.requests[-1]
    assert len(server.requests) == TURNS
    took = last + seconds(body, 1) - began - seconds(first, 1)  # the first question is asked alone
    assert took <= max(each) + 1 < sum(rounds), "rounds one after another take longer"


def test_the_server_gets_the_whole_conversation_with_its_pictures(tmp_path: Path) -> None:
    server = Server(answers)
    run(write(tmp_path / "task"), tmp_path / "run", server.model())
    [last] = [body["messages"] for _, body in server.requests if doc_of(body) == 3 and turn_of(body) == 3]
    assert [message["role"] for message in last] == ["user", "assistant"] * 3 + ["user"]
    assert last[1]["content"] == "3 0" and last[2]["content"] == "You said '3 0'. Are you sure?"
    assert [part["type"] for part in last[4]["content"]] == ["image_url", "text"]


def test_a_server_that_fails_now_and_then_changes_no_number(tmp_path: Path) -> None:
    task = write(tmp_path / "task")
    run(task, tmp_path / "well", Server(answers).model())
    broken = Server(lambda body, nth: fault("500") if nth == 1 and turn_of(body) == 1 else answers(body, nth))
    run(task, tmp_path / "ill", broken.model())
    assert results_of(tmp_path / "well") == results_of(tmp_path / "ill")


def test_a_turn_that_is_refused_for_good_fails_its_document(tmp_path: Path) -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        too_long = turn_of(body) == 2 and doc_of(body) == 3
        return httpx.Response(400, json={"error": {"message": "no"}}) if too_long else answers(body, nth)

    results = run(write(tmp_path / "task"), tmp_path / "run", Server(handle).model())
    assert results["talks"].failed == 1 and results.exit_code == 3
    row = json.loads((tmp_path / "run" / "samples" / "talks.jsonl").read_text().splitlines()[3])
    assert "doc 3, turn 3" in row["error"]["what"]


def test_what_a_conversation_cost_is_counted_over_all_turns(tmp_path: Path) -> None:
    model = Server(answers).model(input_price=1, output_price=1)
    run(write(tmp_path / "task"), tmp_path / "run", model)
    facts = json.loads((tmp_path / "run" / "results.json").read_text())["run"]
    assert facts["usage"]["prompt_tokens"] == 7 * TURNS
    assert facts["cost"]["dollars"] == 8 * TURNS / 1e6


@pytest.mark.parametrize("lost", [False, True])
def test_workers_answer_whole_conversations(tmp_path: Path, lost: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers, of which one may be lost: every turn is recorded once, and the numbers are those of one process."""
    monkeypatch.setattr(blocks, "BLOCK", 4)
    task = write(tmp_path / "task")
    evaluate(task, Digests({}, ModelSettings()), output_path=str(tmp_path / "one"), report=False)
    fleet, joined = a_fleet(Losing if lost else Digests, 2)
    Losing.joined = joined
    results = evaluate(task, fleet, output_path=str(tmp_path / "fleet"), report=False)
    assert all(pickle.loads(pickle.dumps(row_of(instance))) for instance in fleet.model.asked), "they can travel"
    assert results["talks"].failed == 0 and (joined[0].killed != []) >= lost
    state = read_journal(tmp_path / "fleet")
    assert len(state.slots) == TURNS and len(state.ends) == DOCS
    assert results_of(tmp_path / "one") == results_of(tmp_path / "fleet")


class Digests(Echo):
    """Answers with a digest of its prompt."""

    asked: ClassVar[list[Instance]] = []

    def answer(self, instance: Instance) -> Answer:
        return Answer(digest_of([instance.context, instance.image_digests])[:4])


class Losing(Digests):
    """Loses the first worker once the third request has come."""

    joined: ClassVar[list[Threads]] = []

    def answer(self, instance: Instance) -> Answer:
        if len(self.asked) == 3:
            self.joined[0].lose(1)
        return super().answer(instance)
