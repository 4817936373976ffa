"""Shows how far a run is on the error stream: a bar on a terminal, elsewhere a plain line every 30 seconds.

Where nothing is answered for a minute a log says so, too: a server that does not reply looked like a command that does nothing.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import Any

from mm_eval.cli.say import Lenient, finish_line, say_loading
from mm_eval.engine.progress import Progress

EVERY = 30.0
"""Seconds between two lines where there is no terminal."""
SILENCE = 60.0
"""Seconds without an answer until a log says so; each further time after twice as long."""


class ProgressBar(Progress):
    """On the error stream. A broken stream ends no run."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._failed = 0
        self._stream = Lenient(sys.stderr)
        self._live = self._stream.isatty()

    def phase(self, name: str) -> None:
        if self._live:
            say_loading(name, self._stream)

    def start(self, name: str, total: int) -> None:
        finish_line()
        self._failed = 0
        if not self._live:
            self._bar = _Lines(name, total, self._stream)
            return
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread that looks for slow bars: each tick looks at the clock itself
        self._bar = tqdm(total=total, desc=name, file=self._stream, mininterval=0.1, miniters=1)

    def tick(self, done: int, failed: int) -> None:
        if failed:
            self._failed += failed
            self._bar.set_postfix(failed=self._failed, refresh=False)
        self._bar.update(done + failed)

    def stop(self) -> None:
        self._bar.close()


class _Lines:
    """The progress of a phase in lines of a log: "mm-eval: answering: 1,200 of 2,374 (51%), 12.3/s, 1:35 left, 2 failed"."""

    def __init__(self, name: str, total: int, stream: Lenient) -> None:
        self._name, self._total, self._stream = name, total, stream
        self._done = self._failed = 0
        self._began = self._last = self._answered = time.monotonic()
        self._before = 0
        self._patience, self._closed = SILENCE, False
        threading.Thread(target=_watch, args=(weakref.ref(self),), name="progress", daemon=True).start()

    def set_postfix(self, failed: int, refresh: bool) -> None:
        self._failed = failed

    def update(self, count: int) -> None:
        self._done += count
        now = self._answered = time.monotonic()
        self._patience = SILENCE
        if now - self._last >= EVERY and self._done < self._total:
            rate = (self._done - self._before) / (now - self._last)
            left = f", {clock((self._total - self._done) / rate)} left" if rate else ""
            share = 100 * self._done // self._total
            self._say(f"{self._done:,} of {self._total:,} ({share}%), {_rate(rate)}{left}")
            self._last, self._before = now, self._done

    def close(self) -> None:
        """Says how long a phase took of which a line was printed."""
        self._closed = True
        seconds = time.monotonic() - self._began
        if seconds >= EVERY:
            self._say(f"{self._done:,} of {self._total:,} in {clock(seconds)}, {_rate(self._done / seconds)}")

    def look(self) -> bool:
        """Says that nothing comes, if it does not. Whether there is more to wait for."""
        silent = time.monotonic() - self._answered
        if silent >= self._patience and not self._closed and self._done < self._total:
            self._patience = 2 * silent
            self._say(f"{self._done:,} of {self._total:,}, no answer for {clock(silent)}")
        return not self._closed

    def _say(self, text: str) -> None:
        failed = f", {self._failed:,} failed" if self._failed else ""
        print(f"mm-eval: {self._name}: {text}{failed}", file=self._stream, flush=True)


def _watch(lines: weakref.ref[_Lines]) -> None:
    """Looks at a phase until it is closed; one that broke off is not kept for it."""
    while True:
        time.sleep(SILENCE / 12)
        watched = lines()
        if watched is None or not watched.look():
            return
        del watched


def _rate(rate: float) -> str:
    """Requests a second, or a minute where they are slow."""
    return f"{rate:,.1f}/s" if rate >= 1 else f"{60 * rate:,.1f}/min"


def clock(seconds: float | None) -> str:
    """1:35 or 2:01:35; "?" for None. >>> clock(95)  gives  '1:35'"""
    if seconds is None:
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
