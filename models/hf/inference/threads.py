"""How many threads a model computes with on a CPU: one or all of torch's, whichever makes a small step sooner.

A small model's steps are too short to be shared, and on a machine with other work a step ends when its last thread was
scheduled. So a step is timed both ways when the model is loaded, and again when it takes another time than it did.
"""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import torch

from .runtime import FAILURES

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)

TOKENS = 64
"""Tokens of the step that is timed: about a step of a full batch, or a short prompt."""
TIMES = 5
BETTER = 1.1
"""All threads must be so many times as fast as one: they also cost more CPU seconds."""
CHANGED = 1.3
"""The step is timed both ways again when it takes so many times as long as it did, or as short."""
PAUSE, SHARE = 10.0, 0.01
"""Seconds between two looks at least, and the share of time that looking takes at most."""


class Threads:
    """The threads of a loaded model. step: a part of its work. number: how many it has.

    known: the number of the launch that began the run, with which this one begins where there are so many.
    """

    def __init__(self, step: Callable[[], object], known: int | None = None) -> None:
        self._step, self._before = step, torch.get_num_threads()
        self.number = min(known or self._before, self._before)
        self._usual: float | None = None  # seconds of the step
        self._next_look = 0.0
        torch.set_num_threads(self.number)
        with suppress(*FAILURES):  # a model that takes no text alone
            self._step()
            if known is None and self._before > 1:
                self._choose()
        torch.set_num_threads(self.number)  # a step may have failed between the two

    def look(self) -> None:
        """Times a step if some time has passed, and chooses again if the machine has become busy or idle. Between two batches."""
        began = time.monotonic()
        if began < self._next_look or self._before == 1:
            return
        with suppress(*FAILURES):
            seconds = self._seconds(self.number, 1)
            usual, self._usual = self._usual, self._usual or seconds
            if usual is not None and not usual / CHANGED < seconds < usual * CHANGED:
                self._choose()
        torch.set_num_threads(self.number)
        self._pause(began)

    def close(self) -> None:
        """Gives torch the number that it had."""
        torch.set_num_threads(self._before)

    def _choose(self) -> None:
        began, before = time.monotonic(), self.number
        pairs = [(self._seconds(1, 1), self._seconds(self._before, 1)) for _ in range(TIMES)]
        one, all_of_them = (statistics.median(each) for each in zip(*pairs, strict=True))
        self.number, self._usual = (self._before, all_of_them) if one > BETTER * all_of_them else (1, one)
        torch.set_num_threads(self.number)
        level = logging.INFO if self.number != before else logging.DEBUG
        what = "%d of %d threads: a step of %d tokens takes %.1f ms with one and %.1f ms with all."
        logger.log(level, what, self.number, self._before, TOKENS, 1000 * one, 1000 * all_of_them)
        self._pause(began)

    def _seconds(self, threads: int, times: int) -> float:
        torch.set_num_threads(threads)
        began = time.perf_counter()
        for _ in range(times):
            self._step()
        return (time.perf_counter() - began) / times

    def _pause(self, began: float) -> None:
        now = time.monotonic()
        self._next_look = now + max(PAUSE, (now - began) / SHARE)


def step_of(model: PreTrainedModel) -> Callable[[], object]:
    """A step of a loaded model: a short text."""
    tokens = torch.ones((1, TOKENS), dtype=torch.long)

    def step() -> object:
        with torch.inference_mode():
            return model(input_ids=tokens, use_cache=False)

    return step
