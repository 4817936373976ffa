"""One view over the models of a release that run side by side: how far each is, its rate, the time left, failures and cost.

On a terminal a line a model, drawn again in place; elsewhere a line a minute. It goes to the error stream.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from mm_eval.cli.progress import clock
from mm_eval.cli.say import Lenient
from mm_eval.values.safe import in_line
from mm_eval.values.words import of_all

MINUTE = 60.0
"""Seconds between two lines without a terminal."""
FRAME = 0.2
"""Seconds between two drawings on a terminal."""
RATE_OVER = 30.0
"""Seconds over which a rate is taken."""
REQUESTS = ("answering", "judging")
"""Beginnings of the phases that make requests; in the others docs are counted."""
ENDS = {0: "done", 3: "done in part", 130: "interrupted"}


@dataclass
class ModelProgress:
    """How far one model is. what: the phase that it is in. dollars: None where unknown or nothing costs.

    marks: (time, done) of the last seconds, from which the rate is taken.
    """

    what: str = "waiting"
    total: int = 0
    done: int = 0
    failed: int = 0
    dollars: float | None = None
    over: bool = False
    marks: deque[tuple[float, int]] = field(default_factory=deque)

    def start(self, what: str, total: int, now: float) -> None:
        self.what, self.total, self.done = what, total, 0
        self.marks = deque([(now, 0)])

    def tick(self, done: int, failed: int, dollars: float | None, now: float) -> None:
        self.done, self.failed = self.done + done + failed, self.failed + failed
        self.dollars = dollars if dollars is not None else self.dollars
        self.marks.append((now, self.done))
        while len(self.marks) > 2 and now - self.marks[0][0] > RATE_OVER:
            self.marks.popleft()

    def rate(self, now: float) -> float:
        """Requests a second over the last seconds; 0 where none is known."""
        if self.over or not self.marks or now <= self.marks[0][0]:
            return 0.0
        return (self.done - self.marks[0][1]) / (now - self.marks[0][0])

    def left(self, now: float) -> float | None:
        """Seconds until this phase ends; None if unknown."""
        rate = self.rate(now)
        return (self.total - self.done) / rate if rate > 0 else None

    def words(self, now: float) -> str:
        """`answering 1,200/2,374 51%, 12.3/s, 1:35 left, 2 failed, $0.31`"""
        parts = [self.what]
        if self.total and not self.over:
            parts[0] += f" {self.done:,}/{self.total:,} {100 * self.done // self.total}%"
            if (rate := self.rate(now)) > 0:
                parts += [f"{rate:,.1f}/s", f"{clock(self.left(now))} left"]
        return ", ".join([*parts, *_costs(self.failed, self.dollars)])


def _costs(failed: int, dollars: float | None) -> list[str]:
    return [*([f"{failed:,} failed"] if failed else []), *([f"${dollars:,.2f}"] if dollars else [])]


class ReleaseProgress:
    """The view. `take` takes the events of a model's Progress; `draw` is called often and draws when it is time to."""

    def __init__(self, names: Sequence[str], stream: Any = None, now: Callable[[], float] = time.monotonic) -> None:
        self.models = {name: ModelProgress() for name in names}
        self._stream, self._now = Lenient(stream or sys.stderr), now
        self._live = self._stream.isatty()
        self._drawn, self._next = 0, now() + (0 if self._live else MINUTE)

    def take(self, name: str, kind: str, values: Sequence[Any]) -> None:
        """An event: phase(name), start(name, total), or tick(done, failed, dollars)."""
        model = self.models[name]
        if kind == "phase":
            model.what, model.total = f"loading {values[0]}", 0
        elif kind == "start":
            model.start(str(values[0]), int(values[1]), self._now())
        elif kind == "tick":
            done, failed, dollars = values
            model.tick(done, failed, dollars, self._now())

    def ended(self, name: str, code: int, numbers: bool) -> None:
        """A model ended with an exit code, with or without numbers."""
        model = self.models[name]
        model.what, model.over = ENDS.get(code, "failed") if numbers or code == 130 else "no scores", True

    def say(self, text: str) -> None:
        """Prints a line above the view."""
        with self.aside():
            print(f"mm-eval: {in_line(text)}", file=self._stream, flush=True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Takes the view away while something else is printed on the terminal."""
        if self._drawn:
            print(f"\x1b[{self._drawn}A\x1b[J", end="", file=self._stream, flush=True)
            self._drawn, self._next = 0, self._now()
        yield

    def leave(self) -> None:
        """The next view is drawn below what is there. Prints nothing, so a signal handler may call it."""
        self._drawn = 0

    def draw(self, last: bool = False) -> None:
        """Draws the view if it is time to. last: in any case, on a terminal."""
        now = self._now()
        if now < self._next and not (last and self._live):
            return
        self._next = now + (FRAME if self._live else MINUTE)
        if not self._live:
            running = [
                f"{name} {m.words(now)}" for name, m in self.models.items() if m.what != "waiting" and not m.over
            ]
            print(f"mm-eval: {self._all(now)}: {in_line('; '.join(running))}", file=self._stream, flush=True)
            return
        columns, rows = shutil.get_terminal_size()
        lines = self._lines(now, max(1, rows - 2))
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        text = "".join(f"{in_line(line)[: columns - 1]}\x1b[K\n" for line in lines)
        print(f"{up}{text}\x1b[J", end="", file=self._stream, flush=True)
        self._drawn = len(lines)

    def _lines(self, now: float, most: int) -> list[str]:
        """A line for each model and one for all; if not all fit, those that run come first."""
        width = min(40, max(map(len, self.models)))
        shown = list(self.models)
        if len(shown) > most - 1:
            order = sorted(shown, key=lambda name: (self.models[name].over, self.models[name].what == "waiting"))
            kept = set(order[: max(1, most - 1)])
            shown = [name for name in shown if name in kept]
        return [*(f"{name[:width]:<{width}}  {self.models[name].words(now)}" for name in shown), self._all(now)]

    def _all(self, now: float) -> str:
        """`2 of 5 models done, 48.1/s, at least 1:35 left, 2 failed, $0.31`"""
        models = list(self.models.values())
        parts = [f"{of_all(sum(m.over for m in models), len(models), 'model')} done"]
        if rate := sum(m.rate(now) for m in models if m.what.startswith(REQUESTS)):
            parts.append(f"{rate:,.1f}/s")
        if lefts := [left for m in models if not m.over and (left := m.left(now)) is not None]:
            parts.append(
                f"{'at least ' if len(lefts) < sum(not m.over for m in models) else ''}{clock(max(lefts))} left"
            )
        return ", ".join([*parts, *_costs(sum(m.failed for m in models), sum(m.dollars or 0 for m in models))])
