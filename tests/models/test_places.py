"""Log-probabilities beside the answers: asked for only where `keep_places` says so, and no part of an answer or a key."""

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest
from mm_eval.models.openai.client.logprobs import first_places

from mm_eval.engine.model import MODELS, ModelSettings, create_model, keep_places, request_key
from mm_eval.engine.records import answer_of, answer_record
from mm_eval.values.types import Answer, Instance, Place
from tests.engine.asking import questions
from tests.faults.server import Server, reply

CONTENT = [
    {
        "token": "Yes",
        "logprob": -0.1,
        "top_logprobs": [{"token": "No", "logprob": -2.5}, {"token": "Yes", "logprob": -0.1}],
    },
    {"token": ".", "logprob": -0.2, "top_logprobs": [{"token": ".", "logprob": -0.2}]},
]
PLACES = (Place("Yes", {"Yes": -0.1, "No": -2.5}), Place(".", {".": -0.2}))


def with_logprobs(body: Mapping[str, Any], nth: int) -> httpx.Response:
    found = json.loads(reply().content)
    if body.get("logprobs"):
        found["choices"][0]["logprobs"] = {"content": CONTENT}
    return httpx.Response(200, json=found)


def answers(server: Server, places: int, count: int = 3) -> tuple[list[Answer], list[str]]:
    model = server.model()
    if places:
        keep_places(model, places)
    asked = questions(count)
    for each in asked:
        each.context = [{"role": "user", "content": [{"type": "text", "text": str(each.context)}]}]
    found = {instance.doc_id: answer for instance, answer in model.generate(asked)}
    return [found[each.doc_id] for each in asked], [request_key(model, each) for each in asked]  # type: ignore[misc]


def test_a_server_is_asked_for_them_only_where_they_are_kept() -> None:
    plain, keeping = Server(with_logprobs), Server(with_logprobs)
    without, keys = answers(plain, 0)
    found, same_keys = answers(keeping, 1)
    assert not any("logprobs" in body for _, body in plain.requests)
    assert all((body.get("logprobs"), body.get("top_logprobs")) == (True, 5) for _, body in keeping.requests)
    assert keys == same_keys and [each.output for each in without] == [each.output for each in found]
    assert [each.places for each in found] == [PLACES[:1]] * 3 and not any(each.places for each in without)


@pytest.mark.parametrize("said", ["logprobs is not supported", "Unknown parameter: 'top_logprobs'", "unknown fields"])
def test_a_server_that_refuses_them_answers_without(said: str) -> None:
    def refusing(body: dict[str, Any], nth: int) -> httpx.Response:
        if "logprobs" in body or "top_logprobs" in body:
            return httpx.Response(400, json={"error": {"message": said}})
        return reply()

    server = Server(refusing)
    found, keys = answers(server, 8)
    assert [each.output for each in found] == ["Yes"] * 3 and not any(each.places for each in found)
    assert sum("logprobs" in body for _, body in server.requests) <= 1
    assert keys == answers(Server(with_logprobs), 0)[1]


@pytest.mark.parametrize(
    ("logprobs", "found"),
    [
        ({"content": CONTENT}, PLACES),
        ({"tokens": ["Yes", "."], "top_logprobs": [{"Yes": -0.1, "No": -2.5}, {".": -0.2}]}, PLACES),
        ({"content": [{**CONTENT[0], "top_logprobs": [{"token": 3, "logprob": -1.0}]}]}, ()),
        ({"content": [{**CONTENT[0], "top_logprobs": [{"token": "x", "logprob": math.nan}]}]}, ()),
        ({"content": [CONTENT[0], {"token": "."}]}, PLACES[:1]),
        ({"content": "x"}, ()),
        ("x", ()),
        (None, ()),
    ],
)
def test_what_a_reply_states_in_another_form_counts_as_none(logprobs: object, found: tuple[Place, ...]) -> None:
    assert first_places({"choices": [{"logprobs": logprobs}]}, 8) == found


def test_a_record_has_them_and_an_answer_that_is_read_does_not() -> None:
    answer = Answer("Yes", key="k", places=(Place("Yes", {"Yes": -0.1, "No": -math.inf}),))
    record = json.loads(json.dumps(answer_record(answer, [])))
    assert record["output"]["places"] == [["Yes", {"Yes": -0.1}]]
    assert answer_of(record) == answer and answer_of(record).places == ()  # type: ignore[union-attr]
    assert "places" not in answer_record(Answer("Yes", key="k"), [])["output"]  # type: ignore[operator]


def test_a_loaded_model_keeps_those_of_its_greedy_tokens() -> None:
    def asked(places: int, **options: object) -> tuple[list[Answer], list[str]]:
        model = create_model(MODELS.get("tiny-llava"), {}, ModelSettings(device="cpu"))
        if places:
            keep_places(model, places)
        instances = [
            Instance(
                "generate_until", "t", n, {}, f"Is {n} a number?", generation_kwargs={"max_gen_toks": 5, **options}
            )
            for n in range(3)
        ]
        found = {instance.doc_id: answer for instance, answer in model.generate(instances)}
        return [found[n] for n in range(3)], [request_key(model, each) for each in instances]  # type: ignore[misc]

    without, keys = asked(0)
    found, same_keys = asked(3)
    assert keys == same_keys and [replace(each, places=()) for each in found] == without
    for answer in found:
        assert 1 <= len(answer.places) <= 3
        for place in answer.places:
            assert max(place.likeliest, key=lambda token, at=place: at.likeliest[token]) == place.token  # type: ignore[misc]
            assert 0 < sum(map(math.exp, place.likeliest.values())) <= 1 + 1e-6
