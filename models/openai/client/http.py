"""One question to an OpenAI-compatible server: attempts, waits and deadlines.

A reply is an answer, an error of this question (ModelError), a transient error (Passing), or the end of the run (Fatal).
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import httpx

from mm_eval.values.errors import ModelError, kind_and_text
from mm_eval.values.types import JsonObject, Options

from ...endings import FILTER_STATUSES, says_filtered
from .addresses import joined
from .endpoint import NO_JINJA, Endpoint
from .errors import CAP_ALONE, TOO_LONG, Fatal, Filtered, Passing, Refused, TooLong, Unreachable
from .flight import Gate
from .redaction import Redactor
from .replies import as_text, shortened
from .servers import Server, Servers
from .statuses import (
    ALIKE,
    FATAL,
    LOADING,
    NEVER,
    NO_PICTURES,
    PASSING,
    QUOTA,
    SYSTEMATIC,
    SYSTEMATIC_STATUSES,
    THROTTLED,
    Refusals,
    reason_of,
    retry_after,
    stated_status,
    stated_wait,
)
from .streams import streamed
from .transport import MEGABYTE, too_large

log = logging.getLogger(__name__)

SILENT_WAIT = 30.0
"""Seconds for which all questions may wait for a quota before the log says so; then again after twice as many."""

MAY_BE_TOO_LONG = (200, 400, 413, 422, 500)


@dataclass(frozen=True)
class Limits:
    """Limits on attempts, waits and replies.

    timeout: seconds for one attempt. deadline: seconds for a question with all its attempts.
    max_retries: attempts after the first. A 429 is not counted; only the deadline ends those.
    base_wait, max_wait: bounds of the full jitter between attempts, in seconds.
    max_outage: seconds without any reachable server after which the run ends; None: the defaults in servers.py.
    """

    num_concurrent: int = 32
    timeout: float = 600.0
    deadline: float = 3600.0
    max_retries: int = 5
    base_wait: float = 0.5
    max_wait: float = 60.0
    max_outage: float | None = None
    max_reply_mb: float = 32.0


class Body(Protocol):
    """What makes the body of a question, each time as the endpoint takes it now.

    sent: the fields of the body that was made last, without its prompt.
    """

    @property
    def sent(self) -> Options: ...

    async def __call__(self, without: frozenset[str] = frozenset()) -> bytes:
        """The body. without: fields that are left out on trial."""
        ...

    async def check(self, attempts: int) -> None:
        """Raises DataError, with these attempts, where the server can't have read a picture: nothing looked into it before."""
        ...


