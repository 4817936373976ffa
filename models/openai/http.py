"""One question to an OpenAI-compatible server: attempts, waits, deadlines, and how many at a time.

A reply is an answer, an error of this question (ModelError), something that may pass (Passing), or the end of the run (Fatal).
Only a 429 lowers the number of attempts under way: slowness and 5xx say nothing about how much a server takes.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from mm_eval.errors import ModelError

from .arguments import Redactor
from .body import MEGABYTE, too_large
from .fleet import Fleet, Server
from .status import (
    FATAL,
    LOADING,
    PASSING,
    QUOTA,
    UNKNOWN_MODEL,
    Closed,
    Fatal,
    Passing,
    Refusals,
    as_text,
    retry_after,
    shortened,
    stated_status,
)

__all__ = ["Client", "Closed", "Fatal", "Limits", "Passing", "retry_after", "shortened"]

TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|available|model's) context (length|size)|maximum model length"
    r"|(prompt|input) is too long|`?max_new_tokens`? must be <=|exceeds the maximum number of tokens",
    re.IGNORECASE,
)
"""How OpenAI, vLLM, SGLang, TGI, llama.cpp and others say that a prompt does not fit into the model's length."""
MAY_BE_TOO_LONG = (200, 400, 413, 422, 500)


@dataclass(frozen=True)
class Limits:
    """timeout: seconds an attempt; deadline: seconds a question with all its attempts; retries: beyond the first attempt,
    429s not counted (only the deadline ends those). base_wait, max_wait: of the full jitter between attempts.
    max_outage: seconds that no server can be reached until the run ends; None: the defaults of openai_fleet.
    """

    num_concurrent: int = 32
    timeout: float = 600.0
    deadline: float = 3600.0
    max_retries: int = 5
    base_wait: float = 0.5
    max_wait: float = 60.0
    max_outage: float | None = None
    max_reply_mb: float = 32.0


@dataclass
class Gate:
    """Attempts under way: halved by a 429 at most once for those sent before it, one more after a round of successes."""

    most: int
    allowed: float = field(init=False)
    active: int = 0
    closed: bool = False
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
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
                await self.rest(pause)
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
        """Nobody enters any more, and nobody waits for another try."""
        self.closed = True
        self._ended.set()
        self._wake(len(self._waiting))

    async def rest(self, seconds: float) -> None:
        """Waits; Closed as soon as the run ends."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return
        raise Closed

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
MISREAD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What reading a reply of an unforeseen form can raise."""


@dataclass
class Tries:
    """What one question has cost: failures and 429s, without the attempts of an outage.

    started: when it was first sent; paused: seconds of outages before that. sent_at: when it was last sent.
    """

    failures: int = 0
    throttles: int = 0
    started: float | None = None
    paused: float = 0.0
    sent_at: float = 0.0

    @property
    def attempts(self) -> int:
        return self.failures + self.throttles

    def begin(self, now: float, paused: float) -> None:
        """An attempt is sent."""
        self.sent_at = now
        if self.started is None:
            self.started, self.paused = now, paused


