"""Warm interpreters: started ahead, all by one thread that lives as long as the pool.

The sandbox ends when the thread that has started it ends (`--die-with-parent`), so no thread of a turn may start one. As many
start at a time as there are cores: sixty-four at once on two cores would all take longer than one of them may.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from mm_eval.sandbox.interpreter import Interpreter, SandboxError
from mm_eval.sandbox.walls import Sandbox

AT_A_TIME = max(2, os.cpu_count() or 1)
"""Interpreters that are started and not yet ready."""


class Pool:
    """Interpreters of one sandbox. warm: how many are started ahead, from the first that is taken."""

    def __init__(self, sandbox: Sandbox, warm: int = 2) -> None:
        self.sandbox = sandbox
        self._warm = warm
        self._starter = ThreadPoolExecutor(1, "sandbox")
        self._lock = threading.Lock()
        self._waiting: deque[Future[Interpreter]] = deque()
        self._starting: deque[Interpreter] = deque()
        self._taken: set[Interpreter] = set()
        self._closed = False

    @property
    def is_closed(self) -> bool:
        return self._closed

    def take(self) -> Interpreter:
        """One that is ready and that nobody has used. SandboxError where none can be started."""
        with self._lock:
            if self._closed:
                raise SandboxError("the run has ended.")
            started = self._waiting.popleft() if self._waiting else self._start()
            while len(self._waiting) < self._warm:
                self._waiting.append(self._start())
        found = started.result()
        with self._lock:
            self._taken.add(found)
            closed = self._closed
        if closed:
            found.close()
        found.wait_until_ready()
        return found

    def give_back(self, interpreter: Interpreter) -> None:
        """Ends one that was taken: no document gets what another one has used."""
        interpreter.close()
        with self._lock:
            self._taken.discard(interpreter)

    def close(self) -> None:
        """Ends all of them."""
        with self._lock:
            self._closed = True
            waiting, self._waiting = list(self._waiting), deque()
            taken, self._taken = list(self._taken), set()
        for interpreter in taken:
            interpreter.close()
        for started in waiting:
            if not started.cancel():
                with suppress(Exception):
                    started.result().close()
        self._starter.shutdown()

    def _start(self) -> Future[Interpreter]:
        return self._starter.submit(self._started)

    def _started(self) -> Interpreter:
        """One that is started, in the thread that starts all. It waits for earlier ones while many of them are not ready."""
        while len(self._starting) >= AT_A_TIME and not self._closed:
            with suppress(SandboxError):  # it is told to whom takes that one
                self._starting.popleft().wait_until_ready()
        found = Interpreter(self.sandbox)
        self._starting.append(found)
        return found