Smaller = Callable[[bytes], Awaitable[bytes | None]]
"""The body of a question that was refused as too long, with a smaller token cap; None where that can't help."""
Value = TypeVar("Value")
MOST_ADAPTED = 32
"""How often one question is sent in another way after a refusal."""
LOOK = 10.0
"""Seconds for a request that is not a question."""
MISREAD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions that reading a reply of an unexpected form can raise."""


@dataclass
class Tries:
    """Failed attempts of one question and its 429s. Attempts during an outage are not counted.

    cut: whether the server has refused the token cap. adapted: how often it has refused a field. without_stop: whether the
    question is sent once without its stop strings, since the server has failed with them each time.
    started: time of the first attempt. paused: seconds of outages and of waits for a quota before it.
    sent_at: time of the last attempt.
    """

    failures: int = 0
    throttles: int = 0
    cut: bool = False
    adapted: int = 0
    without_stop: bool = False
    started: float | None = None
    paused: float = 0.0
    sent_at: float = 0.0

    @property
    def attempts(self) -> int:
        return self.failures + self.throttles + self.cut + self.adapted

    def begin(self, now: float, paused: float) -> None:
        """Records that an attempt is sent now."""
        self.sent_at = now
        if self.started is None:
            self.started, self.paused = now, paused


@dataclass
class _Trial:
    """What one question is sent without, while the endpoint refuses it.

    without: fields that are left out, in case that they are what the server does not know. first: the refusal that began it.
    """

    endpoint: Endpoint
    without: frozenset[str] = frozenset()
    first: Refused | None = None
    _left: Iterator[frozenset[str]] | None = None

    def goes_on(self, refusal: Refused, sent: Options) -> bool:
        """Whether the question is to be sent again in another way."""
        if self.endpoint.learns(refusal.status, refusal.said, sent):
            return True
        if self._left is None:
            self._left = self.endpoint.trials(refusal.status, refusal.said, sent)
        self.without = next(self._left, frozenset())
        if self.without:
            self.first = self.first or refusal
        return bool(self.without)


@dataclass
class Client:
    """Sends questions to servers and interprets their replies.

    secrets: removed from every error, and from answers if they are long.
    endpoint: what is known of the fields that the servers take.
    fatal: the error that ended the run, or None. failed_once: called when an attempt fails in a way that passes.
    """

    transport: httpx.AsyncBaseTransport
    urls: tuple[str, ...]
    limits: Limits
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    draw: random.Random = field(default_factory=random.Random)
    endpoint: Endpoint = field(default_factory=Endpoint)
    fatal: Fatal | None = None
    failed_once: Callable[[], None] = lambda: None
    _targets: dict[tuple[str, str], tuple[httpx.URL, httpx.Headers]] = field(default_factory=dict)
    """By server and path: where a question goes, and its headers."""
    _wait_stated: float = 0.0
    """Seconds of the present wait for a quota, as the log last stated it; 0 if it did not."""

    def __post_init__(self) -> None:
        self.gate = Gate(self.limits.num_concurrent)
        self.servers = Servers(self.urls, self.limits.max_outage, self.limits.deadline)
        self.redactor = Redactor(self.secrets)
        self._refusals = Refusals()
        self._looks_at = list(self.urls)

    async def ask(
        self,
        path: str,
        body: Body,
        read: Callable[[dict[str, object]], Value],
        smaller: Smaller | None = None,
        *,
        tentative: bool = False,
    ) -> tuple[Value, int]:
        """Returns (the result of `read`, attempts). Raises ModelError (with its attempts), Fatal or Closed.

        smaller: used once, if the server refuses the question as too long. tentative: a refusal is not
        counted, since there is another way.
        """
        self.servers.asking += 1
        try:
            return await self._ask(path, body, read, smaller, tentative)
        finally:
            self.servers.asking -= 1

    async def _ask(
        self,
        path: str,
        body: Body,
        read: Callable[[dict[str, object]], Value],
        smaller: Smaller | None,
        tentative: bool,
    ) -> tuple[Value, int]:
        content, tries, trial = b"", Tries(), _Trial(self.endpoint)
        while True:
            single = await self.gate.enter(first=tries.throttles == 1)
            try:
                if not content:
                    content = await body(trial.without)
                    content = (await smaller(content) or content) if smaller and tries.cut else content
                value = await self._attempt(path, content, read, tries)
                self.gate.succeeded(single)
                self.endpoint.took(body.sent, trial.without)
                self._refusals.answered()
                return value, tries.attempts + 1
            except Passing as error:
                error.forget_reply()
                self.failed_once()
                if error.free:
                    continue
                what = self._message(error)
                if error.throttled:
                    tries.throttles += 1
                    self._throttled(tries, error.wait, what)
                    continue
                tries.failures += 1
                if error.status >= 500 and tries.failures == 1:
                    await body.check(tries.attempts)
                fails_on_stop = error.status == 500 and "stop" in body.sent and "stop" not in self.endpoint.accepted
                wait = self._jitter(tries.attempts) if error.wait is None else error.wait
            except Refused as error:
                await body.check(tries.attempts + 1)
                if tries.adapted < MOST_ADAPTED and trial.goes_on(error, body.sent):
                    content, tries.adapted = b"", tries.adapted + 1
                    continue
                error = trial.first or error  # what the server says to the whole question
                error.attempts = tries.attempts + 1
                raise error if tentative else self._counted(error) from None
            except ModelError as error:
                if isinstance(error, TooLong) and smaller and not tries.cut and (cut := await smaller(content)):
                    content, tries.cut = cut, True
                    continue
                error.what = self.redactor.error(error.what)
                error.attempts = tries.attempts + 1
                if isinstance(error, Fatal):
                    self.end(error)
                raise
            finally:
                self.gate.leave(single)
            given_up = tries.failures > self.limits.max_retries
            if given_up and (tries.without_stop or not fails_on_stop):
                raise _gave_up(f"{what} ({tries.attempts} attempts)", tries.attempts)
            if asyncio.get_running_loop().time() + wait > self._until(tries):
                raise _gave_up(f"{what} (the deadline of {self.limits.deadline:g} s is over)", tries.attempts)
            if given_up:  # as transformers serve does with image-text models
                tries.without_stop, trial.without, content = True, trial.without | {"stop"}, b""
            elif self.endpoint.dropped.intersection(body.sent):  # another question has found out meanwhile
                content = b""
            await self.gate.rest(wait)

    def _throttled(self, tries: Tries, stated: float | None, what: str) -> None:
        """Closes the gate for all questions after a 429. Raises Fatal once nothing has been answered for a whole deadline."""

        def wait(rounds: int) -> float:
            longest = min(self.limits.max_wait, self.limits.base_wait * 2.0 ** min(rounds, 60))
            return self.draw.uniform(longest / 2, longest) if stated is None else stated

        self.gate.throttled(tries.sent_at, wait)
        if self.gate.refused_for() > self.limits.deadline:
            fatal = Fatal(
                f"the quota has been used up for {self.gate.refused_for() / 60:.0f} minutes, for every request: {what}.",
                hint="The answers are kept. Run the same command later to continue, or raise deadline=.",
            )
            fatal.attempts = tries.attempts
            self.end(fatal)
            raise fatal
        self._say_wait(what)

    def _say_wait(self, what: str) -> None:
        """Says why nothing is answered, once a wait for a quota is long."""
        lasts = self.gate.refused_for()
        if lasts < self._wait_stated:  # another wait than the one that was stated
            self._wait_stated = 0.0
        if lasts >= max(SILENT_WAIT, 2 * self._wait_stated):
            self._wait_stated = lasts
            left = self.gate.closed_for()
            log.warning(
                "Requests are refused for now (%s); all requests wait, and one is sent again in %.0f s.", what, left
            )

    def _counted(self, error: Refused) -> ModelError:
        """The refusal; Fatal, which ends the run, if every further question would be refused as well."""
        status = error.status
        known = next(
            (each for each in SYSTEMATIC if status in SYSTEMATIC_STATUSES and each[0].search(error.said)), None
        )
        if known:
            error.what = f"{known[1]}: {error.what}"
        count = self._refusals.ends_run(status, error.said, self.endpoint.answered, known is not None)
        if not count:
            return error
        hint = known[2] if known else FATAL.get(status, "")
        if count >= ALIKE and not known:
            reason, hint = reason_of(status, error.said)
            error.what = f"the server refused {count} questions in a row in the same way: {reason} ({error.what})."
        fatal = Fatal(error.what, hint=hint)
        fatal.attempts = error.attempts
        self.end(fatal)
        return fatal

    async def look(self, path: str, content: bytes | None = None, *, at_root: bool = False) -> JsonObject:
        """A server's reply to a request that is not a question; {} where it has no answer.

        content: what is sent; None: the page is read. at_root: as of `joined`. One attempt at each server until one is reached,
        which changes nothing about how questions are sent. Raises Unreachable.
        """
        for url in list(self._looks_at):
            with suppress(Unreachable):
                status, found = await self._page(joined(url, path, at_root=at_root), content)
                if status in LOADING:
                    raise Unreachable
                return found if status == 200 else {}
            self._looks_at.append(self._looks_at.pop(0))  # the next look begins with another server
        raise Unreachable

    async def page(self, url: str, path: str) -> tuple[int, JsonObject]:
        """(status, content) of a page below one of the addresses; empty where it is no JSON object. Raises Unreachable."""
        return await self._page(joined(url, path), None)

    async def _page(self, url: httpx.URL, content: bytes | None) -> tuple[int, dict[str, object]]:
        method = "GET" if content is None else "POST"
        request = httpx.Request(method, url, headers=self.headers, content=content)
        try:
            async with asyncio.timeout(min(LOOK, self.limits.timeout)):
                reply = await self.transport.handle_async_request(request)
                await reply.aread()
        except Exception as error:  # transports are third-party code
            raise Unreachable from error
        try:
            found = json.loads(reply.content)
        except (ValueError, RecursionError):
            found = {}
        return reply.status_code, found if isinstance(found, dict) else {}

    def end(self, fatal: Fatal) -> None:
        """Ends all questions with an error."""
        self.fatal = self.fatal or fatal
        self.gate.close()
        self.servers.close()

    def _until(self, tries: Tries) -> float:
        """The time at which a question's deadline ends. Outages and waits for a quota do not count."""
        begun = asyncio.get_running_loop().time() if tries.started is None else tries.started
        return begun + self.limits.deadline + self._paused() - tries.paused

    def _paused(self) -> float:
        """Seconds for which no question could be sent: outages, and waits for a quota."""
        since, now = self.gate.refused_since, asyncio.get_running_loop().time()
        return self.servers.paused + self.gate.paused + (0.0 if since is None else now - since)

    def _jitter(self, tries: int) -> float:
        """Full jitter: a random wait up to the capped exponential, so that clients do not retry all at once."""
        return self.draw.uniform(0, min(self.limits.max_wait, self.limits.base_wait * 2.0 ** min(tries - 1, 60)))

    async def _attempt(
        self, path: str, content: bytes, read: Callable[[dict[str, object]], Value], tries: Tries
    ) -> Value:
        server, probe = await self.servers.choose()
        tries.begin(asyncio.get_running_loop().time(), self._paused())
        try:
            reply = await self._send(server, path, content, tries, probe)
        finally:
            if probe:
                self.servers.released(server)
        try:
            return read(self._content(reply))
        except MISREAD as error:
            raise Passing("the reply has an unknown form", said=kind_and_text(error)) from error

    async def _send(self, server: Server, path: str, content: bytes, tries: Tries, probe: bool) -> httpx.Response:
        """The reply, unless its status says that the server is still loading. Raises Passing if there is no reply."""
        loop = asyncio.get_running_loop()
        request = self._request(server, path, content)
        try:
            async with asyncio.timeout_at(min(loop.time() + self.limits.timeout, self._until(tries))):
                reply = await self.transport.handle_async_request(request)
                await reply.aread()
        except TimeoutError as error:
            raise Passing(f"no reply within {min(self.limits.timeout, self.limits.deadline):g} s") from error
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise self._unreachable(server, error, probe) from error
        except Fatal:
            raise
        except Exception as error:  # transports are third-party code; this is the only call
            passing = Passing(type(error).__name__, said=str(error))
            if isinstance(error, httpx.TransportError) and not _spoke(error):
                self.failed_once()
                raise self._absent(server, passing, tries, probe, alive=False) from error
            self.servers.heard(server)
            raise passing from error
        if reply.status_code in LOADING:
            self.failed_once()
            loading = Passing(f"HTTP {reply.status_code}", retry_after(reply.headers), said=_text(reply))
            raise self._absent(server, loading, tries, probe, alive=True)
        self.servers.heard(server)
        return reply

    def _unreachable(self, server: Server, error: httpx.TransportError, probe: bool) -> Passing | Fatal:
        """The error for a failed connection. The question was not sent, so this uses none of its retries."""
        passing = Passing("no connection", said=str(error), free=True)
        if certificate_fault(error):
            return Fatal(
                f"{self._message(passing)}.", hint="Set SSL_CERT_FILE to a file with the authorities to trust."
            )
        return self.servers.failed(server, self._message(passing), probe, alive=False) or passing

    def _absent(self, server: Server, passing: Passing, tries: Tries, probe: bool, alive: bool) -> Passing | Fatal:
        """The error for a broken connection or a gateway's 503. It counts against the question if the server answers others."""
        if server.heard_at >= tries.sent_at or self.servers.asking == 1:
            return passing
        passing.free = probe
        return self.servers.failed(server, self._message(passing), probe, alive, passing.wait) or passing

    def _request(self, server: Server, path: str, content: bytes) -> httpx.Request:
        """A question to a server. What all of them have in common is written once: httpx looks at each header several times."""
        if (known := self._targets.get((server.url, path))) is None:
            first = httpx.Request("POST", joined(server.url, path), headers=self.headers, content=b"")
            known = self._targets[server.url, path] = first.url, first.headers
        url, headers = known
        request = httpx.Request("POST", url, headers=headers, stream=httpx.ByteStream(content))
        request.headers["Content-Length"] = str(len(content))
        request.read()
        return request

    def _content(self, reply: httpx.Response) -> dict[str, object]:
        if reply.status_code != 200:
            raise self._refusal(reply.status_code, reply)
        if len(reply.content) > (most := int(self.limits.max_reply_mb * MEGABYTE)):
            raise Passing(str(too_large(most)))
        try:
            content = json.loads(reply.content)
        except (ValueError, RecursionError) as error:
            try:
                content = streamed(reply.content.decode("utf-8", "replace"))
            except MISREAD as broken:
                raise Passing("the reply is a stream that can't be read", said=str(broken)) from broken
            if content is None:
                raise Passing("the reply is not JSON", said=_text(reply)) from error
        if not isinstance(content, dict):
            raise Passing("the reply is an error", said=_text(reply))
        if content.get("error") or content.get("object") == "error":
            if TOO_LONG.search(_text(reply)):
                raise self._too_long(200, reply)
            status = stated_status(content)
            if status is None and says_filtered(content):
                raise Filtered(self._message(Passing("the server's content filter", said=_text(reply))))
            raise self._refusal(status, reply) if status else Passing("the reply is an error", said=_text(reply))
        return content

    def _refusal(self, status: int, reply: httpx.Response) -> Passing | ModelError:
        text = _text(reply)
        if status in MAY_BE_TOO_LONG and TOO_LONG.search(text) and not CAP_ALONE.search(text):
            return self._too_long(status, reply)
        wait, throttled = stated_wait(reply.headers, text), status in THROTTLED
        passing = Passing(f"HTTP {status}", wait, throttled, said=text, status=status)
        said = self._message(passing)
        if status in FILTER_STATUSES and says_filtered(_json(reply)):
            return Filtered(f"the server's content filter: {said}")
        if status == 429 and NEVER.search(text):
            return Refused.by(status, text, said)
        if status == 429 and QUOTA in text:
            return Fatal(said, hint=FATAL[402])
        if status == 429 and (passing.wait or 0) > self.limits.deadline:
            hint = "The wait is longer than deadline=. Run the same command later to continue."
            return Fatal(f"{said} (requests a wait of {passing.wait:.0f} s)", hint=hint)
        for_good = NO_PICTURES.search(text) or status == 500 and NO_JINJA.search(text)
        if status in THROTTLED or status in PASSING and not for_good:
            return passing
        return Refused.by(status, text, said)

    def _too_long(self, status: int, reply: httpx.Response) -> TooLong:
        said = self._message(Passing(f"HTTP {status}", said=_text(reply)))
        return TooLong(
            f"the prompt, or prompt and answer, are too long for the server's model: {said}",
            hint="Start the server with a longer context, or lower max_gen_toks, or use fewer few-shot examples or pictures.",
        )

    def _message(self, passing: Passing) -> str:
        """The error's message, with the redacted beginning of what the server said."""
        if passing.said is None:
            return passing.what
        return f"{passing.what}: {shortened(self.redactor.error(as_text(passing.said)))}"


def _spoke(error: Exception) -> bool:
    """Whether the server sent something: invalid HTTP, or a reply that broke off."""
    return isinstance(error, httpx.RemoteProtocolError) and "disconnected without" not in str(error)


def certificate_fault(error: BaseException | None) -> bool:
    """Whether the cause is the server's certificate. Retrying does not help then."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _text(reply: httpx.Response) -> str:
    """The beginning of a reply's text, decoded as JSON would be. The charset that the server names is ignored."""
    return reply.content[:4096].decode(json.detect_encoding(reply.content), "replace")


def _json(reply: httpx.Response) -> object:
    """A reply's JSON; its text where it is none."""
    try:
        return json.loads(reply.content)
    except (ValueError, RecursionError):
        return _text(reply)


def _gave_up(what: str, attempts: int) -> ModelError:
    error = ModelError(what)
    error.attempts = attempts
    return error