@dataclass
class Client:
    """Asks servers and says what their replies mean. secrets: texts that no error and, where long, no answer may carry."""

    transport: httpx.AsyncBaseTransport
    urls: tuple[str, ...]
    limits: Limits
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    draw: random.Random = field(default_factory=random.Random)
    fatal: Fatal | None = None
    _targets: dict[tuple[str, str], httpx.URL] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.gate = Gate(self.limits.num_concurrent)
        self.fleet = Fleet(self.urls, self.limits.max_outage, self.limits.deadline)
        self.redactor = Redactor(self.secrets)
        self._refusals = Refusals()

    async def ask(self, path: str, body: Body, read: Callable[[dict[str, Any]], Any]) -> tuple[Any, int]:
        """(what `read` makes of the reply, attempts). ModelError (with its attempts), Fatal or Closed when there is none."""
        self.fleet.asking += 1
        try:
            return await self._ask(path, body, read)
        finally:
            self.fleet.asking -= 1

    async def _ask(self, path: str, body: Body, read: Callable[[dict[str, Any]], Any]) -> tuple[Any, int]:
        content, tries = b"", Tries()
        while True:
            await self.gate.enter()
            try:
                content = content or await body()
                value = await self._attempt(path, content, read, tries)
                self.gate.succeeded()
                self._refusals.answered()
                return value, tries.attempts + 1
            except Passing as error:
                error.forget_reply()
                if error.free:
                    continue
                tries.throttles += error.throttled
                tries.failures += not error.throttled
                what = self._told(error)
                wait = self._jitter(tries.attempts) if error.wait is None else error.wait
                if error.throttled:
                    self.gate.throttled(tries.sent_at, wait)
            except ModelError as error:
                error.attempts = tries.attempts + 1
                if isinstance(error, Fatal):
                    self._end(error)
                raise
            finally:
                self.gate.leave()
            if tries.failures > self.limits.max_retries:
                raise _gave_up(f"{what} ({tries.attempts} attempts)", tries.attempts)
            if asyncio.get_running_loop().time() + wait > self._until(tries):
                raise _gave_up(f"{what} (the deadline of {self.limits.deadline:g} s is over)", tries.attempts)
            await self.gate.rest(wait)

    def _end(self, fatal: Fatal) -> None:
        self.fatal = self.fatal or fatal
        self.gate.close()
        self.fleet.close()

    def _until(self, tries: Tries) -> float:
        """The end of a question's deadline, which stands still during an outage."""
        begun = asyncio.get_running_loop().time() if tries.started is None else tries.started
        return begun + self.limits.deadline + self.fleet.paused - tries.paused

    def _jitter(self, tries: int) -> float:
        """Full jitter: anything up to the capped exponential, so that a crowd does not come back together."""
        return self.draw.uniform(0, min(self.limits.max_wait, self.limits.base_wait * 2.0 ** min(tries - 1, 60)))

    async def _attempt(self, path: str, content: bytes, read: Callable[[dict[str, Any]], Any], tries: Tries) -> Any:
        server, probe = await self.fleet.choose()
        tries.begin(asyncio.get_running_loop().time(), self.fleet.paused)
        try:
            reply = await self._send(server, path, content, tries, probe)
        finally:
            if probe:
                self.fleet.released(server)
        try:
            return read(self._content(reply))
        except MISREAD as error:
            raise Passing("the reply has an unknown form", said=f"{type(error).__name__}: {error}") from error

    async def _send(self, server: Server, path: str, content: bytes, tries: Tries, probe: bool) -> httpx.Response:
        """A reply of any status but those of a server that is not there yet. What keeps it from coming is Passing."""
        loop = asyncio.get_running_loop()
        request = httpx.Request("POST", self._target(server, path), headers=self.headers, content=content)
        try:
            async with asyncio.timeout_at(min(loop.time() + self.limits.timeout, self._until(tries))):
                reply = await self.transport.handle_async_request(request)
                await reply.aread()
        except TimeoutError as error:
            raise Passing(f"no reply within {min(self.limits.timeout, self.limits.deadline):g} s") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise self._unreachable(server, error, probe) from error
        except Exception as error:  # a transport is foreign code, and this is its one boundary
            passing = Passing(type(error).__name__, said=str(error))
            if isinstance(error, httpx.TransportError) and not _spoke(error):
                raise self._absent(server, passing, tries, probe, alive=False) from error
            self.fleet.heard(server)
            raise passing from error
        if reply.status_code in LOADING:
            loading = Passing(f"HTTP {reply.status_code}", retry_after(reply.headers), said=_text(reply))
            raise self._absent(server, loading, tries, probe, alive=True)
        self.fleet.heard(server)
        return reply

    def _unreachable(self, server: Server, error: httpx.TransportError, probe: bool) -> Passing | Fatal:
        """A connection that was not made: the question was not asked, and this costs it nothing."""
        passing = Passing("no connection", said=str(error), free=True)
        if certificate_fault(error):
            return Fatal(f"{self._told(passing)}.", hint="SSL_CERT_FILE names further authorities to trust.")
        return self.fleet.failed(server, self._told(passing), probe, alive=False) or passing

    def _absent(self, server: Server, passing: Passing, tries: Tries, probe: bool, alive: bool) -> Passing | Fatal:
        """A connection that broke off, or a gateway's 503: the question's own failure where others get replies meanwhile."""
        if server.heard_at >= tries.sent_at or self.fleet.asking == 1:
            return passing
        passing.free = probe
        return self.fleet.failed(server, self._told(passing), probe, alive, passing.wait) or passing

    def _target(self, server: Server, path: str) -> httpx.URL:
        known = self._targets.get((server.url, path))
        return known or self._targets.setdefault((server.url, path), httpx.URL(server.url + path))

    def _content(self, reply: httpx.Response) -> dict[str, Any]:
        if reply.status_code != 200:
            raise self._refusal(reply.status_code, reply)
        if len(reply.content) > (most := int(self.limits.max_reply_mb * MEGABYTE)):
            raise Passing(str(too_large(most)))
        try:
            content = json.loads(reply.content)
        except (ValueError, RecursionError) as error:
            raise Passing("the reply is no JSON", said=_text(reply)) from error
        if not isinstance(content, dict):
            raise Passing("the reply is an error", said=_text(reply))
        if content.get("error") or content.get("object") == "error":
            if TOO_LONG.search(_text(reply)):
                raise self._too_long(200, reply)
            status = stated_status(content)
            raise self._refusal(status, reply) if status else Passing("the reply is an error", said=_text(reply))
        return content

    def _refusal(self, status: int, reply: httpx.Response) -> Passing | ModelError:
        text = _text(reply)
        if status in MAY_BE_TOO_LONG and TOO_LONG.search(text):
            return self._too_long(status, reply)
        passing = Passing(f"HTTP {status}", retry_after(reply.headers), status == 429, said=text)
        said = self._told(passing)
        if status == 429 and QUOTA in text:
            return Fatal(said, hint=FATAL[402])
        if status == 429 and (passing.wait or 0) > self.limits.deadline:
            hint = "Every question would wait longer than its deadline=; the same command goes on later."
            return Fatal(f"{said} (asks to wait {passing.wait:.0f} s)", hint=hint)
        if status == 429 or status in PASSING:
            return passing
        if status == 400 and UNKNOWN_MODEL in text:
            return Fatal(said, hint=FATAL[404])
        return Fatal(said, hint=FATAL[status]) if self._refusals.ends_run(status) else ModelError(said)

    def _too_long(self, status: int, reply: httpx.Response) -> ModelError:
        return ModelError(
            f"the prompt is too long for the server's model: {self._told(Passing(f'HTTP {status}', said=_text(reply)))}",
            hint="Start the server with a longer context, or use fewer few-shot examples or pictures.",
        )

    def _told(self, passing: Passing) -> str:
        if passing.said is None:
            return passing.what
        return f"{passing.what}: {shortened(self.redactor.error(as_text(passing.said)))}"


def _spoke(error: Exception) -> bool:
    """Whether the server did reply, in a way that is no HTTP or that broke off."""
    return isinstance(error, httpx.RemoteProtocolError) and "disconnected without" not in str(error)


def certificate_fault(error: BaseException | None) -> bool:
    """Whether the server's certificate is the reason, which waiting does not mend."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _text(reply: httpx.Response) -> str:
    """The beginning of a reply's text, in the encoding that JSON would have: a charset that the server names is not trusted."""
    return reply.content[:4096].decode(json.detect_encoding(reply.content), "replace")


def _gave_up(what: str, attempts: int) -> ModelError:
    error = ModelError(what)
    error.attempts = attempts
    return error
