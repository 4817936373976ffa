"""Requests the pending answers from a model and records each one as it comes.

Every answer goes straight into the journal: none waits in memory for the end of a batch, a task or a run. (Those to the choices
of one doc may wait for each other, a second or two at most.) An answer that another slot of the run, or another run
(`--use_cache`), has already is not requested again.

In a conversation each answer makes the next request (`Instance.then`). It is asked before further docs, as soon as the model
takes one more: so the conversations of different docs run side by side, and no round waits for another one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from numbers import Real
from time import monotonic
from typing import Any, NamedTuple

from mm_eval.engine.cache import KnownAnswers
from mm_eval.engine.held import ChoicesOfDoc, HeldAnswers
from mm_eval.engine.journal import Journal, JournalState
from mm_eval.engine.model import METHODS, Model, RequestKeys, deaf, prepare_once, shares, stop
from mm_eval.engine.next_turns import NextTurns
from mm_eval.engine.order import CheapestOrder, Question, in_docs, in_questions
from mm_eval.engine.outcome import Outcome, StopSignal, model_boundary
from mm_eval.engine.own_code import is_own, line_at, line_of
from mm_eval.engine.records import answer_record, digest_of_answer, end_record, now, slots_record
from mm_eval.values.errors import LongPrompt, MMEvalError, ModelError
from mm_eval.values.types import Answer, End, Fields, Instance, UpperBound

log = logging.getLogger(__name__)

SHOWN_FAILURES = 5
"""Failures that are logged as they happen. The table's footer and the samples report all."""


class _Asked(NamedTuple):
    """A request in flight: its key, the instances whose slots its answer fills, itself first, its doc, and when it was made.

    findings: those of the model's facts by then, on which the key depends.
    """

    key: str
    filled: list[Instance]
    doc: ChoicesOfDoc | None
    since: float
    findings: Fields


