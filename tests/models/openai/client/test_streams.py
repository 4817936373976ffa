"""Replies as a stream of events: comments, pieces, errors; servers that only stream. Azure's addresses, headers of gateways."""

import json
from typing import Any

import httpx
import pytest
from mm_eval.models.openai.client.streams import streamed

from mm_eval.values.types import Answer
from tests.faults.server import Server, echo, reply
from tests.faults.test_network_17_to_27 import questions


def events(*pieces: Any, comment: str = ": PROCESSING") -> httpx.Response:
    lines = [comment, ""]
    for piece in pieces:
        lines += [f"data: {piece if isinstance(piece, str) else json.dumps(piece)}", "", comment, ""]
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, text="\r\n".join(lines))


def delta(finish: str | None = None, **message: Any) -> dict[str, Any]:
    return {"model": "m-1", "choices": [{"index": 0, "delta": message, "finish_reason": finish}]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
PIECES = [
    delta(role="assistant", content=""),
    delta(reasoning_content="hm"),
    delta(content="Ye"),
    delta("stop", content="s"),
]
WHOLE = events(*PIECES, USAGE, "[DONE]")


def test_a_stream_is_one_reply() -> None:
    [(_, found)] = Server(lambda body, nth: WHOLE).model().generate(questions(1))
    assert isinstance(found, Answer) and found.output.endswith("Yes") and "hm" in found.output + found.reasoning
    assert (
        found.usage == {"prompt_tokens": 7, "completion_tokens": 2} and found.model == "m-1" and found.ended == "stop"
    )


def test_comments_before_json_are_skipped() -> None:
    text = f": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n{reply('No').text}"
    [(_, found)] = Server(lambda body, nth: httpx.Response(200, text=text)).model().generate(questions(1))
    assert isinstance(found, Answer) and found.output == "No"
    assert streamed("plain text") is None and streamed("<html></html>") is None


@pytest.mark.parametrize("broken", [events(delta(content="Y")), events(delta(content="Y"), '{"choices": [{"de')])
def test_a_stream_that_broke_off_is_asked_again(broken: httpx.Response) -> None:
    server = Server(lambda body, nth: broken if nth == 1 else WHOLE)
    [(_, found)] = server.model().generate(questions(1))
    assert isinstance(found, Answer) and len(server.requests) == 2


@pytest.mark.parametrize(
    "said",
    [
        "This model only support stream mode, please enable it",
        "Non-streaming requests are not supported.",
        "stream must be true",
    ],
)
def test_a_server_that_only_streams_is_asked_for_a_stream(said: str) -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        if not body.get("stream"):
            return httpx.Response(400, json={"error": {"message": said}})
        return httpx.Response(400, text="Unknown parameter: 'stream_options'") if "stream_options" in body else WHOLE

    server = Server(handle)
    found = [each for _, each in server.model().generate(questions(5))]
    assert all(isinstance(each, Answer) for each in found) and len(server.requests) == 7


def test_azure_and_gateways(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: list[httpx.URL] = []

    class Azure(Server):
        async def __call__(self, request: httpx.Request) -> httpx.Response:
            addresses.append(request.url)
            asks = request.url.path.endswith("/chat/completions")
            return await super().__call__(request) if asks else httpx.Response(404)

    monkeypatch.setenv("AZURE_KEY", "canary-azure-0123456789")
    monkeypatch.setenv("TEAM", "canary-team-0123456789")
    server = Azure(lambda body, nth: echo(body))
    url = "https://mine.openai.azure.com/openai/deployments/gpt-4o/?api-version=2024-10-21"
    model = server.model(base_url=url, api_key_env="AZURE_KEY", headers="X-Team:TEAM")
    list(model.generate(questions(1)))
    asked = [address for address in addresses if address.path.endswith("/chat/completions")]
    assert [str(each) for each in asked] == [
        "https://mine.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
    ]
    [headers] = server.headers
    assert headers["api-key"] == "canary-azure-0123456789" and "authorization" not in headers
    assert headers["x-team"] == "canary-team-0123456789"
    stated = json.dumps([model.args, model.describe()], default=str)
    assert "canary" not in stated and "TEAM" in stated
    leaky = Azure(lambda body, nth: httpx.Response(400, text=f"your headers: {server.headers[0]['x-team']} {nth}"))
    asked_again = leaky.model(base_url=url, api_key_env="AZURE_KEY", headers="X-Team:TEAM")
    assert "canary" not in str(next(iter(asked_again.generate(questions(1))))[1])
