"""How many questions are in flight, and which server each attempt goes to.

`Flight` runs many questions at once on an event loop. `Gate` limits the attempts in flight; only a 429 lowers the limit, since
slow replies and 5xx say nothing about a server's capacity. `Servers` chooses the server of an attempt.

A new server gets one question first. The others follow when it replies, or after a short time without a failure. A server that
refuses connections or is still loading gets one question at a time (a probe), at growing intervals, and each time another
question, so that an outage uses up no question's retries. Meanwhile the other servers take over. If no server can be reached,
all questions wait; an outage that lasts too long ends the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from .replies import Closed, Fatal

log = logging.getLogger(__name__)

FIRST_OUTAGE, LATER_OUTAGE = 10.0, 300.0
"""Seconds after which an outage ends the run: if no server has ever replied, and if one has."""
FIRST_PROBE, SLOWEST_PROBE = 0.5, 10.0
"""Seconds between probes: doubled after each failure."""
FIRST_GRACE, LATER_GRACE = 0.2, 2.0
"""Seconds without a failure after which more questions follow the first one of a server, and a probe in an outage."""


@dataclass(eq=False)
class Server:
    """The state of one server.

    open: questions may be sent to it. due: if it is not open, it may be probed. probed: a probe is in flight.
    heard_at: time of its last reply. down_since: time of the first failure after that reply.
    """

    url: str
    open: bool = False
    probed: bool = False
    heard_at: float = float("-inf")
    down_since: float | None = None
    due: bool = True
    failures: int = 0


class Servers:
    """The servers of a run, used in turn.

    longest: seconds of outage after which the run ends; None: the two defaults.
    deadline: seconds for a question; an outage ends the run after this time at the latest.
    asking: questions that were started and are not answered. paused: seconds of outages so far.
    """

    def __init__(self, urls: Sequence[str], longest: float | None = None, deadline: float = float("inf")) -> None:
        self._servers = [Server(url) for url in urls]
        self._longest, self._deadline = longest, deadline
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turn = 0
        self._dark_since: float | None = None
        self._closed = False
        self.asking = 0
        self.paused = 0.0

    async def choose(self) -> tuple[Server, bool]:
        """The server for the next attempt, and whether the attempt is a probe. Waits during an outage."""
        loop = asyncio.get_running_loop()
        while not self._closed:
            for server in self._servers:
                if server.due and not server.open and not server.probed:
                    server.probed = True
                    grace = FIRST_GRACE if server.down_since is None else LATER_GRACE
                    loop.call_later(grace, self._presume, server, server.failures)
                    return server, True
            opened = [server for server in self._servers if server.open]
            if opened:
                self._turn += 1
                return opened[self._turn % len(opened)], False
            place: asyncio.Future[None] = loop.create_future()
            self._waiting.append(place)
            await place
        raise Closed

    def heard(self, server: Server) -> None:
        """Records that the server replied."""
        if server.down_since is not None:
            log.warning("%s replies again.", server.url)
        server.heard_at = asyncio.get_running_loop().time()
        server.down_since, server.failures, server.due = None, 0, True
        self._open(server)

    def released(self, server: Server) -> None:
        """Records that a probe ended without a result. Another question may probe the server."""
        server.probed = False
        if not server.open:
            _wake(self._waiting, 1)

    def failed(self, server: Server, what: str, probe: bool, alive: bool, wait: float | None = None) -> Fatal | None:
        """Records that the server is unreachable or still loading. Returns Fatal once that has lasted too long.

        alive: a gateway replied in its place (HTTP 503). wait: seconds that it requested.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if server.down_since is None:
            server.down_since = now
            log.warning("%s can't be reached (%s); its questions wait.", server.url, what)
        if server.open or probe:  # once, not for each attempt that was in flight
            server.failures += 1
            limit = self._limit(alive)
            pause = min(SLOWEST_PROBE, FIRST_PROBE * 2.0 ** (server.failures - 1)) if wait is None else wait
            if (left := server.down_since + limit - now) > 0:
                pause = min(pause, left)
            server.due = False
            loop.call_later(pause, self._let_probe, server, server.failures)
        server.open = server.probed = False
        return self._outage(now, what, alive)

    def close(self) -> None:
        """Ends all waits; no further attempt gets a server."""
        self._closed = True
        _wake(self._waiting, len(self._waiting))

    def _outage(self, now: float, what: str, alive: bool) -> Fatal | None:
        if any(server.open for server in self._servers):
            return None
        self._dark_since = now if self._dark_since is None else self._dark_since
        began = [server.down_since for server in self._servers if server.down_since is not None]
        lasted = now - max(began)
        if len(began) < len(self._servers) or lasted < self._limit(alive):
            return None
        urls = " | ".join(server.url for server in self._servers)
        return Fatal(
            f"{urls} could not be reached for {lasted:.0f} s: {what}.",
            hint="Start the server or check base_url, then run the same command to continue. max_outage=SECONDS waits longer.",
        )

    def _limit(self, alive: bool) -> float:
        never = all(server.heard_at == float("-inf") for server in self._servers)
        default = FIRST_OUTAGE if never and not alive else LATER_OUTAGE
        return min(default if self._longest is None else self._longest, self._deadline)

    def _let_probe(self, server: Server, failures: int) -> None:
        if server.failures == failures:
            server.due = True
            _wake(self._waiting, 1)

    def _presume(self, server: Server, failures: int) -> None:
        """Opens the server if its probe has not failed by now: an answer takes longer than a refusal."""
        if server.probed and server.failures == failures:
            self._open(server)

    def _open(self, server: Server) -> None:
        server.open, server.probed = True, False
        if self._dark_since is not None:
            self.paused += asyncio.get_running_loop().time() - self._dark_since
            self._dark_since = None
        _wake(self._waiting, len(self._waiting))


