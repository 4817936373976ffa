"""The log-likelihoods of a doc's choices, held for a moment so that the journal has one line for them.

They are written when the last one has come, and in parts where that takes longer than `MOST_SECONDS`: a kill costs no more of
the answers that were received than those of the last seconds, however long the doc takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial

from mm_eval.engine.journal import Journal
from mm_eval.engine.records import answer_record, answers_record, in_common, slots_record
from mm_eval.values.errors import StoreError
from mm_eval.values.types import Answer, Instance, Slot

MOST_SECONDS = 1.0
"""After which a held answer is due. The thread looks this often, so an answer is written after twice as long at the latest."""


@dataclass
class ChoicesOfDoc:
    """The choices of a doc. left: how many of them have no answer.

    held: the answers that are not written yet, each with its slots, first its own. since: when the first of them came.
    """

    left: int
    held: list[tuple[Answer, list[Slot]]] = field(default_factory=list)
    since: float = 0.0


class HeldAnswers:
    """What is held of all docs, and the thread that writes what was held for long. It runs from the first answer to `close`.

    tick: as of `Asker`.
    """

    def __init__(self, journal: Journal, tick: Callable[[int, int], None]) -> None:
        self._journal, self._tick = journal, tick
        self._docs: dict[int, ChoicesOfDoc] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._fault: Exception | None = None  # of the thread

    def begin(self, question: Sequence[Instance]) -> ChoicesOfDoc | None:
        """Where the answers to the choices of a question are held; None if it has no choices."""
        scores = len(question) > 1 and question[0].request_type == "loglikelihood"
        return ChoicesOfDoc(len(question)) if scores else None

    def add(self, doc: ChoicesOfDoc, answer: Answer, slots: list[Slot]) -> None:
        """Holds an answer to one of the choices, or writes all after the last one."""
        with self._lock:
            if not doc.held:
                self._docs[id(doc)], doc.since = doc, time.monotonic()
            doc.held.append((answer, slots))
        if self._thread is None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._write_the_late, name="held answers", daemon=True)
            self._thread.start()
        self.settle(doc)

    def settle(self, doc: ChoicesOfDoc | None) -> None:
        """Counts a choice as answered, and writes the answers of the doc after the last one."""
        if doc is not None:
            doc.left -= 1
            if doc.left == 0 and doc.held:
                self._raise_fault()
                with self._lock:
                    self._write(doc)

    def write(self, chosen: Callable[[ChoicesOfDoc], bool] = lambda doc: True) -> None:
        """Writes what is held of the chosen docs: alike answers in one record. Raises, once, what the thread has failed on."""
        self._raise_fault()
        with self._lock:
            for doc in [doc for doc in self._docs.values() if chosen(doc)]:
                self._write(doc)

    def _raise_fault(self) -> None:
        fault, self._fault = self._fault, None
        if fault is not None:
            raise fault

    def write_key(self, key: str) -> None:
        """Writes the doc whose held answers have this request key."""
        self.write(lambda doc: any(answer.key == key for answer, _ in doc.held))

    def close(self) -> None:
        """Writes all, and ends the thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.write()

    def _write_the_late(self) -> None:
        while not self._ended.wait(MOST_SECONDS):
            before = time.monotonic() - MOST_SECONDS
            try:
                self.write(lambda doc, before=before: doc.since <= before)  # type: ignore[misc]
            except StoreError:  # the next answer raises it in the thread of the run
                pass
            except Exception as error:  # an adapter's answer that can't be written as JSON
                self._fault = error

    def _write(self, doc: ChoicesOfDoc) -> None:
        """Writes what is held of a doc. An answer that can't be written costs none of the others; it is raised after them."""
        self._docs.pop(id(doc), None)
        held, doc.held = doc.held, []
        groups: dict[Hashable, list[tuple[Answer, list[Slot]]]] = {}
        for place, each in enumerate(held):
            groups.setdefault(in_common(each[0]) or place, []).append(each)
        fault: Exception | None = None
        for group in groups.values():
            try:
                self._put(group)
            except StoreError:
                raise
            except Exception as error:  # it is not JSON
                fault = fault or error
        if fault is not None:
            raise fault

    def _put(self, group: list[tuple[Answer, list[Slot]]]) -> None:
        """Writes answers that are alike."""
        if len(group) == 1:
            answer, slots = group[0]
            self._journal.put(answer_record(answer, slots), partial(self._tick, len(slots), 0))
            return
        record = answers_record([(answer, slots[0]) for answer, slots in group])
        self._journal.put(record, partial(self._tick, len(group), 0))
        for answer, slots in group:
            if slots[1:]:
                self._journal.put(slots_record(answer.key, slots[1:]), partial(self._tick, len(slots) - 1, 0))
