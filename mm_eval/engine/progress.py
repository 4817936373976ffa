"""What a run tells whoever watches it, and how long its requests took over all its launches."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from mm_eval.values.run_files import MOST_LINE, UNREADABLE, journal_files, json_value, open_regular


class Progress:
    """Shows how far a run is: this one nothing, `ProgressBar` in cli/progress.py on a terminal."""

    shows_scores = False
    """Whether `scored` shows anything. Where it does, the scores of a task are computed as soon as its last answer is there."""

    def phase(self, name: str) -> None:
        """What happens before the first request, such as "model"."""

    def tasks(self, requests: Mapping[str, int]) -> None:
        """The tasks that are asked next, in their order, and how many requests each of them still needs."""

    def scored(self, name: str, score: str) -> None:
        """A task, or a whole group, has its score. May be called again with the final one."""

    def priced(self, dollars: Callable[[], float | None]) -> None:
        """Takes a function that gives the price so far; None where it is unknown."""

    def start(self, name: str, total: int) -> None:
        """So many requests, or docs, are next."""

    def tick(self, done: int, failed: int) -> None:
        """So many more of them. May be called from any one thread."""

    def stop(self) -> None:
        """They are over."""


TAIL = 1 << 20
"""Bytes at the end of a file in which its last whole record is looked for."""


def answering(folder: Path) -> dict[str, float]:
    """{"started", "ended"} in seconds since 1970, and "seconds" in which at least one process asked. Empty without a record.

    A launch that was killed counts until its last record. Loading a model is not part of it.
    """
    spans = [span for path in journal_files(folder) if (span := _span(folder, path)) is not None]
    seconds, covered = 0.0, -math.inf
    for start, end in sorted(spans):
        seconds += max(0.0, end - max(start, covered))
        covered = max(covered, end)
    ends = [round(bound, 3) for span in spans for bound in span]
    return {"started": min(ends), "ended": max(ends), "seconds": round(seconds, 3)} if ends else {}


def _span(folder: Path, path: Path) -> tuple[float, float] | None:
    """When a file was opened, which its name says, and when its last record was written. None for a file without records."""
    with suppress(OSError), open_regular(folder, path) as file:
        first = _time([file.readline(MOST_LINE)])
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
        last = _time(reversed(file.read().splitlines()))
        if first is not None and last is not None:
            stated = path.stem.rpartition("-")[2]
            opened = int(stated) / 1e9 if stated.isdecimal() and len(stated) <= 20 else first
            return (opened if first - 86_400 < opened <= first else first), max(first, last)
    return None


def _time(lines: Iterable[bytes]) -> float | None:
    """The time of the first of these lines that is a record."""
    for line in lines:
        with suppress(*UNREADABLE):
            if math.isfinite(written := float(json_value(line)["t"])):
                return written
    return None
