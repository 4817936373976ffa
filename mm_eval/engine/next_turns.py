"""The next turns of conversations, which the task's functions make of the answers.

Such a function may call a tool that takes seconds. An adapter that must not wait gets the turns that are made by then, and the
others are made in threads meanwhile. Otherwise each is made when it is taken: in a thread, too, so that a run that is interrupted
does not wait for it.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context

from mm_eval.values.types import Answer, End, Instance

PAUSE = 0.2
"""Seconds between two looks whether the run was stopped."""
AT_ONCE = 8
"""Turns that are made at a time."""
Turn = tuple[Instance, Answer, Instance | End]
"""A turn that was answered, its answer, and what follows."""


class NextTurns:
    """Answered turns, and what follows them. wake: called from a thread when a turn was made."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._answered: deque[tuple[Instance, Answer]] = deque()
        self._made: queue.SimpleQueue[Turn | BaseException] = queue.SimpleQueue()
        self._waiting = 0  # in threads, or made and not taken

    def __bool__(self) -> bool:
        """Whether any turn is still to be made or taken."""
        return bool(self._answered or self._waiting)

    def add(self, answered: Instance, answer: Answer) -> None:
        self._answered.append((answered, answer))

    def take(self, stopped: Callable[[], bool] = lambda: False) -> Turn | None:
        """The next one, which is made now if no thread does; None if there is none, or if the run was stopped meanwhile."""
        if not self._waiting:
            if not self._answered:
                return None
            self._start()
        while not stopped():
            with suppress(queue.Empty):
                return self._taken(PAUSE)
        return None

    def take_made(self) -> Turn | None:
        """One that is made; None if there is none by now. Raises what only ends a program, such as SystemExit."""
        while self._answered and self._waiting - self._made.qsize() < AT_ONCE:
            self._start()
        return None if self._made.empty() else self._taken()

    def _start(self) -> None:
        """Has a thread make the next one."""
        self._waiting += 1
        work = self._make, *self._answered.popleft()
        threading.Thread(target=copy_context().run, args=work, name="turn", daemon=True).start()

    def _taken(self, seconds: float | None = None) -> Turn:
        """One that is made. Raises queue.Empty if none is within so many seconds; None: at once."""
        found = self._made.get(seconds is not None, seconds)
        self._waiting -= 1
        if isinstance(found, BaseException):
            raise found
        return found

    def _make(self, answered: Instance, answer: Answer) -> None:
        try:
            assert answered.then is not None
            self._made.put((answered, answer, answered.then(answered, answer)))
        except BaseException as error:  # raised by the reader
            self._made.put(error)
        self.wake()
