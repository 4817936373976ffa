"""How each reply of a server ended: only a known ending leaves an answer."""

from typing import Any

import httpx

from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Instance
from tests.faults.server import Server, echo, reply
from tests.faults.test_network_17_to_27 import questions
from tests.sets import each_of


def answered(sent: httpx.Response, **args: Any) -> Any:
    [(_, found)] = Server(lambda body, nth: sent).model(max_retries=2, **args).generate(questions(1))
    return found


def message(finish: str | None = "stop", choice: dict[str, Any] | None = None, **fields: Any) -> httpx.Response:
    choices = [{"message": {"role": "assistant", **fields}, "finish_reason": finish, **(choice or {})}]
    return httpx.Response(200, json={"choices": choices, "model": "m"})


CALL = [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]


@each_of(
    ("sent", "output", "ended"),
    [
        (reply("Yes", "stop"), "Yes", "stop"),
        (reply("Yes", "model_length"), "Yes", "length"),
        (reply("", "length"), "", "length"),
        (reply(None, "max_tokens"), "", "length"),
        (reply("No", "content_filter"), "No", "filtered"),
        (reply(None, "SAFETY"), "", "filtered"),
        (message(content=None, refusal="I can't help with that."), "I can't help with that.", "refused"),
        (message(content="", refusal="I can't."), "", "refused"),
        (message(content=[{"type": "refusal", "refusal": "I can't."}]), "I can't.", "refused"),
        (message(content=[{"type": "text", "text": "Y"}, {"type": "text", "text": "es"}]), "Yes", "stop"),
        (message(content="No", choice={"error": {"code": "content_filter"}}), "No", "filtered"),
        (httpx.Response(400, json={"error": {"code": "content_filter", "message": "filtered"}}), "", "filtered"),
        (httpx.Response(403, json={"error": {"message": "Your input was flagged"}}), "", "filtered"),
        (httpx.Response(200, json={"error": {"code": "content_filter"}}), "", "filtered"),
    ],
)
def test_a_known_ending_is_an_answer(sent: httpx.Response, output: str, ended: str) -> None:
    found = answered(sent)
    assert isinstance(found, Answer), found
    assert (found.output, found.ended, found.attempts) == (output, ended, 1)


@each_of(
    ("sent", "attempts"),
    [
        (reply("No", "error"), 3),
        (reply("No", "abort"), 3),
        (message("stop", {"error": {"code": 502, "message": "Provider returned error"}}, content="No"), 3),
        (message("stop", content="No", tool_calls=CALL), 1),
        (message("stop", content="No", function_call=CALL[0]["function"]), 1),
        (message("tool_calls", content="No", tool_calls=CALL), 1),
        (reply("No", "unknown"), 1),
        (reply("No", "OTHER"), 1),
    ],
)
def test_any_other_ending_is_a_failure_whatever_the_text(sent: httpx.Response, attempts: int) -> None:
    found = answered(sent)
    assert isinstance(found, ModelError) and found.attempts == attempts, found


def test_a_tool_call_is_an_answer_where_the_request_offers_tools() -> None:
    tools = '{"tools": [{"type": "function", "function": {"name": "look"}}]}'
    found = answered(message("tool_calls", content="I look", tool_calls=CALL), extra_body=tools)
    assert (found.output, found.ended) == ("I look", "tool")


def test_an_answer_that_broke_off_once_is_asked_again() -> None:
    server = Server(lambda body, nth: reply("No", "abort") if nth == 1 else echo(body))
    [(_, found)] = server.model().generate(questions(1))
    assert (found.output, found.ended, found.attempts) == ("echo question 0", "stop", 2)


def test_a_filter_ends_no_run_however_often_it_answers() -> None:
    blocked = httpx.Response(400, json={"error": {"code": "content_filter", "message": "filtered"}})
    found = [answer for _, answer in Server(lambda body, nth: blocked).model().generate(questions(60))]
    assert {answer.ended for answer in found} == {"filtered"} and len(found) == 60


def test_a_filter_leaves_no_log_likelihood() -> None:
    blocked = httpx.Response(400, json={"error": {"code": "content_filter", "message": "filtered"}})
    asked = [Instance("loglikelihood", "t", 0, {}, [{"role": "user", "content": "Q"}], continuation=" A")]
    [(_, found)] = Server(lambda body, nth: blocked).model(loglikelihood="token").loglikelihood(asked)
    assert isinstance(found, ModelError) and "content filter" in str(found)