@dataclass
class Asker:
    """One model, one journal: requests each question once and puts its answer into every slot that it fills.

    tick: called with (answered, failed) counts of slots once they are on disk, from the journal's thread.
    fail_at: the run stops when so many slots have failed (`--fail_on_error`). None: never.
    failed_elsewhere: the failures in the launch's other processes, as far as this one knows them.
    cache: answers of other runs (`--use_cache`).
    keep: gets the findings of the model's facts whenever they have changed, before an answer that was made with them is recorded.
    over_budget: the error that ends the run once the budget is spent; None before.
    settled: called with the task of each request that is answered or has failed, a conversation once, by the thread that asks.
    """

    model: Model
    journal: Journal
    state: JournalState
    stop: StopSignal = field(default_factory=StopSignal)
    tick: Callable[[int, int], None] = lambda answered, failed: None
    fail_at: int | None = None
    cache: KnownAnswers = field(default_factory=KnownAnswers)
    outcome: Outcome = field(default_factory=Outcome)
    failed_elsewhere: Callable[[], int] = lambda: 0
    over_budget: Callable[[], MMEvalError | None] = lambda: None
    keep: Callable[[Fields], None] = lambda findings: None
    settled: Callable[[str], None] = lambda task: None
    _kept: Mapping[str, object] = field(default_factory=dict)
    _in_flight: dict[int, _Asked] = field(default_factory=dict)
    """By id(instance) of each request."""
    _by_key: dict[str, list[Instance]] = field(default_factory=dict)
    """The same lists by key, where the model lets equal questions share an answer."""
    _turns: NextTurns = field(default_factory=NextTurns)
    _kind: str = ""  # of the requests that are asked
    _given: Any = None  # what the model's method gave, a generator for most

    def __post_init__(self) -> None:
        self._keys = RequestKeys(self.model)
        self.stop.notify = partial(stop, self.model, at_once=True)
        self._held = HeldAnswers(self.journal, self.tick)

    @property
    def halted(self) -> bool:
        """Whether no further request is made. Those in flight are still recorded."""
        return self.stop.requested or self.outcome.stopped is not None

    def ask(self, instances: Iterable[Instance]) -> Outcome:
        """Requests the pending answers. Errors of the model are reported in the outcome; StoreErrors are raised."""
        source = instances if isinstance(instances, CheapestOrder) else None
        try:
            for kind, group in groupby(self._questions(instances), key=lambda question: question[0].request_type):
                if self.halted:
                    break
                self._ask_kind(kind, group, source)
        finally:
            self._held.close()
        self.journal.drain()
        self.outcome.interrupted = self.stop.requested
        return self.outcome

    def _questions(self, instances: Iterable[Instance]) -> Iterator[Question]:
        """The instances by question where their answers come together, or where they are prepared so."""
        if isinstance(instances, CheapestOrder):
            return iter(instances.question, None)
        if self.model.facts.together:
            return (question for doc in in_docs(instances) for question in in_questions(doc))
        return ([instance] for instance in instances)

    def _ask_kind(self, kind: str, group: Iterable[Question], source: CheapestOrder | None) -> None:
        """source: what the group is taken from, if it says whether the next question is there."""
        questions, name = iter(group), type(self.model).__name__
        self._kind, self._turns = kind, NextTurns()
        requests = Requests(lambda own: self._requests(self._with_next_turns(questions, own)), source, self._turns)
        while True:
            needed = False
            with model_boundary(self.outcome):
                needed = requests.found()
            if not needed and self._turns and not self.halted:
                continue  # the last instance was answered before, and it continues, or has come to its end
            if not needed:
                break  # no instance that is left needs the model
            prepare_once(self.model)
            with model_boundary(self.outcome):
                try:
                    self._given = self._answers(getattr(self.model, METHODS[kind])(requests))
                    for given in self._given:
                        if not isinstance(given, (tuple, list)) or len(given) != 2:
                            raise self._not_asked(given)
                        self._receive(given[0], given[1])
                finally:  # an error, or a run that was stopped, may come within a doc
                    self._held.write()
                for asked in list(self._in_flight.values()):
                    if not self.halted:
                        none = ModelError(f"{name} gave no answer to this request.", hint=self._see())
                        self._receive(asked.filled[0], none)
            self._in_flight.clear()
            self._by_key.clear()
            if self.halted or not self._turns:
                break  # else the model had taken all that was there, and its last answers have made more

    def _with_next_turns(self, questions: Iterator[Question], requests: Requests) -> Iterator[Question | None]:
        """The questions, and before each of them the next turns of the conversations that have been answered by then.

        None for an adapter that does not wait, while there is none.
        """
        while True:
            turn = None
            if self._turns:
                turn = self._turns.take(lambda: self.stop.requested) if requests.waits else self._turns.take_made()
            if turn is not None:
                answered, answer, following = turn
                if isinstance(following, End):
                    self._end(answered, answer, following)
                else:
                    yield [following]
            elif not requests.ready():
                yield None
            elif (question := next(questions, None)) is not None:
                yield question
            elif self._turns:
                yield None
            else:
                return

    def _requests(self, group: Iterable[Question | None]) -> Iterator[Instance | None]:
        """The instances that the model must answer: those without an answer, each question once. None while there is none."""
        for question in group:
            if question is None:
                yield None
                continue
            doc = self._held.begin(question) if self.model.facts.together else None
            for instance in question:
                self._check_limits()
                if self.halted:
                    return
                found = self.state.answer(instance.slot)
                if found is not None and self._still_asked(instance, found):
                    self.outcome.reused += 1
                    self._goes_on(instance, found)
                    if instance.then is None:
                        self.settled(instance.task)
                elif instance.error is not None:
                    self._fail([instance], "", instance.error)
                elif (
                    instance.heard and not self.model.facts.hears
                ):  # only a function of the task knows where there is sound
                    raise deaf(self.model)
                else:
                    known = dict(
                        self.model.facts.findings
                    )  # first: another thread may learn more while the key is made
                    key, shared = self._keys.of(instance), shares(self.model, instance)
                    if not self._has_answer(key, instance, shared):
                        filled = [instance]
                        self._in_flight[id(instance)] = _Asked(key, filled, doc, monotonic(), known)
                        if shared:
                            self._by_key[key] = filled
                        self.outcome.requested += 1
                        yield instance
                        continue
                self._held.settle(doc)

    def _has_answer(self, key: str, instance: Instance, shared: bool) -> bool:
        """Whether this question was answered, or requested, before: in this run, or in the cache. Fills the slot if so.

        shared: the answer to an equal question of the run may be taken.
        """
        if shared and (known := self._by_key.get(key)) is not None:
            known.append(instance)
            self.outcome.shared += 1
            return True
        if shared and self.state.answers.row(key) >= 0:
            self.outcome.shared += 1
            self._held.write_key(key)  # a slot counts as answered when its answer is in the journal, and not before
            at, found = self._at(instance), self.state.answers[key]
            tick = partial(self.tick, int(instance.then is None), 0)
            self.journal.put(slots_record(key, [instance.slot], at), tick)
            self.state.add(found, [instance.slot], at)
            self._goes_on(instance, found)
            if instance.then is None:
                self.settled(instance.task)
            return True
        answer = self.cache.find(key, instance)
        if answer is None:
            return False
        self.outcome.cached += 1
        self._record(key, [instance], answer)
        return True

    def _still_asked(self, instance: Instance, found: Answer) -> bool:
        """Whether a recorded answer is to this question. A turn's is not where an earlier turn had to be asked again."""
        return not instance.turn or found.key == self._keys.of(instance)

    def _goes_on(self, instance: Instance, answer: Answer) -> None:
        """Has the next turn made of a recorded answer, if it is one of a conversation."""
        if instance.then is not None:
            self._turns.add(instance, answer)

    def _end(self, last: Instance, answer: Answer, end: End) -> None:
        """Records the end of a conversation, which completes its doc."""
        first = last.slot._replace(turn=0)
        old = self.state.ends.get(first)
        if old != end or not self.state.complete(first):
            turns = [self.state.answer(first._replace(turn=turn)) for turn in range(end.turns)]
            said = tuple(digest_of_answer(each) for each in turns if each is not None)
            at = max(now(), old.at + 0.001 if old else 0.0)
            end = replace(end, key=answer.key, said=said, at=at)
            self.journal.put(end_record(answer.key, first, end), lambda: self.tick(1, 0))
            self.state.add_end(first, end)
            self.outcome.answered += 1
        self.settled(last.task)

    def _at(self, instance: Instance) -> float:
        """The time at which a turn is recorded, later than what its slot has; 0 outside of conversations."""
        if instance.messages is None:
            return 0.0
        old = self.state.slots.get(instance.slot)
        return max(now(), round(old.at + 0.001, 3) if old else 0.0)

    def _receive(self, instance: Instance, answer: Answer | MMEvalError) -> None:
        """Records what the model gave for an instance."""
        if (asked := self._in_flight.pop(id(instance), None)) is None:
            raise self._not_asked((instance, answer))
        key, instances, doc, since, known = asked
        self._by_key.pop(key, None)
        if not isinstance(answer, (Answer, MMEvalError)):
            what = (
                f"{self._method} gave {str(answer)[:60]!r} as the answer to {instance.slot.name} doc {instance.doc_id}"
            )
            raise ModelError(
                f"{what}; Answer({'text' if self._kind == 'generate_until' else '...'}) is needed.", where=self._line()
            )
        if (found := self.model.facts.findings) != self._kept:
            self.keep(found)
            self._kept = dict(found)
        if found != known:  # the endpoint may have refused a field of this very question
            key = self._keys.of(instance)
        if isinstance(answer, Answer):
            if fault := _fault(answer, instance, self.model):
                answer = ModelError(fault, hint=self._see())
        elif isinstance(answer, LongPrompt) and instance.ends_when_full:
            answer = Answer("", ended="length", attempts=answer.attempts)
        if isinstance(answer, MMEvalError):
            self._fail(instances, key, answer)
            self._held.settle(doc)
        else:
            self.cache.put(self._record(key, instances, answer, doc, monotonic() - since), instance)

    def _not_asked(self, given: object) -> ModelError:
        """The error of an adapter that gave something else than a request and its answer, such as the answers alone in a list."""
        name, where = type(self.model).__name__, self._line()
        if isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], Instance):
            asked = f"{given[0].slot.name} doc {given[0].doc_id}"
            return ModelError(
                f"{name} answered {asked}, which was not requested or has its answer already.", where=where
            )
        what = f"{self._method} gave {str(given)[:60]!r}"
        return ModelError(f"{what}; each thing that it yields is a pair (instance, answer).", where=where)

    @property
    def _method(self) -> str:
        """What answers the requests: "Echo.generate"."""
        return f"{type(self.model).__name__}.{METHODS[self._kind]}"

    def _answers(self, given: object) -> object:
        """What the model's method gave, if that can be iterated over."""
        if not isinstance(given, Iterable):
            what = f"{self._method} returned {type(given).__name__}; it yields (instance, answer) for each instance"
            raise ModelError(f"{what}.", where=self._line())
        return given

    def _line(self) -> str:
        """`file:line` at which a model of the user's gave its last answer; empty for mm-eval's own."""
        kind = type(self.model)
        return (line_at(self._given) or line_of(getattr(kind, METHODS[self._kind]))) if is_own(kind) else ""

    def _see(self) -> str:
        return f"See {line}." if (line := self._line()) else ""

    def _fail(self, instances: list[Instance], key: str, error: MMEvalError) -> None:
        first = instances[0]
        turn = f", turn {first.turn + 1}" if first.turn else ""
        error.located(f"{first.slot.name} doc {first.doc_id}{turn}")
        if self.outcome.failed < SHOWN_FAILURES:
            log.warning("Failed: %s", error)
        elif self.outcome.failed == SHOWN_FAILURES:
            log.warning("Further failures are counted, and listed in samples/.")
        self._record(key, instances, Answer(None, attempts=error.attempts, error=error))
        self._check_limits()

    def _record(
        self,
        key: str,
        instances: list[Instance],
        answer: Answer,
        doc: ChoicesOfDoc | None = None,
        seconds: float = 0.0,
    ) -> Answer:
        """Writes an answer or a failure to the journal, for the slots of the instances. Returns it complete.

        doc: an answer to one of its choices is held for a moment (`HeldAnswers`). seconds: that the answer took.
        """
        first, slots = instances[0], [instance.slot for instance in instances]
        output, images = answer.output, first.image_digests
        if isinstance(output, tuple):
            pair = (float(output[0]), bool(output[1]))
            output = UpperBound(pair) if isinstance(output, UpperBound) else pair
        answer = answer.having(
            output=output,
            key=key,
            images=images,
            turn_pictures=first.turn_pictures if images else (),
            clips=first.clips,
            heard=first.heard,
            turn_shown=first.turn_shown,
            messages=first.messages,
            at=0.0 if first.messages is None else self._at(first),
            seconds=round(seconds, 3),
        )
        failed = answer.error is not None
        whole = 0 if failed else sum([instance.then is None for instance in instances])  # conversations have an end
        self.outcome.answered += whole
        self.outcome.failed += len(slots) if failed else 0
        if doc is None or failed:
            self.journal.put(answer_record(answer, slots), partial(self.tick, whole, len(slots) if failed else 0))
            self.state.add(answer, slots)
        else:
            self.state.add(answer, slots)
            self._held.add(doc, answer, slots)
        if not failed and whole < len(slots):
            for instance in instances:
                self._goes_on(instance, answer)
        for instance in instances:
            if failed or instance.then is None:
                self.settled(instance.task)
        return answer

    def _check_limits(self) -> None:
        outcome = self.outcome
        if self.fail_at is not None:
            outcome.hold_to(self.fail_at, self.failed_elsewhere())
        outcome.stopped = outcome.stopped or self.over_budget()
        if outcome.stopped is not None:
            stop(self.model, at_once=False)


