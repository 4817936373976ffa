"""The next turns of conversations, which the task's functions make of the answers.

Such a function may call a tool that takes seconds. An adapter that must not wait gets the turns that are made by then, and the
others are made in threads meanwhile. Otherwise each is made when it is taken: in a thread, too, so that a run that is interrupted
does not wait for it. Turns that run code of the model take longer and wait elsewhere, in a process of their own: more of them are
made at a time, and none of them keeps another kind waiting.
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
WITH_CODE = 64
"""The same of turns that run code."""
Turn = tuple[Instance, Answer, Instance | End]
"""A turn that was answered, its answer, and what follows."""


class NextTurns:
    """Answered turns, and what follows them. wake: called from a thread when a turn was made."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] = lambda: None
        self._answered: dict[bool, deque[tuple[Instance, Answer]]] = {False: deque(), True: deque()}
        """Whether they run code: those whose next turn is still to be made."""
        self._running = {False: 0, True: 0}
        self._lock = threading.Lock()
        self._made: queue.SimpleQueue[Turn | BaseException] = queue.SimpleQueue()
        self._waiting = 0  # in threads, or made and not taken

    def __bool__(self) -> bool:
        """Whether any turn is still to be made or taken."""
        return bool(any(self._answered.values()) or self._waiting)

    def add(self, answered: Instance, answer: Answer) -> None:
        self._answered[answered.runs_code].append((answered, answer))

    def take(self, stopped: Callable[[], bool] = lambda: False) -> Turn | None:
        """The next one, which is made now if no thread does; None if there is none, or if the run was stopped meanwhile."""
        self._start(True)
        if not self._waiting:
            if not self._answered[False]:
                return None
            self._start(False, 1)
        while not stopped():
            with suppress(queue.Empty):
                return self._taken(PAUSE)
        return None

    def take_made(self) -> Turn | None:
        """One that is made; None if there is none by now. Raises what only ends a program, such as SystemExit."""
        self._start(True)
        self._start(False)
        return None if self._made.empty() else self._taken()

    def _start(self, with_code: bool, most: int = WITH_CODE) -> None:
        """Has threads make the next ones of a kind, as many as may be made at a time. most: no more than that."""
        bound, waiting = (WITH_CODE if with_code else AT_ONCE), self._answered[with_code]
        for _ in range(most):
            with self._lock:
                if not waiting or self._running[with_code] >= bound:
                    return
                self._running[with_code] += 1
            self._waiting += 1
            work = self._make, *waiting.popleft()
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
        with self._lock:
            self._running[answered.runs_code] -= 1
        self.wake()
