"""Which server the next attempt goes to, and the pause of all questions while none can be reached.

A server that nobody has heard from is asked one question first; the others follow when it replies, or after a moment in which
it did not fail. A server that refuses connections, or is still loading, is asked one question at a time (a probe), at growing
intervals, and by another question each time, so that an outage costs no question its retries. Other servers of the fleet take
over meanwhile. An outage of all servers that lasts ends the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from .status import Closed, Fatal

log = logging.getLogger(__name__)

FIRST_OUTAGE, LATER_OUTAGE = 10.0, 300.0
"""Seconds until an outage ends the run: where nothing was ever heard from a server, and where something was."""
FIRST_PROBE, SLOWEST_PROBE = 0.5, 10.0
"""Seconds between probes: doubled after each failure."""
FIRST_GRACE, LATER_GRACE = 0.2, 2.0
"""Seconds without a failure after which the others follow a first question, and a probe during an outage."""


@dataclass(eq=False)
class Server:
    """One URL. open: any question may go there. due: where it is not open, a question may probe it; probed: one does.

    heard_at: the time of its last reply. down_since: the time of the first failure after it.
    """

    url: str
    open: bool = False
    probed: bool = False
    heard_at: float = float("-inf")
    down_since: float | None = None
    due: bool = True
    failures: int = 0


class Fleet:
    """The servers of a run, in turns.

    longest: seconds of an outage that end the run; None: the two defaults.
    deadline: no outage may last longer than a question.
    asking: questions that are not answered yet and that were begun. paused: seconds of outages so far.
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
        """The server of the next attempt, and whether the attempt is its probe. Waits during an outage."""
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
        """The server replied."""
        if server.down_since is not None:
            log.warning("%s replies again.", server.url)
        server.heard_at = asyncio.get_running_loop().time()
        server.down_since, server.failures, server.due = None, 0, True
        self._open(server)

    def released(self, server: Server) -> None:
        """A probe ended without saying anything about the server: another question may probe it."""
        server.probed = False
        if not server.open:
            self._wake(1)

    def failed(self, server: Server, what: str, probe: bool, alive: bool, wait: float | None = None) -> Fatal | None:
        """The server can't be reached, or can't answer yet. Returns the end of the run once that has lasted too long.

        alive: something replied in its place (HTTP 503). wait: seconds that it asked for.
        """
        loop = asyncio.get_running_loop()
        now = loop.time()
        if server.down_since is None:
            server.down_since = now
            log.warning("%s can't be asked (%s); what is to be asked there waits.", server.url, what)
        if server.open or probe:  # and not for each attempt that was under way
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
        """Nobody is sent anywhere any more."""
        self._closed = True
        self._wake(len(self._waiting))

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
            f"{urls} could not be asked for {lasted:.0f} s: {what}.",
            hint="Start the server or check base_url; the same command goes on. max_outage=SECONDS waits longer.",
        )

    def _limit(self, alive: bool) -> float:
        never = all(server.heard_at == float("-inf") for server in self._servers)
        default = FIRST_OUTAGE if never and not alive else LATER_OUTAGE
        return min(default if self._longest is None else self._longest, self._deadline)

    def _let_probe(self, server: Server, failures: int) -> None:
        if server.failures == failures:
            server.due = True
            self._wake(1)

    def _presume(self, server: Server, failures: int) -> None:
        """The probe has not failed for a moment: an answer takes longer than a refusal, so the others follow."""
        if server.probed and server.failures == failures:
            self._open(server)

    def _open(self, server: Server) -> None:
        server.open, server.probed = True, False
        if self._dark_since is not None:
            self.paused += asyncio.get_running_loop().time() - self._dark_since
            self._dark_since = None
        self._wake(len(self._waiting))

    def _wake(self, count: int) -> None:
        while count > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                count -= 1


Unit = TypeVar("Unit")
Result = TypeVar("Result")

GRACE = 4.0
"""Seconds that what is in flight gets after an interrupt."""


class Flight:
    """Runs at most `window` units of work at a time on an event loop. `stop_soon` may be called from a signal handler."""

    def __init__(self, loop: asyncio.AbstractEventLoop, window: int) -> None:
        self._loop, self._window = loop, window
        self._running: set[asyncio.Task[None]] = set()
        self._pending = asyncio.Event()

    def stop_soon(self) -> None:
        """Gives what is in flight a few seconds, then cancels it."""
        self._loop.call_soon_threadsafe(lambda: self._loop.call_later(GRACE, self._cancel))

    def run(
        self,
        units: Iterable[Unit],
        work: Callable[[Unit], Awaitable[Result]],
        over: Callable[[], bool] = lambda: False,
    ) -> Iterator[Result]:
        """What `work` gives for each unit, in the order of completion. Cancelled and closed ones give nothing.

        What `work` raises is raised when all that was in flight has ended. No further unit is begun once `over` is true.
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
                self._loop.run_until_complete(asyncio.sleep(0))  # what is in flight goes on while more is prepared
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
        """Cancels what still runs and waits until it is gone."""
        self._cancel()
        if self._running:
            self._loop.run_until_complete(asyncio.wait(self._running, timeout=1))
