"""How many questions and attempts are in flight.

`Flight` runs many questions at once on an event loop. `Gate` limits the attempts in flight; only a 429 lowers the limit, since
slow replies and 5xx say nothing about a server's capacity.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from .errors import Closed


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
        wake(self._waiting, 1)

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

    def succeeded(self) -> None:
        """Records an answer and raises the limit a little."""
        before = int(self.allowed)
        self.allowed = min(float(self.most), self.allowed + 1 / self.allowed)
        wake(self._waiting, int(self.allowed) - before)

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


def wake(waiting: deque[asyncio.Future[None]], count: int) -> None:
    """Lets up to `count` waiting tasks go on, the longest waiting first."""
    while count > 0 and waiting:
        place = waiting.popleft()
        if not place.done():
            place.set_result(None)
            count -= 1