class Requests(Iterator[Instance]):
    """The requests that can be made by now. After its end it may have more: the next turns of what was answered since.

    An adapter that looks again whenever it has given an answer keeps its requests in flight until the last conversation ends.
    `next` waits until a request is prepared. An adapter that has others in flight takes them with `now`, and is woken.
    """

    def __init__(
        self, find: Callable[[Requests], Iterator[Instance | None]], source: CheapestOrder | None, turns: NextTurns
    ) -> None:
        self._find, self._now = find, find(self)
        self._source, self._turns = source, turns
        self._first: Instance | None = None
        self.waits = True

    def found(self) -> bool:
        """Whether there is one."""
        self._first = self._first or next(self, None)
        return self._first is not None

    def __next__(self) -> Instance:
        self.waits = True
        found = self._take()
        assert found is not None
        return found

    def now(self) -> Instance | None:
        """The next one, or None if it is still prepared: `wake` is called when it is worth asking again. Raises StopIteration."""
        self.waits = False
        return self._take()

    def wake_by(self, wake: Callable[[], None]) -> None:
        """Has a function called, from another thread, whenever there may be a request after `now` gave None."""
        self._turns.wake = wake
        if self._source is not None:
            self._source.wake = wake

    def ready(self) -> bool:
        """Whether the next instance is taken now: it is there, or may be waited for."""
        return self.waits or self._source is None or self._source.ready()

    def _take(self) -> Instance | None:
        if self._first is not None:
            found, self._first = self._first, None
            return found
        try:
            return next(self._now)
        except StopIteration:
            self._now = self._find(self)
            raise


def _fault(answer: Answer, instance: Instance, model: Model) -> str:
    """What is wrong with the form of an answer. Empty if nothing is."""
    output: Any = answer.output
    if answer.ended not in model.facts.endings:
        return f"it ended by {answer.ended!r}, which is not among the endings that {type(model).__name__} states."
    if instance.request_type == "generate_until":
        return "" if isinstance(output, str) else f"a generated answer must be text, not {output!r}."
    is_pair = isinstance(output, tuple) and len(output) == 2
    if is_pair and type(output[0]) is float and output[0] <= 0:
        return ""  # nearly all, and the rest of these questions takes longer
    try:
        ll = float(output[0]) if is_pair and isinstance(output[0], Real) and not isinstance(output[0], bool) else None
    except OverflowError:
        ll = None
    if ll is None:
        return f"a log-likelihood must be (number, is_greedy), not {output!r}."
    if ll > 1e-3:
        return f"a log-likelihood is at most 0, and this is {ll!r}: is it a loss?"
    return "" if ll == ll else "the log-likelihood is NaN."
