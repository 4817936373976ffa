"""One question to an OpenAI-compatible server: attempts, waits, deadlines, and how many at a time.

A reply is an answer, an error of this question (ModelError), something that may pass (Passing), or the end of the run (Fatal).
Only a 429 lowers the number of attempts under way: slowness and 5xx say nothing about how much a server takes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from mm_eval.errors import ModelError

PASSING = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
FATAL = {
    401: "Set the key in the environment variable that api_key_env names (default OPENAI_API_KEY).",
    402: "The account can't pay for more.",
    404: "Check base_url (it usually ends in /v1) and model.",
}

TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|available|model's) context (length|size)|maximum model length"
    r"|(prompt|input) is too long|`?max_new_tokens`? must be <=|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
"""How OpenAI, vLLM, SGLang, TGI, llama.cpp and others say that a prompt does not fit into the model's length."""
MAY_BE_TOO_LONG = (200, 400, 413, 422, 500)


class Passing(Exception):
    """What may pass when asked again. wait: seconds, where the server says so. throttled: it was a 429."""

    def __init__(self, what: str, wait: float | None = None, throttled: bool = False) -> None:
        super().__init__(what)
        self.wait, self.throttled = wait, throttled


class Fatal(ModelError):
    """Every further question would fail in the same way."""


class Closed(Exception):
    """The run ends before this question was asked; it stays owed."""


@dataclass(frozen=True)
class Limits:
    """timeout: seconds an attempt; deadline: seconds a question with all its attempts; retries: beyond the first attempt,
    429s not counted (only the deadline ends those). base_wait, max_wait: of the full jitter between attempts.
    """

    num_concurrent: int = 32
    timeout: float = 600.0
    deadline: float = 3600.0
    max_retries: int = 5
    base_wait: float = 0.5
    max_wait: float = 60.0


@dataclass
class Gate:
    """Attempts under way: halved by a 429 at most once for those sent before it, one more after a round of successes."""

    most: int
    allowed: float = field(init=False)
    active: int = 0
    closed: bool = False
    _resume_at: float = 0.0
    _cut_at: float = float("-inf")
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.allowed = float(self.most)

    async def enter(self) -> float:
        """Waits for a place; returns the time at which it was given. Closed when none will be given any more."""
        loop = asyncio.get_running_loop()
        while True:
            if self.closed:
                raise Closed
            if (pause := self._resume_at - loop.time()) > 0:
                await asyncio.sleep(pause)
            elif self.active < int(self.allowed):
                self.active += 1
                return loop.time()
            else:
                place: asyncio.Future[None] = loop.create_future()
                self._waiting.append(place)
                await place

    def leave(self) -> None:
        """Gives the place back."""
        self.active -= 1
        self._wake(1)

    def close(self) -> None:
        """Nobody enters any more."""
        self.closed = True
        self._wake(len(self._waiting))

    def succeeded(self) -> None:
        before = int(self.allowed)
        self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
        self._wake(int(self.allowed) - before)

    def throttled(self, sent_at: float, wait: float) -> None:
        """A 429: half as many from now on, and none before `wait` seconds are over."""
        now = asyncio.get_running_loop().time()
        if sent_at > self._cut_at:
            self.allowed, self._cut_at = max(1.0, self.allowed / 2), now
        self._resume_at = max(self._resume_at, now + wait)

    def _wake(self, count: int) -> None:
        while count > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                count -= 1


Body = Callable[[], Awaitable[bytes]]