@dataclass
class Gate:
    """Limits the attempts in flight.

    A 429 halves the limit, at most once for the attempts that were sent before. A round of successes raises it by one.
    """

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
        """Waits for a free place and returns the time. Raises Closed when the run ends."""
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
        """Frees the place."""
        self.active -= 1
        _wake(self._waiting, 1)

    def close(self) -> None:
        """Ends the run: nothing enters any more, and all waits end with Closed."""
        self.closed = True
        self._ended.set()
        _wake(self._waiting, len(self._waiting))

    async def rest(self, seconds: float) -> None:
        """Waits. Raises Closed as soon as the run ends."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return
        raise Closed

    def succeeded(self) -> None:
        """Records an answer and raises the limit a little."""
        before = int(self.allowed)
        self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
        _wake(self._waiting, int(self.allowed) - before)

    def throttled(self, sent_at: float, wait: float) -> None:
        """Records a 429: halves the limit and lets nothing in for `wait` seconds."""
        now = asyncio.get_running_loop().time()
        if sent_at > self._cut_at:
            self.allowed, self._cut_at = max(1.0, self.allowed / 2), now
        self._resume_at = max(self._resume_at, now + wait)


Unit = TypeVar("Unit")
Result = TypeVar("Result")

GRACE = 4.0
"""Seconds that requests in flight may take after an interrupt."""


class Flight:
    """Runs at most `window` units of work at a time on an event loop. A signal handler may call `stop_soon`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, window: int) -> None:
        self._loop, self._window = loop, window
        self._running: set[asyncio.Task[None]] = set()
        self._pending = asyncio.Event()

    def stop_soon(self) -> None:
        """Cancels what is in flight after a few seconds."""
        self._loop.call_soon_threadsafe(lambda: self._loop.call_later(GRACE, self._cancel))

    def run(
        self,
        units: Iterable[Unit],
        work: Callable[[Unit], Awaitable[Result]],
        over: Callable[[], bool] = lambda: False,
    ) -> Iterator[Result]:
        """Yields the result of `work` for each unit as it completes. Cancelled and closed units yield nothing.

        An exception of `work` is raised when all units in flight have ended. No unit is started once `over` is true.
        """
        done: deque[Result] = deque()
        failures: list[BaseException] = []

        async def one(unit: Unit) -> None:
            try:
                done.append(await work(unit))
            except (Closed, asyncio.CancelledError):
                pass
            except Exception as error:  # raised below, in the caller's thread
                failures.append(error)

        def ended(task: asyncio.Task[None]) -> None:
            self._running.discard(task)
            self._pending.set()

        source, more = iter(units), True
        while more or self._running or done:
            while more and not failures and not over() and len(self._running) < self._window:
                unit = next(source, None)
                if unit is None:
                    more = False
                    break
                task = self._loop.create_task(one(unit))
                self._running.add(task)
                task.add_done_callback(ended)
                self._loop.run_until_complete(asyncio.sleep(0))  # units in flight go on while more are prepared
                if done:
                    break
            more = more and not failures and not over()
            while done:
                yield done.popleft()
            if self._running and (not more or len(self._running) >= self._window):
                self._loop.run_until_complete(self._pending.wait())
                self._pending.clear()
        if failures:
            raise failures[0]

    def _cancel(self) -> None:
        for task in list(self._running):
            task.cancel()

    def close(self) -> None:
        """Cancels what still runs and waits for it to end."""
        self._cancel()
        if self._running:
            self._loop.run_until_complete(asyncio.wait(self._running, timeout=1))


def _wake(waiting: deque[asyncio.Future[None]], count: int) -> None:
    """Lets up to `count` waiting tasks go on, the longest waiting first."""
    while count > 0 and waiting:
        place = waiting.popleft()
        if not place.done():
            place.set_result(None)
            count -= 1
