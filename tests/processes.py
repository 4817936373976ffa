"""Child processes of tests: how long one waits for them, and that none outlives a test that failed."""

import subprocess
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

HANGS = 600.0
"""Seconds after which something is taken to hang. It bounds no speed: a busy machine is many times slower."""


def wait_until(condition: Callable[[], object], said: str = "it did not happen", pause: float = 0.01) -> None:
    """Returns once the condition holds; an assertion fails after HANGS seconds."""
    end = time.monotonic() + HANGS
    while not condition():
        assert time.monotonic() < end, said
        time.sleep(pause)


@contextmanager
def child(command: list[str], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """A process for the length of a block. It is killed at its end: `with Popen` would wait for it for ever after a failure."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            process.kill()


class Started:
    """The processes that were started since `forget`."""

    def __init__(self) -> None:
        self.processes = weakref.WeakSet["subprocess.Popen[Any]"]()
        whole = subprocess.Popen.__init__

        def noted(process: "subprocess.Popen[Any]", *arguments: Any, **options: Any) -> None:
            whole(process, *arguments, **options)
            self.processes.add(process)

        subprocess.Popen.__init__ = noted  # type: ignore[method-assign]

    def forget(self) -> None:
        self.processes.clear()

    def kill(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
