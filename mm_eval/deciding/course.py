"""How a run asks look by look: which docs come next, when a look is complete, and when to wait."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from threading import Lock
from typing import TypeVar

from mm_eval.deciding.looks import Schedule, score_docs, write_look
from mm_eval.deciding.rules import Rule
from mm_eval.deciding.units import Leaf, TaskValues, Unit
from mm_eval.engine.order import WINDOW, CheapestOrder
from mm_eval.open_run import OpenedRun
from mm_eval.open_tasks import Asking, Pass, PendingDocs
from mm_eval.values.types import Answer, Instance, Slot

AHEAD, LEAST_AHEAD = 2, 256
"""How far a model may be ahead of the decision: two looks and, beside the others, at least so many docs, so that a server's
places stay filled while the answers of a look come in."""
IN_TURN = 4
"""A model that takes turns with others on this machine goes a quarter of the docs ahead: its weights are loaded for each turn."""
PAUSE = 0.2
"""Seconds between two looks at the other models' files."""
T = TypeVar("T")


@dataclass
class Course:
    """One launch of a run that may stop.

    together: all models that it waits for answer at this moment; None where it waits for none.
    values: this model's, on the docs of each look that is complete. waits: it can go on only after the others have.
    stopped: a grader could not go on, so that grades are missing and nothing more is decided in this launch.
    """

    opened: OpenedRun
    asking: Asking
    pending: PendingDocs
    rule: Rule
    schedule: Schedule
    units: list[Unit]
    together: bool | None
    values: list[Mapping[str, TaskValues]] = field(default_factory=list)
    waits: bool = False
    stopped: bool = False
    _graded: int = 0
    """Looks whose answers the graders have been asked about in this launch."""
    _asked: dict[tuple[str, int], dict[Slot, Answer | None]] = field(default_factory=dict)
    """{(task, doc) that this launch requests: what its slots held before}"""
    _left: list[tuple[str, int]] = field(default_factory=list)
    """Docs of the current look that were not done when it was last asked."""
    _complete: set[tuple[str, int]] = field(default_factory=set)
    _begun: int = -1
    _polled: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def keep(self, looks: Sequence[Mapping[str, TaskValues]]) -> None:
        """Takes over the looks of an earlier turn. What failed in them is requested again by the next launch only."""
        self.values += looks
        self._graded = len(looks)
        self._complete |= {(name, look) for look, values in enumerate(looks) for name in values}

    def passes(self) -> Iterator[Pass]:
        """The passes of the run, one after the other, until all is decided and asked. In between it waits for the others."""
        while not self.asking.stop.requested:
            self._advance(at_once=True)
            allowed = self._allowed
            if self._needs_verdicts and allowed > self._graded:
                # each doc once in a launch; answers of an earlier one may lack their verdicts, too
                yield Pass(self._requests(), self._asked_in(range(self._graded, allowed)))
                if (verdicts := self.asking.outcome.verdicts) is not None and verdicts.stopped:
                    self.stopped = True
                    return
                self._graded = allowed
            elif self._has_pending():
                yield Pass(self._requests(), self._asked_in(range(allowed), only_open=True))
            elif self.rule.over:
                return
            elif self.together:
                time.sleep(PAUSE)
            else:
                self.waits = True
                return
        self.asking.outcome.interrupted = True

    @cached_property
    def _needs_verdicts(self) -> bool:
        """Whether a look is complete only after the graders, who are asked after each pass."""
        return self.opened.judging is not None and bool(self.opened.judging.named_now)

    def _asked_in(self, looks: range, only_open: bool = False) -> dict[str, list[int]]:
        """The docs of some looks (from 0), as far as they are asked. only_open: those that are not done."""
        found: dict[str, list[int]] = {}
        for name, docs in self.schedule.looks.items():
            own = [look for look in looks if self._is_asked(name, look)]
            found[name] = sorted(d for look in own for d in (self._not_done(name, look) if only_open else docs[look]))
        return found

    @property
    def _allowed(self) -> int:
        """The looks of which docs may be requested now."""
        if self.rule.over:
            return self.schedule.count
        docs = sum(self.schedule.size(name, self.schedule.count) for name in self.opened.tasks)
        if self.together is False:
            ahead = max(AHEAD, -(-self.schedule.count // IN_TURN))
        elif self._needs_verdicts:
            ahead = 1
        else:
            ahead = max(AHEAD, -(-LEAST_AHEAD * self.schedule.count // max(1, docs)))
        return min(self.schedule.count, self.rule.look + ahead)

    def _is_asked(self, name: str, look: int) -> bool:
        """Whether a look (from 0) of a task is asked, as far as is decided."""
        ended = self.rule.ended_at(name)
        return ended is None or look < ended

    def _requests(self) -> Iterator[Instance]:
        """The requests of a pass. The order's thread writes them ahead; what was decided meanwhile is left out here."""

        def written() -> Iterator[Instance]:
            look = 0
            while look < self._allowed:
                for name in self._in_order(look):
                    if not self._is_asked(name, look):
                        continue
                    docs = self._not_done(name, look)
                    for doc_id, group in groupby(self.pending.requests(name, docs), key=lambda each: each.doc_id):
                        instances = list(group)
                        held = self.asking.state.result
                        self._asked[name, doc_id] = {each.slot: held(each.slot) for each in instances}
                        yield from instances
                look += 1

        size = max((len(docs) for looks in self.schedule.looks.values() for docs in looks), default=1)
        for instance in CheapestOrder(_locked(written(), self._lock), min(WINDOW, max(16, size))):
            if not self._needs_verdicts:
                with self._lock:
                    self._advance()
            name = self._names[instance.task]
            if self._is_asked(name, self._places[name][instance.doc_id]):
                yield instance

    def _in_order(self, look: int) -> list[str]:
        """The tasks, those with pictures first; the kinds of requests forth and back: a model answers one kind at a time."""
        names = sorted(self.opened.tasks, key=lambda name: not self.opened.tasks[name].has_pictures)
        kinds = list(dict.fromkeys(self.opened.tasks[name].config.output_type for name in names))
        kinds = kinds if look % 2 == 0 else kinds[::-1]
        return sorted(names, key=lambda name: kinds.index(self.opened.tasks[name].config.output_type))

    @cached_property
    def _names(self) -> dict[str, str]:
        return {task.path: name for name, task in self.opened.tasks.items()}

    @cached_property
    def _places(self) -> dict[str, dict[int, int]]:
        """{task: {doc: its look, from 0}}"""
        looks = self.schedule.looks
        return {name: {d: look for look, docs in enumerate(looks[name]) for d in docs} for name in looks}

    @cached_property
    def _without_answer(self) -> dict[str, set[int]]:
        """The docs that lacked an answer when the launch began."""
        return {name: set(docs) for name, docs in self.pending.doc_ids.items()}

    def _is_done(self, name: str, doc_id: int) -> bool:
        """Whether a doc has all its answers, or failed in this launch."""
        if doc_id not in self._without_answer[name]:
            return True
        if (slots := self._asked.get((name, doc_id))) is None:
            return False
        for slot, before in slots.items():
            now = self.asking.state.result(slot)
            if now is None or now.error is not None and before is not None and now.error is before.error:
                return False
        return True

    def _not_done(self, name: str, look: int) -> list[int]:
        """The docs of a look that are not done. A look that once was complete is not looked at again."""
        if (name, look) in self._complete:
            return []
        found = [doc_id for doc_id in self.schedule.looks[name][look] if not self._is_done(name, doc_id)]
        if not found:
            self._complete.add((name, look))
        return found

    def _has_pending(self) -> bool:
        looks = range(self._allowed)
        return any(
            self._is_asked(name, look) and self._not_done(name, look) for name in self.schedule.looks for look in looks
        )

    @cached_property
    def _leaves(self) -> dict[str, Leaf]:
        """The number of each task that decides."""
        return {leaf.task: leaf for unit in self.units for leaf in unit.leaves}

    def _advance(self, at_once: bool = False) -> None:
        """Scores the looks that are complete, and tests. at_once: look at the other models' files now, not only now and then."""
        most = self._graded if self._needs_verdicts else self.schedule.count
        while len(self.values) < most and not self.rule.over and self._completes(len(self.values)):
            self._score(len(self.values))
            at_once = True
        now = time.monotonic()
        if not self.rule.over and (at_once or now - self._polled > PAUSE):
            self._polled = now
            self.rule.advance(self.values)

    def _completes(self, look: int) -> bool:
        """Whether all docs of a look that decide are done. Each is looked at about once."""
        if self._begun != look:
            self._begun = look
            self._left = [(name, d) for name in self._leaves for d in self.schedule.looks[name][look]]
        while self._left and (self._is_done(*self._left[-1]) or not self._is_asked(self._left[-1][0], look)):
            self._left.pop()
        return not self._left

    def _score(self, look: int) -> None:
        found = {
            name: score_docs(self.opened, name, sorted(docs), self.asking.state.lookup, leaf.key_of)
            for name, leaf in self._leaves.items()
            if (docs := self.schedule.looks[name][look]) and self._is_asked(name, look)
        }
        self.values.append(found)
        if self.together is not None:
            write_look(self.asking.folder, look + 1, self.schedule.digest, found)


def _locked(items: Iterator[T], lock: Lock) -> Iterator[T]:
    """The items, each made while the lock is held: a task's code never runs in two threads at a time."""
    while True:
        with lock:
            try:
                item = next(items)
            except StopIteration:
                return
        yield item
