"""Shows how far a run is on the error stream: a bar on a terminal, elsewhere a line every 30 seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mm_eval.cli.streams import Lenient, finish_line, say_loading


class ProgressBar:
    """A Progress on the error stream. `tick` may be called from any one thread. A broken stream ends no run."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._failed = 0
        self._stream: Any = Lenient(sys.stderr)
        self._live = self._stream.isatty()

    def phase(self, name: str) -> None:
        """Shows what happens before the first request: loading data, loading the model."""
        if self._live:
            say_loading(name, self._stream)

    def priced(self, dollars: Callable[[], float | None]) -> None:
        """Takes a function that gives the dollars spent; a bar does not show them."""

    def start(self, name: str, total: int) -> None:
        from tqdm import tqdm

        tqdm.monitor_interval = 0  # no thread that looks for slow bars: each tick looks at the clock itself
        finish_line()
        self._failed = 0
        self._bar = tqdm(
            total=total,
            desc=name,
            file=self._stream,
            mininterval=0.1 if self._live else 30,
            miniters=1,
            ncols=None if self._live else 100,
            leave=self._live,
            delay=0 if self._live else 30,
        )

    def tick(self, done: int, failed: int) -> None:
        if failed:
            self._failed += failed
            self._bar.set_postfix(failed=self._failed, refresh=False)
        self._bar.update(done + failed)

    def stop(self) -> None:
        self._bar.close()
