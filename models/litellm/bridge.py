"""A request in OpenAI's form, asked through litellm.

    Client -> Bridge -> litellm.acompletion -> Wire -> the connections of --model openai -> the vendor

`Bridge` stands where the client's connections stand, so pacing, retries, deadlines and what a refusal means are the client's.
litellm translates, and makes no attempt of its own. `Wire` is what litellm sends through: it keeps the vendor's reply as it came.
A reply with an error goes to the client as it is. How a good one ended is read from the vendor's reply and not from litellm's.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx

from mm_eval.values.errors import ConfigError, did_you_mean, kind_and_text
from mm_eval.values.types import Fields, Options

from ..openai.client.addresses import check_same_host
from ..openai.client.errors import Fatal
from .endings import counts_reasoning, counts_tokens, stated_ending

LOCAL = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_MODE": "PRODUCTION",
}
"""What keeps litellm from opening connections of its own, and from reading a .env file."""
THROUGH_HTTP = frozenset({
    "anthropic", "azure_ai", "bedrock", "databricks", "deepseek", "fireworks_ai", "gemini", "groq", "hosted_vllm", "minimax",
    "mistral", "ollama", "ollama_chat", "openrouter", "snowflake", "together_ai", "vertex_ai", "xai",
})  # fmt: skip
"""Providers whose requests litellm sends through the HTTP client that it is given."""
THROUGH_SDK = ("openai", "azure", "custom_openai", "text-completion-openai")
"""Providers beside `litellm.openai_compatible_providers` whose requests go through OpenAI's library."""
TURNED = ("add_generation_prompt", "continue_final_message", "add_special_tokens", "stream", "stream_options")
"""Fields of a request that are not a vendor's."""
NO_TIMEOUT = 1e6
"""Seconds. The client holds the deadlines."""


@dataclass
class Call:
    """One attempt. pictures: the base64 texts of pictures and sounds that the request must hold.

    reply: the vendor's. fault: why there is none.

    address: where the user has it go; empty for the vendor's own address, which litellm knows.
    """

    connections: httpx.AsyncBaseTransport
    pictures: tuple[bytes, ...] = ()
    reply: httpx.Response | None = None
    fault: Exception | None = None
    address: str = ""


CALL: ContextVar[Call] = ContextVar("call")


class NotSent(Exception):
    """A request that has failed below litellm, which retries exceptions of httpx once."""


class Wire(httpx.AsyncBaseTransport):
    """What litellm sends through: the connections of the call that is being made."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The vendor's reply, which the call keeps. Raises NotSent, with the reason in the call."""
        call = CALL.get()
        try:
            content = await request.aread()
            if call.address:  # litellm has joined it, each provider in its own way
                check_same_host(call.address, request.url)
            if lost := [each for each in call.pictures if each not in content]:
                what = f"litellm left out {len(lost)} of {len(call.pictures)} pictures and sounds for this provider."
                hint = "Choose a model that takes them, or --model openai with the provider's own URL."
                raise Fatal(what, hint=hint)
            call.reply = await call.connections.handle_async_request(request)
        except Exception as error:
            call.fault = error
            raise NotSent from error
        reply = call.reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content, request=request)


@dataclass
class Bridge(httpx.AsyncBaseTransport):
    """Answers requests in OpenAI's form. settings: of every call, such as the address and the key. address: as of `Call`."""

    connections: httpx.AsyncBaseTransport
    settings: Mapping[str, Any] = field(repr=False)
    address: str = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The vendor's answer in OpenAI's form, or its refusal as it came. Raises what the connections raise."""
        if request.method != "POST" or not request.url.path.endswith("/chat/completions"):
            return refused(404, "a vendor has no such page")  # litellm speaks chat only
        body = json.loads(request.content)
        call = Call(self.connections, tuple(pictures_in(body)), address=self.address)
        begun = body.pop("continue_final_message", False)
        fields = {name: value for name, value in body.items() if name not in TURNED}
        if begun and provider_of(fields["model"]) not in ("anthropic", "bedrock"):
            return refused(400, "the context ends in the beginning of an answer, which this vendor can't continue")
        token = CALL.set(call)
        try:
            answer = await asked(fields, self.settings)
        except Exception as error:  # any of litellm's
            return failed(call, error)
        finally:
            CALL.reset(token)
        return read(call, answer)

    async def aclose(self) -> None:
        """Ends what litellm still does on this loop: its worker for logs would outlive it."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.connections.aclose()


