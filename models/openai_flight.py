"""Many questions under way at once, from a plain generator: pulled when there is room, yielded as they finish.

The event loop runs in the calling thread, while the generator is waited on and nowhere else, so that there is no second
thread to lose an answer between.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar

from .openai_errors import Closed

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
