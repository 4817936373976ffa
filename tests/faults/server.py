"""An OpenAI-compatible server inside the test, on a clock that jumps: no socket is opened and no second is waited."""

import asyncio
import base64
import heapq
import io
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.engine.model import ModelSettings


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time is its own: when nothing is ready it jumps to the next timer instead of waiting."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        while not self._ready and any(thread.name == "turn" for thread in threading.enumerate()):
            time.sleep(0.001)  # what a thread is making takes no time of the clock
        if not self._ready and self._scheduled:
            while self._scheduled and self._scheduled[0]._cancelled:
                heapq.heappop(self._scheduled)._scheduled = False
                self._timer_cancelled_count -= 1
            if self._scheduled:
                self.now = max(self.now, self._scheduled[0]._when)
        super()._run_once()


def reply(text: str | None = "Yes", finish: str | None = "stop", **more: Any) -> httpx.Response:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 7, "completion_tokens": 1}
    content = {"choices": [{"message": message, "finish_reason": finish}], "usage": usage, **more}
    return httpx.Response(200, json=content)


def echo(body: dict[str, Any]) -> httpx.Response:
    """Answers with the last message's text."""
    content = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return reply(f"echo {text}")


Handler = Callable[[dict[str, Any], int], httpx.Response | Exception]


class Server:
    """Answers by `handle(body, how often this very body was asked)`; notes the time and the number of requests under way."""

    def __init__(self, handle: Handler, latency: float | Callable[[dict[str, Any], int], float] = 0.5) -> None:
        self.handle, self.latency = handle, latency
        self.loop = JumpingLoop()
        self.requests: list[tuple[float, dict[str, Any]]] = []
        self.headers: list[httpx.Headers] = []
        self.seen: dict[str, int] = {}
        self.under_way: list[int] = []
        self.active = 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path in ("/tokenize", "/detokenize", "/apply-template"):
            return self.tokenized(request)
        if request.url.path == "/v1/models":
            return self.listed()
        text = request.content.decode()
        body = json.loads(text)
        self.seen[text] = nth = self.seen.get(text, 0) + 1
        self.requests.append((self.loop.time(), body))
        self.headers.append(request.headers)
        self.active += 1
        self.under_way.append(self.active)
        try:
            latency = self.latency if isinstance(self.latency, float) else self.latency(body, nth)
            await asyncio.sleep(latency)
            found = self.handle(body, nth)
            if isinstance(found, Exception):
                raise found
            return found
        finally:
            self.active -= 1

    def tokenized(self, request: httpx.Request) -> httpx.Response:
        """What the server says of its tokens: nothing, as most servers."""
        return httpx.Response(404, json={"detail": "Not Found"})

    def listed(self) -> httpx.Response:
        """What the server says of its models: nothing."""
        return httpx.Response(404, json={"detail": "Not Found"})

    def model(self, settings: ModelSettings | None = None, **args: Any) -> OpenAI:
        """An adapter whose requests arrive here."""
        model = OpenAI({"base_url": "http://server/v1", "model": "m", **args}, settings or ModelSettings())
        model.new_loop = lambda: self.loop
        self.loop.close = lambda: None
        model.new_transport = lambda: httpx.MockTransport(self)
        return model


def pixels(url: str):
    """The picture of a data URL, with its MIME type."""
    from PIL import Image

    mime, _, data = url.removeprefix("data:").partition(";base64,")
    return mime, Image.open(io.BytesIO(base64.b64decode(data)))


FAULTS = ("500", "reset", "truncated", "html", "null", "429", "no choices")


def fault(kind: str) -> httpx.Response | Exception:
    """One of the things that go wrong with servers and pass."""
    match kind:
        case "500":
            return httpx.Response(500, text="internal error")
        case "reset":
            return httpx.ReadError("connection reset by peer")
        case "truncated":
            return httpx.Response(200, text='{"choices": [{"message": {"content": "Y')
        case "html":
            return httpx.Response(200, html="<html><body>Bad gateway</body></html>")
        case "null":
            return reply(None, None)
        case "429":
            return httpx.Response(429, text="slow down")
        case _:
            return httpx.Response(200, json={"choices": []})


def unreliable(share: float, seed: int, kinds: tuple[str, ...] = FAULTS) -> Handler:
    """An echo that fails at random."""
    draw = random.Random(seed)

    def handle(body: dict[str, Any], nth: int) -> httpx.Response | Exception:
        return fault(draw.choice(kinds)) if draw.random() < share else echo(body)

    return handle
