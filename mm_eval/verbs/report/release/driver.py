"""One model of a release in a process of its own: `python -m mm_eval.verbs.report.release.driver`, which `drivers` starts.

Its standard input gives the request as a line of JSON, and stays open. When it closes, the release has died, and the run stops
as at an interrupt. Its standard output takes events, a JSON list a line: ["start", "answering", 4800]; the last one is
["ended", {...}]. What libraries print goes to standard error.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TypeAlias

from mm_eval.cli import GARBAGE_AFTER
from mm_eval.cli.say import SafeFormatter, guard_streams
from mm_eval.engine.outcome import STOPPING
from mm_eval.engine.progress import Progress
from mm_eval.request import RunRequest
from mm_eval.verbs.report.release.outcomes import INTERRUPTED_EARLY, drive

Send: TypeAlias = Callable[..., None]
"""send("tick", 12, 0): sends an event."""

PAUSE = 0.2
"""Seconds between two events of a run's progress."""


class SentProgress(Progress):
    """Sends what it is shown. Ticks are added up and sent a few times a second."""

    shows_scores = True

    def __init__(self, send: Send) -> None:
        self._send, self._done, self._failed, self._sent = send, 0, 0, 0.0
        self._dollars: Callable[[], float | None] = lambda: None

    def phase(self, name: str) -> None:
        self._send("phase", name)

    def tasks(self, requests: Mapping[str, int]) -> None:
        self._send("tasks", dict(requests))

    def scored(self, name: str, score: str) -> None:
        self._send("scored", name, score)

    def priced(self, dollars: Callable[[], float | None]) -> None:
        self._dollars = dollars

    def start(self, name: str, total: int) -> None:
        self._send("start", name, total)

    def tick(self, done: int, failed: int) -> None:
        self._done, self._failed = self._done + done, self._failed + failed
        if time.monotonic() - self._sent >= PAUSE:
            self._flush()

    def stop(self) -> None:
        self._flush()

    def _flush(self) -> None:
        self._sent = time.monotonic()
        self._send("tick", self._done, self._failed, self._dollars())
        self._done = self._failed = 0


def main() -> None:
    """Runs the model that standard input names. Interrupts are blocked until the run can handle them."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    guard_streams()
    gc.set_threshold(GARBAGE_AFTER)
    given = json.loads(sys.stdin.buffer.readline())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter("%(message)s"))
    handler.addFilter(lambda record: record.msg != STOPPING)  # the release says it once
    logging.basicConfig(level=given["verbosity"], handlers=[handler])

    def send(*event: object) -> None:
        try:
            events.write(json.dumps(event) + "\n")
            events.flush()
        except OSError:  # the release has died; the closed standard input stops the run
            pass

    def watch() -> None:
        while os.read(0, 1):  # not by `sys.stdin`, whose lock the interpreter needs at its end
            pass
        os.kill(os.getpid(), signal.SIGINT)

    ended = INTERRUPTED_EARLY
    try:
        threading.Thread(target=watch, name="release", daemon=True).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
        ended = drive(RunRequest.from_json(given["request"]), SentProgress(send))
    except KeyboardInterrupt:
        pass
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    send("ended", asdict(ended))


if __name__ == "__main__":
    main()