@dataclass
class Client:
    """Asks servers and says what their replies mean. secrets: texts that no error and no answer may carry."""

    transport: httpx.AsyncBaseTransport
    urls: tuple[str, ...]
    limits: Limits
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    draw: random.Random = field(default_factory=random.Random)
    fatal: Fatal | None = None
    _turn: int = 0
    _urls: dict[str, list[httpx.URL]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.gate = Gate(self.limits.num_concurrent)

    async def ask(self, path: str, body: Body, read: Callable[[dict[str, Any]], Any]) -> tuple[Any, int]:
        """(what `read` makes of the reply, attempts). ModelError (with its attempts), Fatal or Closed when there is none."""
        loop = asyncio.get_running_loop()
        content, attempts, failures, throttles, started = b"", 0, 0, 0, 0.0
        while True:
            sent_at = await self.gate.enter()
            started = started or sent_at
            attempts += 1
            try:
                content = content or await body()
                value = await self._attempt(path, content, read, started + self.limits.deadline)
                self.gate.succeeded()
                return value, attempts
            except Passing as error:
                throttles, failures = throttles + error.throttled, failures + (not error.throttled)
                wait = error.wait if error.wait is not None else self._jitter(throttles + failures)
                what = self.redact(str(error))
                if error.throttled:
                    self.gate.throttled(sent_at, wait)
            except ModelError as error:
                error.attempts = attempts
                if isinstance(error, Fatal):
                    self.fatal = self.fatal or error
                    self.gate.close()
                raise
            finally:
                self.gate.leave()
            if failures > self.limits.max_retries:
                raise _gave_up(f"{what} ({attempts} attempts)", attempts)
            if loop.time() + wait > started + self.limits.deadline:
                raise _gave_up(f"{what} (the deadline of {self.limits.deadline:g} s is over)", attempts)
            await asyncio.sleep(wait)

    def _jitter(self, tries: int) -> float:
        """Full jitter: anything up to the capped exponential, so that a crowd does not come back together."""
        return self.draw.uniform(0, min(self.limits.max_wait, self.limits.base_wait * 2 ** (tries - 1)))

    async def _attempt(self, path: str, content: bytes, read: Callable[[dict[str, Any]], Any], until: float) -> Any:
        loop = asyncio.get_running_loop()
        request = httpx.Request("POST", self._url(path), headers=self.headers, content=content)
        try:
            async with asyncio.timeout_at(min(loop.time() + self.limits.timeout, until)):
                reply = await self.transport.handle_async_request(request)
                await reply.aread()
        except TimeoutError as error:
            raise Passing(f"no reply within {min(self.limits.timeout, self.limits.deadline):g} s") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise Passing(f"{type(error).__name__}: {error}") from error
        try:
            return read(self._content(reply))
        except ModelError as error:
            error.what = self.redact(error.what)
            raise

    def _url(self, path: str) -> httpx.URL:
        """The servers take turns."""
        self._turn += 1
        return self._urls.setdefault(path, [httpx.URL(url + path) for url in self.urls])[self._turn % len(self.urls)]

    def _content(self, reply: httpx.Response) -> dict[str, Any]:
        if reply.status_code != 200:
            raise self._refusal(reply)
        try:
            content = json.loads(self.redact(reply.text) if self.secrets else reply.content)
        except ValueError as error:
            raise Passing(f"the reply is no JSON: {self._said(reply)}") from error
        if isinstance(content, dict) and content.get("error") and TOO_LONG.search(str(content["error"])):
            raise self._too_long(reply)
        if not isinstance(content, dict) or content.get("error"):
            raise Passing(f"the reply is an error: {self._said(reply)}")
        return content

    def _refusal(self, reply: httpx.Response) -> Passing | ModelError:
        status, said = reply.status_code, self._said(reply)
        if status in MAY_BE_TOO_LONG and TOO_LONG.search(reply.text):
            return self._too_long(reply)
        if status == 429:
            if "insufficient_quota" in reply.text:
                return Fatal(f"HTTP 429: {said}", hint=FATAL[402])
            return Passing(f"HTTP 429: {said}", retry_after(reply.headers), throttled=True)
        if status in PASSING:
            return Passing(f"HTTP {status}: {said}", retry_after(reply.headers))
        if status in FATAL:
            return Fatal(f"HTTP {status}: {said}", hint=FATAL[status])
        return ModelError(f"HTTP {status}: {said}")

    def _too_long(self, reply: httpx.Response) -> ModelError:
        return ModelError(
            f"the prompt is too long for the server's model: HTTP {reply.status_code}: {self._said(reply)}",
            hint="Start the server with a longer context, or use fewer few-shot examples or pictures.",
        )

    def _said(self, reply: httpx.Response) -> str:
        return self.redact(shortened(reply.text))

    def redact(self, text: str) -> str:
        """The text without any secret, whoever put it in."""
        for secret in self.secrets:
            text = text.replace(secret, "[key]")
        return text


def _gave_up(what: str, attempts: int) -> ModelError:
    error = ModelError(what)
    error.attempts = attempts
    return error


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a Retry-After header asks for, given as seconds or as an HTTP date; None when there is none.

    A date is compared with the server's own clock where it tells it.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
        return seconds if 0 <= seconds < float("inf") else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (TypeError, ValueError):
        return None
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except (TypeError, ValueError):
        now = time.time()
    return max(0.0, until - now)


def shortened(text: str, length: int = 300) -> str:
    """The beginning of what a server said, on one line, without control characters."""
    line = "".join(character if character.isprintable() else " " for character in text[: 2 * length])
    return repr(line if len(line) <= length else f"{line[:length]}...")
