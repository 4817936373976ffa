"""Replies of every form: each is an answer, or the failure of its own request after its retries; none ends the run.

Valid replies are taken apart: every field is left out, made null, of another type, huge or deep.
"""

import copy
import gc
import json
import math
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.engine.ask import Asker
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import ModelSettings, account
from mm_eval.engine.records import answer_record, encode
from mm_eval.values.errors import MMEvalError, ModelError
from mm_eval.values.types import Answer, Instance, Slot
from tests.faults.server import Server
from tests.faults.test_network_17_to_27 import ask, questions
from tests.sets import each_of, few

REFUSAL = "no log-probabilities of the prompt"
DEEP = object()
"""Stands for a list nested beyond what any parser takes."""
STRANGE = [
    None,
    True,
    -1,
    0.5,
    10**400,
    -(10**400),
    math.nan,
    math.inf,
    -math.inf,
    "x",
    "\ud800",
    [],
    {},
    [[]],
    [None],
    [{}],
]
STRANGE += [{"": None}, {"x": {}}, list(range(50)), "y" * 5000, DEEP, 10**18, "7", 1e308, [["a"], 3], {"rank": "1"}]
GONE = object()

CHAT = {
    "id": "x",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8},
}
TEXT = {"choices": [{"index": 0, "text": "Yes", "finish_reason": "length"}], "usage": {"prompt_tokens": 7}}
TOP = [{"token": " A", "logprob": -0.5, "bytes": [32, 65]}, {"token": " B", "logprob": -1.5}]
FIRST_CHAT = {
    "choices": [
        {
            "message": {"content": " A"},
            "finish_reason": "length",
            "logprobs": {"content": [{"token": " A", "logprob": -0.5, "top_logprobs": TOP}]},
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1},
}
FIRST_TEXT = {"choices": [{"text": " A", "logprobs": {"top_logprobs": [{" A": -0.5, " B": -1.5}]}}]}
PROMPT = {
    "choices": [{"message": {"content": "x"}, "finish_reason": "length"}],
    "prompt_logprobs": [
        None,
        {"5": {"logprob": -9.0, "rank": 4, "decoded_token": "user"}, "6": {"logprob": -0.1, "rank": 1}},
        {"7": {"logprob": -0.25, "rank": 1, "decoded_token": " red"}},
        {"8": {"logprob": -2.0, "rank": 3, "decoded_token": " house"}, "9": {"logprob": -0.2, "rank": 1}},
    ],
}
ECHO = {
    "choices": [
        {
            "text": "The sky is red house.",
            "logprobs": {
                "tokens": ["The", " sky", " is", " red", " house", "."],
                "token_logprobs": [None, -1.0, -0.5, -0.25, -0.75, -4.0],
                "top_logprobs": [None, {" sea": -0.9}, {" is": -0.5}, {" red": -0.25}, {" barn": -0.5}, {".": -4.0}],
                "text_offset": [0, 3, 7, 10, 14, 20],
            },
        }
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 1},
}
WITHOUT_OFFSETS = copy.deepcopy(ECHO)
WITHOUT_OFFSETS["choices"][0]["logprobs"]["text_offset"] = [-1] * 6


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every field of a reply."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield from places(inner, (*path, name))


def changed(reply: dict, path: tuple, to: Any) -> bytes:
    """The reply's JSON with one field left out or made something else."""
    new = copy.deepcopy(reply)
    holder = new
    for name in path[:-1]:
        holder = holder[name]
    if to is GONE:
        del holder[path[-1]]
    else:
        holder[path[-1]] = "DEEP" if to is DEEP else to
    return json.dumps(new).replace('"DEEP"', "[" * 50_000 + "]" * 50_000).encode()


def scored(context: Any, *options: str) -> list[Instance]:
    kind = "loglikelihood"
    return [Instance(kind, "t", 0, {}, context, continuation=option, choice=n) for n, option in enumerate(options)]


CONTEXT = [{"role": "user", "content": "Which?"}]
KINDS: dict[str, tuple[dict, Callable[[OpenAI], Any], dict[str, str]]] = {
    "chat": (CHAT, lambda model: model.generate(questions(1)), {}),
    "text": (TEXT, lambda model: model.generate([Instance("generate_until", "t", 0, {}, "Q")]), {}),
    "first chat": (
        FIRST_CHAT,
        lambda model: model.loglikelihood(scored(CONTEXT, " A", " B")),
        {"loglikelihood": "token"},
    ),
    "first text": (FIRST_TEXT, lambda model: model.loglikelihood(scored("Q", " A", " B")), {"loglikelihood": "token"}),
    "prompt": (PROMPT, lambda model: model.loglikelihood(scored(CONTEXT, " red house")), {"loglikelihood": "prompt"}),
    "echo": (ECHO, lambda model: model.loglikelihood(scored("The sky is", " red house")), {"loglikelihood": "prompt"}),
    "no offsets": (
        WITHOUT_OFFSETS,
        lambda model: model.loglikelihood(scored("The sky is", " red house")),
        {"loglikelihood": "prompt"},
    ),
}


def outcome(kind: str, body: bytes) -> list[Answer | MMEvalError]:
    """What a server that always sends `body` comes to."""
    server = Server(lambda asked, nth: httpx.Response(200, content=body), latency=0.01)
    model = server.model(max_retries=2, **KINDS[kind][2])
    try:
        return [found for _, found in KINDS[kind][1](model)]
    except ModelError as error:  # a server that never gave a number is refused, and nothing else ends the run
        assert REFUSAL in str(error), error
        return [error]


def well_formed(found: Answer | MMEvalError) -> None:
    """An answer that can be recorded, or a failure of the model."""
    if not isinstance(found, Answer):
        assert isinstance(found, ModelError)
        return
    record = answer_record(found, [Slot("t", 0)])
    assert json.loads(encode(record)) and all(type(n) is int and 0 <= n <= 10**9 for n in record["usage"].values())
    if not isinstance(found.output, str):
        number, greedy = found.output
        assert number <= 0 and isinstance(greedy, bool)


@pytest.fixture(autouse=True)
def without_garbage_collection() -> Iterator[None]:
    """Deep replies are read up to the recursion limit, where the hook that hypothesis gives the collector would fail."""
    gc.disable()
    yield
    gc.enable()


@each_of("kind", KINDS)
def test_the_replies_that_are_taken_apart_are_answers(kind: str) -> None:
    assert all(isinstance(found, Answer) for found in outcome(kind, json.dumps(KINDS[kind][0]).encode()))


@pytest.mark.parametrize("kind", few(KINDS, "chat"))
def test_no_field_of_a_reply_can_end_a_run(kind: str) -> None:
    reply = KINDS[kind][0]
    expected = len(outcome(kind, json.dumps(reply).encode()))
    for path in places(reply):
        for to in (GONE, *STRANGE):
            found = outcome(kind, changed(reply, path, to))
            assert len(found) == expected or REFUSAL in str(found[0]), (path, to)
            for each in found:
                well_formed(each)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_several_changes_at_once_can_end_no_run(kind: str) -> None:
    draw = random.Random(kind)
    for _ in range(3000):
        reply = copy.deepcopy(KINDS[kind][0])
        for _ in range(draw.randint(2, 5)):
            path = draw.choice(list(places(reply)))
            reply = json.loads(
                changed(reply, path, draw.choice([GONE, *(each for each in STRANGE if each is not DEEP)]))
            )
            if not list(places(reply)):
                break
        assert (found := outcome(kind, json.dumps(reply).encode()))
        for each in found:
            well_formed(each)


@pytest.mark.full
def test_bytes_that_are_cut_or_turned_can_end_no_run() -> None:
    draw = random.Random(7)
    for kind, (reply, _, _) in KINDS.items():
        whole = json.dumps(reply).encode()
        for _ in range(150):
            body = bytearray(whole[: draw.randint(0, len(whole))] if draw.random() < 0.3 else whole)
            for _ in range(draw.randint(1, 3)):
                if body:
                    body[draw.randrange(len(body))] = draw.randrange(256)
            assert (found := outcome(kind, bytes(body)))
            for each in found:
                well_formed(each)


@pytest.mark.parametrize("kind", ["first chat", "prompt", "echo"])
def test_a_malformed_reply_is_asked_again(kind: str) -> None:
    reply = KINDS[kind][0]
    path, to = {
        "first chat": (("choices", 0, "logprobs", "content", 0, "top_logprobs", 0, "logprob"), None),
        "prompt": (("prompt_logprobs",), []),
        "echo": (("choices", 0, "logprobs", "token_logprobs", 3), None),
    }[kind]
    broken = changed(reply, path, to)
    server = Server(lambda body, nth: httpx.Response(200, content=broken if nth == 1 else json.dumps(reply).encode()))
    found = [each for _, each in KINDS[kind][1](server.model(**KINDS[kind][2]))]
    assert [each.output for each in found] == [each.output for each in outcome(kind, json.dumps(reply).encode())]
    assert found[0].attempts == 2


def test_a_reply_without_numbers_ends_no_run_that_has_had_some() -> None:
    """The server leaves `prompt_logprobs` out for one option only."""

    def handle(body: dict, nth: int) -> httpx.Response:
        reply = copy.deepcopy(PROMPT)
        words = body["messages"][-1]["content"].split()
        for position, word in zip(reply["prompt_logprobs"][2:], words, strict=True):
            next(iter(position.values()))["decoded_token"] = f" {word}"
        if words[0] == "blue":
            del reply["prompt_logprobs"]
        return httpx.Response(200, json=reply)

    options = (" red house", " green house", " blue house", " grey house")
    server = Server(handle, lambda body, nth: 0.5 if "blue" in str(body) else 0.1)
    model = server.model(loglikelihood="prompt", max_retries=3)
    found = [each for _, each in model.loglikelihood(scored(CONTEXT, *options))]
    assert [isinstance(each, Answer) for each in found] == [True, True, False, True]
    assert REFUSAL in str(found[2]) and found[2].attempts == 4


@pytest.mark.parametrize("count", [10**400, -5, 1.5, math.nan, math.inf, "7", True, None, [7], 10**18])
def test_a_token_count_that_is_none_is_left_out_and_the_answer_kept(tmp_path: Path, count: Any) -> None:
    body = changed(CHAT, ("usage", "prompt_tokens"), count)
    server = Server(lambda asked, nth: httpx.Response(200, content=body))
    assert ask(tmp_path, server, 3, input_price=2).answered == 3
    state = read_journal(tmp_path)
    assert (len(state.answers), state.damaged, state.usage) == (3, 0, {"completion_tokens": 3})
    assert "completion" in account(
        OpenAI({"base_url": "http://s/v1", "model": "m", "input_price": "2"}, ModelSettings()), state.usage
    )


@pytest.mark.parametrize(
    "usage", [{"prompt_tokens": 10**400}, {"prompt_tokens": -3}, {"prompt_tokens": "7"}, [1], 5, "x"]
)
def test_an_old_journal_with_such_a_count_is_read(tmp_path: Path, usage: Any) -> None:
    record = answer_record(Answer("Yes", key="k"), [Slot("t", 0)])
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "old.jsonl").write_bytes(encode({**record, "usage": usage}))
    state = read_journal(tmp_path)
    assert state.answer(Slot("t", 0)).output == "Yes" and state.usage == {}


@pytest.mark.parametrize(
    "output", [("x", True), (None, True), (True, True), (-(10**400), True), (-1.0,), 3, ({}, False)]
)
def test_an_adapters_answer_of_a_wrong_form_is_the_failure_of_its_request(tmp_path: Path, output: Any) -> None:
    from mm_eval.engine.journal import Journal
    from mm_eval.engine.model import Model

    class Odd(Model):
        def loglikelihood(self, instances):
            for instance in instances:
                yield instance, Answer(output if instance.choice == 0 else (-1.0, True))

    journal = Journal(tmp_path)
    try:
        came = Asker(Odd({}, ModelSettings()), journal, read_journal(tmp_path)).ask(scored("q", "a", "b"))
    finally:
        journal.close()
    assert (came.answered, came.failed, came.stopped) == (1, 1, None)
