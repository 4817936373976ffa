"""Every request goes to the host that the user has named: the key is in its headers."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from mm_eval.models.litellm.bridge import CALL, Call, NotSent, Wire
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.addresses import check_same_host, joined
from mm_eval.models.openai.client.errors import Fatal

from mm_eval.engine.model import ModelSettings, check
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance
from tests.judge.conftest import Judged, judged  # noqa: F401
from tests.judge.server import grade
from tests.models.openai.listening import Asked, Body, listening, said
from tests.models.openai.test_openai import CHAT, question, scored
from tests.sets import each_of
from tests.tools.scripted import rows_of, run, write

KEY = "sk-of-nobody-else-0123456789"
PATHS = ("", "/", "/v1", "/v1/", "/gateway/v1", "/gateway/v1//", "/deployments/m?api-version=2024-10-21")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def below(path: str) -> str:
    """What the path of a page below base_url begins with."""
    return path.partition("?")[0].rstrip("/")


def grades(body: Body) -> str:
    return f"GRADE: {grade(said(body))}"


@each_of("path", PATHS)
def test_every_kind_of_request_goes_below_base_url(path: str) -> None:
    """Questions, options by token and by prompt, texts, /tokenize, /models, and the first question with tools."""
    with listening(models=[{"id": "m", "owned_by": "vllm", "max_model_len": 64}]) as server:
        model = OpenAI({"base_url": server.root + path, "model": "m", "max_retries": 0}, ModelSettings())
        model.prepare()
        assert [found.output for _, found in model.generate([question([], "q")])] == ["q"]
        assert [found.output[0] for _, found in model.loglikelihood(scored(CHAT, " A", " B"))] == [-0.5, -1.5]
        list(model.loglikelihood(scored("a text", " A", " B")))
        list(model.loglikelihood(scored(CHAT, " a long option")))
        check(OpenAI(model.args, ModelSettings()), [with_tools()])
        pages = {each.path.partition("?")[0] for each in server.asked}
        root = below(path).removesuffix("/v1").rstrip("/")
        below_base = {f"{below(path)}/{page}" for page in ("chat/completions", "completions", "models")}
        assert pages == below_base | {f"{root}/tokenize", f"{root}/detokenize"}
        assert any(body["messages"][0]["content"] == "Hi" and "tools" in body for body in server.questions)
        assert {each.path.partition("?")[2] for each in server.asked} == {path.partition("?")[2]}
        assert_ours(server.asked, server.root)


@pytest.mark.parametrize("path", ["/v1", "/"])
def test_the_requests_of_a_judge_do_so_too(path: str, judged: Judged) -> None:  # noqa: F811
    judged.write([{"q": "1", "a": "1"}], ["1"])
    with listening(grades) as server:
        arguments = f"base_url={server.root}{path},model=judge-1"
        ran = judged.run("--judge", "openai", "--judge_args", arguments)
        assert ran.code == 0, ran.out + ran.err
        assert {each.path for each in server.asked} >= {f"{below(path)}/chat/completions"}
        assert_ours(server.asked, server.root)


def assert_ours(asked: list[Asked], root: str) -> None:
    assert {(f"http://{each.host}", each.key) for each in asked} == {(root, f"Bearer {KEY}")}


class Recorded(httpx.AsyncBaseTransport):
    """Answers nothing and notes where each request would go."""

    def __init__(self) -> None:
        self.urls: list[httpx.URL] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.urls.append(request.url)
        message = {"role": "assistant", "content": "A"}
        return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})


TOOLS = ({"type": "function", "function": {"name": "zoom", "parameters": {}}},)


def with_tools(**fields: Any) -> Instance:
    return Instance("generate_until", "t", 0, {}, [{"role": "user", "content": "q"}], tools=TOOLS, **fields)


@each_of(
    "base_url",
    [
        f"{scheme}://{host}{port}{path}"
        for scheme, host in (("https", "api.example.com"), ("http", "[::1]"), ("http", "localhost"))
        for port in ("", ":8000")
        for path in PATHS
    ],
)
def test_no_host_port_or_scheme_is_made_of_a_path(base_url: str) -> None:
    transport = Recorded()
    model = OpenAI({"base_url": base_url, "model": "m", "loglikelihood": "token"}, ModelSettings())
    model.new_transport = lambda: transport
    check(model, [with_tools()])
    list(model.generate([question([], "q")]))
    list(model.loglikelihood(scored(CHAT, " A", " B")))
    own = httpx.URL(base_url)
    assert len(transport.urls) >= 4
    assert {(url.scheme, url.host, url.port) for url in transport.urls} == {(own.scheme, own.host, own.port)}


@each_of(
    "path", ["v1/models", "/models", "@evil.example/models", ":80/models", ".evil.example/models", "//evil.example/"]
)
def test_whatever_a_path_is_it_stays_a_path(path: str) -> None:
    for base_url in ("https://api.example.com", "https://api.example.com/v1", "https://api.example.com:8443/v1"):
        for at_root in (False, True):
            url = joined(base_url, path, at_root=at_root)
            assert (url.scheme, url.host) == ("https", "api.example.com") and url.port in (None, 8443)


@each_of(
    "url",
    [
        "https://api.example.comv1/models",
        "http://api.example.com/v1",
        "https://api.example.com:444/v1",
        "https://api/v1",
    ],
)
def test_another_scheme_host_or_port_is_refused(url: str) -> None:
    with pytest.raises(Fatal, match="a request would go to http.*and the address of the model is https://api.example"):
        check_same_host("https://api.example.com/v1?api-version=1", httpx.URL(url))
    check_same_host("https://api.example.com/v1", httpx.URL("https://API.example.com:443/other"))


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_a_server_that_is_not_reached_does_not_take_tools() -> None:
    """Of a model of an unknown family nothing else says so."""
    base_url = f"http://127.0.0.1:{free_port()}/v1"
    model = OpenAI({"base_url": base_url, "model": "m", "max_outage": 0.1}, ModelSettings())
    with pytest.raises(ConfigError, match="could not be reached.*Start the server"):
        check(model, [with_tools()])


@each_of(("status", "said"), [(401, "Set the key"), (404, "Check base_url"), (403, "Check the key")])
def test_a_server_that_refuses_the_client_does_not_take_tools(status: int, said: str) -> None:
    model = OpenAI({"base_url": "http://server/v1", "model": "m"}, ModelSettings())
    model.new_transport = lambda: httpx.MockTransport(lambda request: httpx.Response(status, text="no"))
    with pytest.raises(ConfigError, match=said):
        check(model, [with_tools()])


def test_a_finished_run_with_tools_needs_no_server(tmp_path: Path) -> None:
    with listening(lambda body: "B") as server:
        task = write(tmp_path / "task", 1)
        arguments = {"base_url": server.url, "model": "m", "max_outage": 0.1}
        run(task, tmp_path / "run", OpenAI(arguments, ModelSettings()))
    again = run(task, tmp_path / "run", OpenAI(arguments, ModelSettings()))
    assert again.exit_code == 0 and [row["status"] for row in rows_of(tmp_path / "run")] == ["answered"]


def test_the_greeting_is_adapted_as_a_question_is() -> None:
    """A server that knows the cap under its other name takes tools all the same."""

    def handle(request: httpx.Request) -> httpx.Response:
        if b'"max_tokens"' in request.content:
            said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            return httpx.Response(400, json={"error": {"message": said, "param": "max_tokens"}})
        return httpx.Response(200, json={"choices": [{"message": {"content": ""}, "finish_reason": "length"}]})

    model = OpenAI({"base_url": "http://server/v1", "model": "m"}, ModelSettings())
    model.new_transport = lambda: httpx.MockTransport(handle)
    check(model, [with_tools()])
    assert not model.endpoint.answered, "no question of the run was asked"


def test_litellm_sends_nothing_to_another_host_than_the_stated_one() -> None:
    """litellm joins addresses in each provider's own way: `api_base` and ":generateContent" for one of them."""
    transport = Recorded()
    call = Call(transport, address="https://proxy.example.com/gemini")
    token = CALL.set(call)
    try:
        sent = httpx.Request("POST", "https://proxy.example.com/gemini/v1/messages", content=b"{}")
        assert asyncio.run(Wire().handle_async_request(sent)).status_code == 200
        for other in ("https://proxy.example.comv1/messages", "https://api.anthropic.com/v1/messages"):
            with pytest.raises(NotSent):
                asyncio.run(Wire().handle_async_request(httpx.Request("POST", other, content=b"{}")))
            assert isinstance(call.fault, Fatal)
    finally:
        CALL.reset(token)
    assert len(transport.urls) == 1