async def asked(fields: Mapping[str, Any], settings: Options) -> Any:
    """litellm's reply to one request, sent once."""
    litellm = library()
    through = {"client": _http_client()} if provider_of(fields["model"]) in THROUGH_HTTP else {}
    return await litellm.acompletion(
        **fields,
        **settings,
        **through,
        num_retries=0,
        max_retries=0,
        timeout=NO_TIMEOUT,
        drop_params=False,
        caching=False,
    )


def failed(call: Call, error: Exception) -> httpx.Response:
    """The reply to a request without an answer: the vendor's own, or litellm's refusal. Raises what the connections raised."""
    if call.fault is not None:
        raise call.fault
    if call.reply is not None and call.reply.status_code != 200:
        return call.reply
    if call.reply is not None:
        return refused(200, f"litellm can't read the reply: {kind_and_text(error)}", code=None)
    status = getattr(error, "status_code", None)
    return refused(status if isinstance(status, int) and 400 <= status < 500 else 400, str(error))


def read(call: Call, answer: Any) -> httpx.Response:
    """litellm's answer with the ending, the refusal and the counts that the vendor stated."""
    if call.reply is None:
        raise Fatal("litellm did not send this provider's request through mm-eval, so how an answer ended is unknown.")
    try:
        stated = json.loads(call.reply.content)
    except ValueError:
        stated = None
    if not isinstance(stated, dict):
        return refused(200, "the vendor's reply is not a JSON object", code=None)
    found = answer.model_dump(mode="json")
    choices = found.get("choices") or []
    for choice in choices[:1]:
        choice["finish_reason"] = stated_ending(stated)
        match stated:
            case {"choices": [{"message": {"refusal": str() as refusal}}, *_]}:
                choice["message"]["refusal"] = refusal
    kept = {name: found[name] for name in ("model", "system_fingerprint", "usage") if name in found}
    if not counts_tokens(stated):
        kept.pop("usage", None)
    elif not counts_reasoning(stated):
        (kept["usage"].get("completion_tokens_details") or {}).pop("reasoning_tokens", None)
    return httpx.Response(200, json={**kept, "choices": choices})


def refused(status: int, what: str, **more: object) -> httpx.Response:
    """A reply with an error, as a server with OpenAI's protocol would give it."""
    return httpx.Response(status, json={"error": {"message": what, **more}})


def pictures_in(body: Fields) -> Iterator[bytes]:
    """The base64 text of each picture and each sound in a request's messages."""
    for message in body.get("messages", ()):
        for part in message["content"] if isinstance(message["content"], list) else ():
            shown = part.get("image_url")
            url = shown.get("url") if isinstance(shown, dict) else shown
            if isinstance(url, str) and url.startswith("data:"):
                yield url.partition(",")[2].encode()
            heard = part.get("input_audio") or part.get("audio_url") or {}
            data = heard.get("data") or heard.get("url") or ""
            if data:
                yield data.rpartition(",")[2].encode()


def provider_of(model: str) -> str:
    """The part of a model's name that says which protocol litellm speaks."""
    return model.partition("/")[0]


_LOADED: list[object] = []


def library() -> Any:
    """litellm, set so that it opens no connection, retries nothing and prints nothing. Raises ConfigError if it is missing.

    Imported by the first request only: it takes seconds and 160 MB.
    """
    if not _LOADED:
        os.environ.update(LOCAL)
        try:
            import litellm
            from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
        except ImportError as error:
            hint = "Install it: pip install 'mm-eval[litellm]'"
            raise ConfigError(f"--model litellm needs the litellm library ({error}).", hint=hint) from error
        litellm.suppress_debug_info, litellm.telemetry, litellm.num_retries = True, False, 0
        litellm.aclient_session = httpx.AsyncClient(transport=Wire(), timeout=None)
        for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        _LOADED[:] = [litellm, AsyncHTTPHandler(transport=Wire(), timeout=NO_TIMEOUT, follow_redirects=False)]
    return _LOADED[0]


def _http_client() -> Any:
    library()
    return _LOADED[1]


def check_provider(model: str) -> None:
    """Raises ConfigError for a provider whose replies litellm does not let through."""
    known = THROUGH_HTTP.union(THROUGH_SDK, library().openai_compatible_providers)
    provider = provider_of(model)
    if provider not in known:
        what = f"the replies of litellm's provider {provider!r} can't be read here."
        raise ConfigError(what, where="--model_args", hint=did_you_mean(provider, known))
