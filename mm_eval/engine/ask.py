"""Asks a model what is owed and records each answer: plan, ask, record.

The journal is in the path of every answer, and nothing else is: no answer waits in memory for a batch, a task or a run to end.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby
from numbers import Real
from types import FrameType
from typing import Any

from mm_eval.engine.cache import AnswerCache
from mm_eval.engine.journal import Journal, JournalState, answer_record, error_record, slots_record
from mm_eval.engine.model import Answers, Model, request_key
from mm_eval.errors import MMEvalError, ModelError
from mm_eval.types import Answer, Instance

log = logging.getLogger(__name__)

SHOWN_FAILURES = 5
"""Failures that are told as they happen; a table's foot and the samples tell all."""


@dataclass
class Outcome:
    """What one pass over the instances came to.

    reused: slots that were answered by an earlier launch. asked: requests that went to the model. shared: slots that a
        request for another slot filled, since the question was the same. cached: answers that another run had already.
    stopped: the error that ended the run early. interrupted: the user did.
    """

    reused: int = 0
    asked: int = 0
    shared: int = 0
    cached: int = 0
    answered: int = 0
    failed: int = 0
    stopped: MMEvalError | None = None
    interrupted: bool = False

    def counts(self) -> dict[str, int]:
        """The numbers alone."""
        return {name: getattr(self, name) for name in COUNTS}

    def add(self, others: Iterable[Mapping[str, int]], dead: list[int], interrupted: bool) -> None:
        """Takes in what the other processes of a launch came to; what a dead one owed is owed still."""
        for other in others:
            for name in COUNTS:
                setattr(self, name, getattr(self, name) + other[name])
        if dead and self.stopped is None:
            ranks = ", ".join(map(str, dead))
            hint = "The same command asks what they owed."
            self.stopped = ModelError(f"no sign of life from rank {ranks}.", hint=hint)
        self.interrupted = self.interrupted or interrupted

    def hold_to(self, fail_at: int, elsewhere: int = 0) -> None:
        """Stops the run once `fail_at` requests have failed, those of other processes with them."""
        if self.stopped is None and (failed := self.failed + elsewhere) >= fail_at:
            self.stopped = ModelError(
                f"{failed} requests have failed, and --fail_on_error stops the run at {fail_at}.",
                hint="What was answered is kept; the same command asks the rest again.",
            )


COUNTS = ("reused", "asked", "shared", "cached", "answered", "failed")


