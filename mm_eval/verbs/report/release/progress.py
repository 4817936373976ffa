"""How far a release is: the task that each model is at, its rate, the time left of it and of all, failures and cost.

Models that run side by side have a line each on a terminal, drawn again in place; models in turn share one line. A log gets a
line a minute. The score of each task is printed as soon as the task ends. All of it goes to the error stream.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TextIO

from mm_eval.cli.progress import clock
from mm_eval.cli.say import Lenient, finish_line, show_line
from mm_eval.engine.progress import Progress
from mm_eval.values.safe import in_line
from mm_eval.values.words import of_all

MINUTE = 60.0
"""Seconds between two lines without a terminal."""
FRAME = 0.2
"""Seconds between two drawings on a terminal."""
RATE_OVER = 30.0
"""Seconds over which a rate is taken."""
ANSWERING = "answering"
REQUESTS = (ANSWERING, "judging")
"""Beginnings of the phases that make requests; in the others docs are counted."""
ENDS = {0: "done", 3: "done in part", 130: "interrupted"}
WIDTH = 80
"""Columns of a log, into which the scores of several tasks are put together."""


@dataclass
class ModelProgress:
    """How far one model is. what: the phase that it is in. dollars: None where unknown or nothing costs.

    size: the requests that it needs, as far as they were counted before it began; None if unknown.
    tasks: how many requests each of its tasks needs, in the order in which they are asked.
    asked, seconds: its answers of this launch, and how long they took. scores: of the tasks that have ended.
    marks: (time, done) of the last seconds, from which the rate is taken.
    """

    size: int | None = None
    what: str = "waiting"
    total: int = 0
    done: int = 0
    failed: int = 0
    dollars: float | None = None
    over: bool = False
    begun: bool = False
    tasks: dict[str, int] = field(default_factory=dict)
    asked: int = 0
    seconds: float = 0.0
    scores: dict[str, str] = field(default_factory=dict)
    marks: deque[tuple[float, int]] = field(default_factory=deque)

    def start(self, what: str, total: int, now: float) -> None:
        self.what, self.total, self.done = what, total, 0
        self.begun = self.begun or what.startswith(ANSWERING)
        self.marks = deque([(now, 0)])

    def tick(self, done: int, failed: int, dollars: float | None, now: float) -> None:
        self.done, self.failed = self.done + done + failed, self.failed + failed
        self.dollars = dollars if dollars is not None else self.dollars
        if self.what.startswith(ANSWERING) and self.marks:
            self.asked, self.seconds = self.asked + done + failed, self.seconds + now - self.marks[-1][0]
        self.marks.append((now, self.done))
        while len(self.marks) > 2 and now - self.marks[0][0] > RATE_OVER:
            self.marks.popleft()

    @property
    def runs(self) -> bool:
        return self.what != "waiting" and not self.over

    def rate(self, now: float) -> float:
        """Requests a second over the last seconds; 0 where none is known."""
        if self.over or not self.marks or now <= self.marks[0][0]:
            return 0.0
        return (self.done - self.marks[0][1]) / (now - self.marks[0][0])

    def left(self, now: float) -> float | None:
        """Seconds until this phase ends; None if unknown."""
        rate = self.rate(now)
        if self.begun and not self.total:
            return 0.0
        return (self.total - self.done) / rate if rate > 0 else None

    @property
    def at(self) -> str:
        """The phase, or the task that is being answered: "mme (3 of 10)"."""
        needed = {name: count for name, count in self.tasks.items() if count}
        if not self.what.startswith(ANSWERING) or not needed or self.over:
            return self.what
        place = min(bisect_right(list(accumulate(needed.values())), self.done), len(needed) - 1)
        return f"{list(needed)[place]} ({len(self.tasks) - len(needed) + place + 1} of {len(self.tasks)})"

    @property
    def share(self) -> str:
        return f"{100 * self.done // self.total}%"

    def words(self, now: float) -> str:
        """`mme (3 of 10) 1,200/2,374 51%, 12.3/s, 1:35 left, 2 failed, $0.31`"""
        parts = [self.at]
        if self.total and not self.over:
            parts[0] += f" {self.done:,}/{self.total:,} {self.share}"
            if (rate := self.rate(now)) > 0:
                parts += [f"{rate:,.1f}/s", f"{clock(self.left(now))} left"]
        return ", ".join([*parts, *self._silence(now), *_costs(self.failed, self.dollars)])

    def brief(self, now: float) -> str:
        """`mme (3 of 10) 51%, 1:35 left`"""
        if not self.total or self.over:
            return self.at
        left = self.left(now)
        parts = [f"{self.at} {self.share}", *([f"{clock(left)} left"] if left is not None else [])]
        return ", ".join([*parts, *self._silence(now)])

    def _silence(self, now: float) -> list[str]:
        waits = self.what.startswith(REQUESTS) and not self.over and self.marks and self.done < self.total
        silent = now - self.marks[-1][0] if waits else 0.0
        return [f"no answer for {clock(silent)}"] if silent >= MINUTE else []


def _costs(failed: int, dollars: float | None) -> list[str]:
    return [*([f"{failed:,} failed"] if failed else []), *([f"${dollars:,.2f}"] if dollars else [])]


class ReleaseProgress:
    """The view. `take` takes the events of a model's Progress; `draw` is called often and draws when it is time to.

    sizes: how many requests each model needs, where that is known. at_a_time: how many models run at a time; one of them has one
    line, which `draw` of another thread may draw while the model runs in this one.
    """

    def __init__(
        self,
        names: Sequence[str],
        stream: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
        sizes: Mapping[str, int] | None = None,
        at_a_time: int = 2,
    ) -> None:
        self.models = {name: ModelProgress((sizes or {}).get(name)) for name in names}
        self._at_a_time, self._lock = at_a_time, threading.RLock()
        self._stream, self._now = Lenient(stream or sys.stderr), now
        self._live = self._stream.isatty()
        self._drawn, self._next = 0, now() + (0 if self._live else MINUTE)
        self._unsaid: dict[str, dict[str, str]] = {}
        """{model: its new scores} that the log has not got yet."""

    def take(self, name: str, kind: str, values: Sequence[Any]) -> None:
        """An event: phase(name), tasks({task: requests}), start(name, total), tick(done, failed, dollars) or scored(task,
        score)."""
        model = self.models[name]
        with self._lock:
            if kind == "phase":
                model.start(f"loading {values[0]}", 0, self._now())
            elif kind == "tasks":
                model.tasks = dict(values[0])
            elif kind == "start":
                model.start(str(values[0]), int(values[1]), self._now())
            elif kind == "tick":
                done, failed, dollars = values
                model.tick(done, failed, dollars, self._now())
            elif kind == "scored":
                self._scored(name, *values)

    def _scored(self, name: str, task: str, score: str) -> None:
        """Prints the score of a task on a terminal; a log gets those of a minute together."""
        if self.models[name].scores.get(task) == score:
            return
        self.models[name].scores[task] = score
        self._unsaid.setdefault(name, {})[task] = score
        if self._live:
            self._say_scores()

    def _say_scores(self) -> None:
        """Prints the scores that are new, of several tasks in one line as far as it is wide enough."""
        unsaid, self._unsaid = self._unsaid, {}
        for name, scores in unsaid.items():
            line = ""
            for each in (f"{task} {score}" for task, score in scores.items()):
                if line and len(f"mm-eval: {name}: {line}; {each}") > WIDTH:
                    self.say(f"{name}: {line}")
                    line = ""
                line = f"{line}; {each}" if line else each
            self.say(f"{name}: {line}")

    def ended(self, name: str, code: int, numbers: bool) -> None:
        """A model ended with an exit code, with or without numbers."""
        with self._lock:
            self._say_scores()
            model = self.models[name]
            model.what, model.over = ENDS.get(code, "failed") if numbers or code == 130 else "no scores", True

    def say(self, text: str) -> None:
        """Prints a line above the view."""
        with self._lock, self.aside():
            print(f"mm-eval: {in_line(text)}", file=self._stream, flush=True)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Takes the view away while something else is printed on the terminal."""
        finish_line()
        if self._drawn:
            print(f"\x1b[{self._drawn}A\x1b[J", end="", file=self._stream, flush=True)
            self._drawn, self._next = 0, self._now()
        yield

    def leave(self) -> None:
        """The next view is drawn below what is there. Prints nothing, so a signal handler may call it."""
        self._drawn = 0

    def draw(self, last: bool = False) -> None:
        """Draws the view if it is time to. last: in any case, on a terminal."""
        with self._lock:
            self._draw(last)

    def _draw(self, last: bool) -> None:
        now = self._now()
        if now < self._next and not (last and self._live):
            return
        self._next = now + (FRAME if self._live else MINUTE)
        if not self._live:
            self._say_scores()
            running = [f"{name} {m.brief(now)}" for name, m in self.models.items() if m.runs]
            line = ": ".join(filter(None, [self._all(now, with_rate=False), in_line("; ".join(running))]))
            print(f"mm-eval: {line}", file=self._stream, flush=True)
            return
        columns, rows = shutil.get_terminal_size()
        if self._at_a_time == 1:
            show_line(in_line(self._line(now))[: columns - 1], self._stream)
            return
        lines = self._lines(now, max(1, rows - 2))
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        text = "".join(f"{in_line(line)[: columns - 1]}\x1b[K\n" for line in lines)
        print(f"{up}{text}\x1b[J", end="", file=self._stream, flush=True)
        self._drawn = len(lines)

    def _line(self, now: float) -> str:
        """`LLaVA (1 of 2): mme (3 of 10) 51%, 1:35 left, all about 4:10, 2 failed, $0.31`"""
        places = {name: place for place, name in enumerate(self.models, 1)}
        running = [name for name, model in self.models.items() if model.runs]
        parts = [f"{name} ({places[name]} of {len(places)}): {self.models[name].brief(now)}" for name in running[:1]]
        left = [f"all {left.removesuffix(' left')}"] if (left := self._left(now)) else []
        return ", ".join([*parts, *left, *self._costs()])

    def _lines(self, now: float, most: int) -> list[str]:
        """A line for each model and one for all; if not all fit, those that run come first."""
        width = min(40, max(map(len, self.models)))
        shown = list(self.models)
        if len(shown) > most - 1:
            order = sorted(shown, key=lambda name: (self.models[name].over, self.models[name].what == "waiting"))
            kept = set(order[: max(1, most - 1)])
            shown = [name for name in shown if name in kept]
        return [*(f"{name[:width]:<{width}}  {self.models[name].words(now)}" for name in shown), self._all(now)]

    def _all(self, now: float, with_rate: bool = True) -> str:
        """`2 of 5 models done, 48.1/s, about 1:35 left, 2 failed, $0.31`"""
        models = list(self.models.values())
        parts = [f"{of_all(sum(m.over for m in models), len(models), 'model')} done"]
        if with_rate and (rate := sum(m.rate(now) for m in models if m.what.startswith(REQUESTS))):
            parts.append(f"{rate:,.1f}/s")
        return ", ".join([*parts, *filter(None, [self._left(now)]), *self._costs()])

    def _costs(self) -> list[str]:
        models = self.models.values()
        return _costs(sum(m.failed for m in models), sum(m.dollars or 0 for m in models))

    def _left(self, now: float) -> str:
        """The time until all models have their answers: "about 4:10 left", or "at least", or "" where nothing is known.

        A model that has not begun is taken to be as quick a request as the others are on average.
        """
        open_models = [model for model in self.models.values() if not model.over]
        lefts = {id(model): model.left(now) for model in open_models}
        known = [left for left in lefts.values() if left is not None]
        asked, seconds = (sum(getattr(m, name) for m in self.models.values()) for name in ("asked", "seconds"))
        later = [model for model in open_models if lefts[id(model)] is None and model.size != 0]
        if any(model.size is None or model.begun for model in later) or (later and not (asked and seconds)):
            return f"at least {clock(max(known))} left" if known else ""
        if not known and not later:
            return ""
        waiting = [(model.size or 0) * seconds / asked for model in later]
        longest = max([*known, *waiting])
        return f"about {clock(max(longest, sum([*known, *waiting]) / self._at_a_time))} left"


class ModelInTurn(Progress):
    """What a model that runs in this process tells the view. The view is drawn by a thread meanwhile."""

    shows_scores = True

    def __init__(self, view: ReleaseProgress, name: str) -> None:
        self._view, self._name = view, name
        self._dollars: Callable[[], float | None] = lambda: None

    def phase(self, name: str) -> None:
        self._view.take(self._name, "phase", [name])

    def tasks(self, requests: Mapping[str, int]) -> None:
        self._view.take(self._name, "tasks", [requests])

    def scored(self, name: str, score: str) -> None:
        self._view.take(self._name, "scored", [name, score])

    def priced(self, dollars: Callable[[], float | None]) -> None:
        self._dollars = dollars

    def start(self, name: str, total: int) -> None:
        self._view.take(self._name, "start", [name, total])

    def tick(self, done: int, failed: int) -> None:
        self._view.take(self._name, "tick", [done, failed, self._dollars()])

    @contextmanager
    def drawn(self) -> Iterator[None]:
        """Has the view drawn while the model runs."""
        ended = threading.Event()

        def draw() -> None:
            while not ended.wait(FRAME):
                self._view.draw()

        thread = threading.Thread(target=draw, name="release", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            finish_line()
