"""The pool of interpreters: how many are started at a time, with a stand-in for the interpreter."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from mm_eval.sandbox import pool as pools
from mm_eval.sandbox.interpreter import SandboxError
from mm_eval.sandbox.pool import AT_A_TIME, Pool
from mm_eval.sandbox.walls import Sandbox

DOCS = 8 * AT_A_TIME


def test_no_more_start_at_a_time_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, starting, most, made = threading.Lock(), set[int](), list[int](), list[Any]()

    class Slow:
        """An interpreter that takes a moment to be ready. One of them does not start."""

        def __init__(self, sandbox: Sandbox) -> None:
            with lock:
                made.append(self)
                self.number = len(made)
                starting.add(self.number)
                most.append(len(starting))
            self.ready = threading.Event()
            threading.Timer(0.02, self.end).start()

        def end(self) -> None:
            with lock:
                starting.discard(self.number)
            self.ready.set()

        def wait_until_ready(self) -> None:
            assert self.ready.wait(10)
            if self.number == 5:
                raise SandboxError("it does not start.")

        def close(self) -> None:
            pass

    monkeypatch.setattr(pools, "Interpreter", Slow)
    with closing(Pool(Sandbox("none"), 2)) as pool, ThreadPoolExecutor(DOCS) as threads:
        taken = [threads.submit(pool.take) for _ in range(DOCS)]
        failed = [each for each in taken if each.exception(10) is not None]
    assert max(most) <= AT_A_TIME and len(made) >= DOCS
    assert len(failed) == 1 and isinstance(failed[0].exception(), SandboxError)