@dataclass
class StopSignal:
    """SIGINT or SIGTERM: the first asks to stop after what is in flight, the second stops at once.

    tell: called at the first, for who waits for something that is in flight.
    """

    requested: bool = False
    tell: Callable[[], None] = lambda: None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self.tell()
        log.warning("Stopping: what is in flight is still recorded. Once more to stop at once.")

    @contextmanager
    def listening(self) -> Iterator[StopSignal]:
        """Handles the signals inside the with-block; only the main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class Asker:
    """One model, one journal: asks each question once and puts its answer in every slot that it fills.

    tick: called with (answered, failed) counts of slots once they are on disk, from the journal's thread.
    fail_at: the run stops when so many slots have failed (`--fail_on_error`); None: never.
    failed_elsewhere: how many have failed in the other processes of the launch, as far as is known here.
    cache: greedy answers of other runs (`--use_cache`).
    """

    model: Model
    journal: Journal
    state: JournalState
    stop: StopSignal = field(default_factory=StopSignal)
    tick: Callable[[int, int], None] = lambda answered, failed: None
    fail_at: int | None = None
    cache: AnswerCache | None = None
    outcome: Outcome = field(default_factory=Outcome)
    failed_elsewhere: Callable[[], int] = lambda: 0
    _waiting: dict[int, tuple[str, list[Instance]]] = field(default_factory=dict)
    _shared: dict[str, list[Instance]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stop.tell = self.model.stop_soon

    @property
    def halted(self) -> bool:
        """No further question is asked; what is in flight is still recorded."""
        return self.stop.requested or self.outcome.stopped is not None

    def ask(self, instances: Iterable[Instance]) -> Outcome:
        """Asks what has no answer yet. Errors of the model end up in the outcome, those of the store are raised."""
        for kind, group in groupby(instances, key=lambda instance: instance.request_type):
            if self.halted:
                break
            self._ask_kind(kind, group)
        self.journal.drain()
        self.outcome.interrupted = self.stop.requested
        return self.outcome

    def _ask_kind(self, kind: str, group: Iterable[Instance]) -> None:
        ways: dict[str, Callable[[Iterable[Instance]], Answers]] = {
            "generate_until": self.model.generate,
            "loglikelihood": self.model.loglikelihood,
            "loglikelihood_rolling": self.model.loglikelihood_rolling,
        }
        pending, first = self._owed(group), None
        with model_boundary(self.outcome):
            first = next(pending, None)
        if first is None:
            return  # also what failed without the model, and what another run or slot has answered
        self.model.prepare_once()
        with model_boundary(self.outcome):
            for instance, response in ways[kind](chain([first], pending)):
                self._take(instance, response)
            for instance in [waiting[0] for _, waiting in self._waiting.values()]:
                if not self.halted:
                    self._take(instance, ModelError(f"{type(self.model).__name__} gave no answer to this request."))
        self._waiting.clear()
        self._shared.clear()

    def _owed(self, group: Iterable[Instance]) -> Iterator[Instance]:
        """The instances that the model has to see: not answered yet, and each question once."""
        for instance in group:
            self._hold_to_limit()
            if self.halted:
                return
            if self.state.answer(instance.slot) is not None:
                self.outcome.reused += 1
                continue
            if instance.error is not None:
                self._fail([instance], "", instance.error)
                continue
            key = request_key(self.model, instance)
            if self._known(key, instance):
                continue
            waiting = [instance]
            self._waiting[id(instance)] = key, waiting
            if self.model.shares(instance):
                self._shared[key] = waiting
            self.outcome.asked += 1
            yield instance

    def _known(self, key: str, instance: Instance) -> bool:
        """Whether the answer is here or on its way: from this run, or from the cache."""
        if self.model.shares(instance):
            if key in self._shared:
                self._shared[key].append(instance)
                self.outcome.shared += 1
                return True
            if key in self.state.answers:
                self._share(key, instance)
                return True
        found = self.cache.find(key, instance) if self.cache else None
        if found is None:
            return False
        self.outcome.cached += 1
        self._record_answer(key, [instance], found)
        return True

    def _take(self, instance: Instance, response: Answer | MMEvalError) -> None:
        if id(instance) not in self._waiting:
            raise ModelError(f"{type(self.model).__name__} answered a request that it was not asked: {instance.slot}.")
        key, waiting = self._waiting.pop(id(instance))
        self._shared.pop(key, None)
        if isinstance(response, Answer) and (fault := _fault(response, instance)):
            response = ModelError(fault)
        if isinstance(response, MMEvalError):
            self._fail(waiting, key, response)
            return
        record = self._record_answer(key, waiting, response)
        if self.cache:
            self.cache.put(record, instance)

    def _record_answer(self, key: str, waiting: list[Instance], response: Answer) -> dict[str, Any]:
        slots = [each.slot for each in waiting]
        record = answer_record(key, slots, waiting[0], response)
        self.outcome.answered += len(slots)
        self.journal.put(record, lambda: self.tick(len(slots), 0))
        self.state.add(record)
        return record

    def _share(self, key: str, instance: Instance) -> None:
        """One more slot for an answer that is on disk: the key's answer record stays the only one."""
        known = self.state.answers[key]
        self.outcome.shared += 1
        self.journal.put(slots_record(key, [instance.slot]), lambda: self.tick(1, 0))
        self.state.slots[instance.slot] = known

    def _fail(self, waiting: list[Instance], key: str, error: MMEvalError) -> None:
        first = waiting[0]
        error.located(f"{first.task} doc {first.doc_id}")
        if self.outcome.failed < SHOWN_FAILURES:
            log.warning("Failed: %s", error)
        elif self.outcome.failed == SHOWN_FAILURES:
            log.warning("Further failures are counted, and named in samples/.")
        record = error_record(key, [each.slot for each in waiting], first, error)
        self.outcome.failed += len(waiting)
        self.journal.put(record, lambda: self.tick(0, len(waiting)))
        self.state.add(record)
        self._hold_to_limit()

    def _hold_to_limit(self) -> None:
        if self.fail_at is not None:
            self.outcome.hold_to(self.fail_at, self.failed_elsewhere())


@contextmanager
def model_boundary(outcome: Outcome) -> Iterator[None]:
    """Whatever an adapter raises is the model's failure: it ends the asking, never the answers that are there."""
    try:
        yield
    except MMEvalError as error:
        if error.owner == "store":
            raise
        outcome.stopped = error
    except Exception as error:  # an adapter is foreign code, and this is its one boundary
        log.debug("The adapter raised:", exc_info=True)
        outcome.stopped = ModelError(f"{type(error).__name__}: {error}")


def _fault(response: Answer, instance: Instance) -> str:
    """What is wrong with the form of an answer; empty when nothing is."""
    output: Any = response.output
    if instance.request_type == "generate_until":
        return "" if isinstance(output, str) else f"a generated answer must be text, not {output!r}."
    if not (isinstance(output, tuple) and len(output) == 2):
        return f"a log-likelihood must be (number, is_greedy), not {output!r}."
    try:
        ll = float(output[0]) if isinstance(output[0], Real) and not isinstance(output[0], bool) else None
    except OverflowError:
        ll = None
    if ll is None:
        return f"a log-likelihood must be (number, is_greedy), not {output!r}."
    if ll > 1e-3:
        return f"a log-likelihood is at most 0, and this is {ll!r}: is it a loss?"
    return "" if ll == ll else "the log-likelihood is NaN."
