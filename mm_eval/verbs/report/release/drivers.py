"""The models of a release side by side: one process (driver) a model, as many at a time as the user wants.

A driver is a whole run: it plans, requests, records and scores, so nothing that happens to it touches another model. It has a
session of its own: an interrupt reaches the release alone, which passes it on once.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO

from mm_eval.engine.outcome import StopSignal
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import PARTIAL
from mm_eval.verbs.report.release.outcomes import Ended
from mm_eval.verbs.report.release.progress import ReleaseProgress

GRACE = 10.0
"""Seconds that drivers have to end after a second interrupt, before they are killed."""
LOOK = 0.2
"""Seconds between two looks at the drivers while none says anything."""
STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Driver:
    """A driver's process. ended: what it said at its end. last: the last line of its error stream."""

    name: str
    process: subprocess.Popen[bytes]
    ended: Ended | None = None
    last: str = ""
    _rests: dict[int, bytes] = field(default_factory=dict)

    @property
    def streams(self) -> list[IO[bytes]]:
        return [stream for stream in (self.process.stdout, self.process.stderr) if stream is not None]

    def hear(self, progress: ReleaseProgress) -> None:
        """Takes in what the driver has said since, its events and its error stream."""
        events, errors = self.streams
        for line in self._lines(events):
            kind, *values = json.loads(line)
            if kind != "ended":
                progress.take(self.name, kind, values)
            else:
                self.ended = Ended(**{**values[0], "problems": tuple(values[0]["problems"])})
        for line in self._lines(errors):
            if said := line.decode(errors="replace").rstrip():
                self.last = said
                progress.say(f"{self.name}: {said}")

    def _lines(self, stream: IO[bytes]) -> list[bytes]:
        """The complete lines that a stream has, without waiting."""
        content = self._rests.get(stream.fileno(), b"")
        with suppress(BlockingIOError):
            while more := os.read(stream.fileno(), 65536):
                content += more
        *lines, self._rests[stream.fileno()] = content.split(b"\n")
        return lines

    def outcome(self) -> Ended:
        """What became of the model, also where its process died without a word."""
        code = self.process.wait()
        if self.ended is not None:
            return self.ended
        died = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        last = f" It said last: {self.last}." if self.last else ""
        hole = f"model error: its process {died}.{last} The same command continues where it stopped."
        return Ended(PARTIAL, hole=hole, problems=(hole,))

    def interrupt(self) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)


class Drivers:
    """The models of a release, of which at most `parallel` run at a time, in their order.

    goes_on: whether a model that ended so has to start again once others have gone on. on_end: called with a model's name and
    outcome as it ends for good.
    """

    def __init__(
        self,
        requests: Mapping[str, RunRequest],
        parallel: int,
        progress: ReleaseProgress,
        goes_on: Callable[[str, Ended], bool],
        on_end: Callable[[str, Ended], None],
    ) -> None:
        self._requests, self._waiting, self._running = requests, dict(requests), list[Driver]()
        self._again = dict[str, RunRequest]()
        """Runs that start again when none of the others runs any more."""
        self._parallel, self._progress, self._goes_on, self._on_end = parallel, progress, goes_on, on_end
        self._selector = selectors.DefaultSelector()

    def run(self) -> bool:
        """Runs all models. Returns whether the user interrupted: those that had not begun are left out then.

        The first interrupt is passed on to the drivers, which record what is in flight; the second ends them at once.
        """
        stop = StopSignal(notify=self._interrupt)
        try:
            with stop.listening():
                while ((self._waiting or self._again) and not stop.requested) or self._running:
                    if not self._waiting and not self._running:
                        self._waiting, self._again = self._again, {}
                    while self._waiting and len(self._running) < self._parallel and not stop.requested:
                        self._start(name := next(iter(self._waiting)), self._waiting.pop(name))
                    self._hear()
        except KeyboardInterrupt:
            pass
        finally:
            self._end()
        return stop.requested

    def _start(self, name: str, request: RunRequest) -> None:
        """Starts a driver and gives it its request. Interrupts are blocked in it until it handles them."""
        start = f"import sys; sys.path[:] = {sys.path!r}; from mm_eval.verbs.report.release.driver import main; main()"
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", start],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        driver = Driver(name, process)
        self._running.append(driver)
        for stream in driver.streams:
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)
        given = {"request": request.options(), "verbosity": logging.getLogger().getEffectiveLevel()}
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it died at once, which is noticed later
            process.stdin.write(json.dumps(given).encode() + b"\n")
            process.stdin.flush()

    def _hear(self) -> None:
        """Waits a moment, takes in what drivers say, and reports those that ended.

        A driver has ended when its process has: processes that it started may hold its streams open.
        """
        self._selector.select(LOOK)
        for driver in list(self._running):
            over = driver.process.poll() is not None
            driver.hear(self._progress)
            if over:
                self._running.remove(driver)
                for stream in driver.streams:
                    self._selector.unregister(stream)
                    stream.close()
                with suppress(BrokenPipeError):
                    driver.process.stdin and driver.process.stdin.close()
                outcome = driver.outcome()
                if self._goes_on(driver.name, outcome):
                    self._again[driver.name] = self._requests[driver.name]
                    continue
                outcome = outcome.for_good
                self._progress.ended(driver.name, outcome.exit_code, not outcome.hole)
                self._on_end(driver.name, outcome)
        self._progress.draw()

    def _interrupt(self) -> None:
        self._progress.leave()
        for driver in self._running:
            driver.interrupt()

    def _end(self) -> None:
        """Ends the drivers that still run: by an interrupt and, if that does not help, by force."""
        if self._running:
            self._interrupt()
        until = time.monotonic() + GRACE
        while self._running:
            if time.monotonic() > until:
                for driver in self._running:
                    driver.process.kill()
            self._hear()
        self._selector.close()
