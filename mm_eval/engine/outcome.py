"""What came of a pass over the instances, and how it is stopped: by the user, by failures, by the adapter."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from types import FrameType

from mm_eval.engine.own_code import line_in
from mm_eval.values.errors import MMEvalError, ModelError, kind_and_text
from mm_eval.values.words import counted

log = logging.getLogger(__name__)

STOPPING = "Stopping: requests in flight are still recorded. Interrupt again to stop at once."


@dataclass
class Outcome:
    """The counts of one pass over the instances.

    reused: slots with an answer from an earlier launch. requested: requests that went to the model. shared: slots filled by the
        request of another slot with the same question. cached: answers from another run.
    answered, failed: slots that got an answer, or a failure, in this pass.
    stopped: the error that ended the run early. interrupted: by the user. waiting: for what the run waits before its results; the
        same command goes on.
    verdicts: the same of the judges' questions; None where none was asked.
    undecided: why a comparison ended without a decision.
    """

    reused: int = 0
    requested: int = 0
    shared: int = 0
    cached: int = 0
    answered: int = 0
    failed: int = 0
    stopped: MMEvalError | None = None
    interrupted: bool = False
    waiting: str = ""
    verdicts: Outcome | None = None
    undecided: MMEvalError | None = None

    @property
    def all_requested(self) -> int:
        """The requests to the model and to its judges."""
        return self.requested + (self.verdicts.requested if self.verdicts else 0)

    @property
    def ended_early(self) -> bool:
        """Whether an error ended the answers, the verdicts or a comparison."""
        return bool(self.stopped or self.undecided or self.verdicts and self.verdicts.stopped)

    def counts(self) -> dict[str, int]:
        """The counts as ranks exchange them."""
        own = {name: getattr(self, name) for name in COUNTS}
        verdicts = self.verdicts.counts() if self.verdicts else {}
        return {**own, **{f"judge_{name}": count for name, count in verdicts.items()}}

    def add(self, others: Iterable[Mapping[str, int]]) -> None:
        """Adds the counts of the launch's other processes."""
        for counts in others:
            for name in COUNTS:
                setattr(self, name, getattr(self, name) + counts[name])
                if self.verdicts:
                    setattr(self.verdicts, name, getattr(self.verdicts, name) + counts.get(f"judge_{name}", 0))

    def hold_to(self, fail_at: int, elsewhere: int = 0) -> None:
        """Stops the run once `fail_at` requests have failed. elsewhere: failures in other processes."""
        if self.stopped is None and (failed := self.failed + elsewhere) >= fail_at:
            self.stopped = ModelError(
                f"{counted(failed, 'request has', 'requests have')} failed, and --fail_on_error stops the run at {fail_at}.",
                hint="The answers are kept; the same command requests the rest again.",
            )


COUNTS = ("reused", "requested", "shared", "cached", "answered", "failed")
"""The counts of an `Outcome`."""


@dataclass
class StopSignal:
    """SIGINT, SIGTERM or SIGHUP (the terminal is gone): the first one stops after the requests in flight, the second one at once.

    notify: called at the first one.
    """

    requested: bool = False
    notify: Callable[[], None] = lambda: None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self.notify()
        log.warning(STOPPING)

    @contextmanager
    def listening(self) -> Iterator[StopSignal]:
        """Handles the signals inside the with-block. Only the main thread can; in others this does nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        under_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        numbers = (signal.SIGINT, signal.SIGTERM, *(() if under_nohup else (signal.SIGHUP,)))
        before = {number: signal.signal(number, self) for number in numbers}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def model_boundary(outcome: Outcome) -> Iterator[None]:
    """Turns whatever an adapter raises into a failure of the model, which ends the requests and keeps the answers."""
    try:
        yield
    except MMEvalError as error:
        if error.owner == "store":
            raise
        outcome.stopped = error
    except (Exception, SystemExit) as error:  # an adapter is foreign code, and this is its one boundary
        log.debug("The adapter raised:", exc_info=True)
        outcome.stopped = ModelError(kind_and_text(error), where=line_in(error))


def failure_limit(fail_on_error: bool | int | float, total: int) -> int | None:
    """The number of failed requests that stops a run of `total`; a share is reached when at least so much has failed.

    >>> failure_limit(0.07, 100), failure_limit(True, 100), failure_limit(False, 100)
    (7, 1, None)
    """
    if fail_on_error is False:
        return None
    return (
        max(1, ceil(Fraction(str(fail_on_error)) * total)) if isinstance(fail_on_error, float) else int(fail_on_error)
    )
