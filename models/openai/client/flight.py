"""How many questions and attempts are in flight.

`Flight` runs many questions at once on an event loop. `Gate` limits the attempts in flight; only a 429 lowers the limit, since
slow replies and 5xx say nothing about a server's capacity.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from .errors import Closed


@dataclass
class Gate:
    """Limits the attempts in flight, and holds the one schedule of an endpoint whose quota is used up.

    A 429 halves the limit, at most once for the attempts that were sent before. A round of successes raises it by one. It also
    closes the gate for all: when the wait is over a single attempt goes out, and the others follow once it succeeds. Until then
    each refusal of such an attempt makes the next wait longer, if the server states none.

    paused: seconds for which the gate was closed. refused_since: when it was closed; None while it is open.
    """

    most: int
    allowed: float = field(init=False)
    active: int = 0
    closed: bool = False
    paused: float = 0.0
    refused_since: float | None = None
    rounds: int = 0
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _resume_at: float = 0.0
    _cut_at: float = float("-inf")
    _probing: bool = False
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.allowed = float(self.most)

    async def enter(self, first: bool = False) -> bool:
        """Waits for a free place. Returns whether it is that of the single attempt after a 429. Raises Closed when the run ends.

        first: before those that wait.
        """
        loop = asyncio.get_running_loop()
        while True:
            if self.closed:
                raise Closed
            single = self.refused_since is not None
            free = loop.time() >= self._resume_at and not self._probing if single else self.active < int(self.allowed)
            if free:
                self.active += 1
                self._probing = self._probing or single
                return single
            place: asyncio.Future[None] = loop.create_future()
            (self._waiting.appendleft if first else self._waiting.append)(place)
            await place

    def leave(self, single: bool) -> None:
        """Frees the place. single: what `enter` returned."""
        self.active -= 1
        if single:
            self._probing = False
        self._let_in(1)

    def close(self) -> None:
        """Ends the run: nothing enters any more, and all waits end with Closed."""
        self.closed = True
        self._ended.set()
        wake(self._waiting, len(self._waiting))

    async def rest(self, seconds: float) -> None:
        """Waits. Raises Closed as soon as the run ends."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return
        raise Closed

    def succeeded(self, single: bool) -> None:
        """Records an answer and raises the limit a little. Only the single attempt's opens the gate after a 429."""
        if single and self.refused_since is not None:
            self.paused += asyncio.get_running_loop().time() - self.refused_since
            self.refused_since, self.rounds = None, 0
            self._let_in(int(self.allowed))
            return
        before = int(self.allowed)
        self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
        self._let_in(int(self.allowed) - before)

    def throttled(self, sent_at: float, wait: Callable[[int], float]) -> None:
        """Records a 429: halves the limit and lets nothing in for `wait(how often in a row)` seconds."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if sent_at > self._cut_at:
            self.allowed, self._cut_at = max(1.0, self.allowed / 2), now
            self.rounds += 1
        if self.refused_since is None:
            self.refused_since = now
        until = now + wait(self.rounds)
        if until > self._resume_at:
            self._resume_at = until
            loop.call_at(until, self._let_in, 1)

    def refused_for(self) -> float:
        """Seconds since the gate was closed, the wait that has just been stated included."""
        return 0.0 if self.refused_since is None else self._resume_at - self.refused_since

    def closed_for(self) -> float:
        """Seconds until the next single attempt may enter."""
        return max(0.0, self._resume_at - asyncio.get_running_loop().time())

    def _let_in(self, count: int) -> None:
        """Wakes as many of those that wait as may enter."""
        if self.refused_since is not None:
            now = asyncio.get_running_loop().time()
            count = 1 if now >= self._resume_at and not self._probing else 0
        wake(self._waiting, count)


Unit = TypeVar("Unit")
Result = TypeVar("Result")

GRACE = 4.0
"""Seconds that requests in flight may take after an interrupt."""


class Flight:
    """Runs at most `window` units of work at a time on an event loop. A signal handler may call `stop_soon`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, window: int) -> None:
        self._loop, self.window = loop, window
        self._running: set[asyncio.Task[None]] = set()
        self._pending = asyncio.Event()

    def widen(self, window: int) -> None:
        """Lets more units run, at once."""
        if window > self.window:
            self.window = window
            self._pending.set()

    def stop_soon(self) -> None:
        """Cancels what is in flight after a few seconds."""
        self._loop.call_soon_threadsafe(self._stop_soon)

    def _stop_soon(self) -> None:
        self._loop.call_later(GRACE, self._cancel)
        self._pending.set()  # `run` looks whether there are further units: there are none

    def wake(self) -> None:
        """Has `run` look again whether there are further units. Any thread may call it, also after the end."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._pending.set)

    def run(
        self,
        take: Callable[[], Unit | None],
        work: Callable[[Unit], Awaitable[Result]],
        over: Callable[[], bool] = lambda: False,
    ) -> Iterator[Result]:
        """Yields the result of `work` for each unit as it completes. Cancelled and closed units yield nothing.

        take: the next unit; None if there is none by now, and `wake` is called when there may be one. It raises StopIteration at
        the end, and is asked again after each result, since there may be more then.
        An exception of `work`, or of `take`, is raised when all units in flight have ended, and their results were given. No unit
        is started once `over` is true.
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

        more = True
        while more or self._running or done:
            waits = False
            while more and not (waits or done or failures or over()) and len(self._running) < self.window:
                try:
                    unit = take()
                except StopIteration:
                    more = False
                    break
                except Exception as error:  # what is in flight was paid for
                    failures.append(error)
                    break
                if unit is None:
                    waits = True
                    break
                task = self._loop.create_task(one(unit))
                self._running.add(task)
                task.add_done_callback(ended)
                self._go_round()  # units in flight go on while more are prepared
            more = more and not failures and not over()
            if done:
                while done:
                    yield done.popleft()
                more = not failures and not over()  # a result may have made another unit
            elif waits and more or self._running and (not more or len(self._running) >= self.window):
                self._loop.run_until_complete(self._pending.wait())
                self._pending.clear()
        if failures:
            raise failures[0]

    def _go_round(self) -> None:
        """Runs what is ready on the loop."""
        stop = self._loop.call_soon(self._loop.stop)
        try:
            self._loop.run_forever()
        finally:
            stop.cancel()  # an interrupt may have come first

    def _cancel(self) -> None:
        for task in list(self._running):
            task.cancel()

    def close(self) -> None:
        """Cancels what still runs and waits for it to end."""
        self._cancel()
        if self._running:
            self._loop.run_until_complete(asyncio.wait(self._running, timeout=1))


def wake(waiting: deque[asyncio.Future[None]], count: int) -> None:
    """Lets up to `count` waiting tasks go on, the longest waiting first."""
    while count > 0 and waiting:
        place = waiting.popleft()
        if not place.done():
            place.set_result(None)
            count -= 1
