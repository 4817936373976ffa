"""One run of a task's function that asks a judge through `llm_judge`, with the recorded replies to this doc."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from mm_eval.config.arguments import shortly
from mm_eval.config.suites.askers import MODULE
from mm_eval.foreign_code.child.guard import Refused
from mm_eval.scoring.asked import Asked, CodeQuestion, Lookup
from mm_eval.values.errors import JudgeError
from mm_eval.values.words import counted

if TYPE_CHECKING:
    from mm_eval.values.types import Answer


class Asking(Asked):
    """One run of a task's function, which gets its replies here."""

    def reply(self, question: CodeQuestion) -> Answer:
        """The known reply to a question. Raises Refused, now and at every later call, if there is none."""
        if self.waits:
            self._end()
        text = _text_of(question)
        same = [place for place, earlier in enumerate(self.questions) if _text_of(earlier) == text]
        if same:  # with the options of the first time: some code raises the temperature until a reply fits
            question = replace(self.questions[same[0]], repeat=len(same))
        found = self.lookup(question) if len(same) <= self.retries else None
        if found is None or found.error is not None:
            self.pending = question if len(same) <= self.retries else None
            if found is not None:
                self.error = found.error
            elif same:
                said = shortly(str(self.replies[same[-1]].output))
                times = counted(len(same), "time")
                self.error = JudgeError(f"the judge's reply could not be read, {times}; the last: {said}.")
            self._end()
        self.questions.append(question)
        self.replies.append(found)
        # Its code would make a 0 of an empty reply, and some number of one that was cut.
        return found if str(found.output).strip() and found.ended == "stop" else self.reply(question)

    def _end(self) -> NoReturn:
        raise Refused(MODULE)


RUNNING: list[Asking] = []
"""The run of a task's function in progress. Scoring runs one at a time; threads that the function starts belong to it."""


def _text_of(question: CodeQuestion) -> str:
    """A question's messages as text, equal for equal questions; pictures by their pixels."""

    def pixels(value: Any) -> str:
        from mm_eval.data.media import picture_digest

        return picture_digest(value)

    return json.dumps(question.messages, sort_keys=True, default=pixels)


def run_with_replies(call: Callable[[], object], lookup: Lookup, retries: int) -> Asked:
    """Runs a task's function with the judge's recorded replies. retries: further replies to a question that it asks again.

    Errors: what the function raises, unless it asked something whose reply is not known.
    """
    asked = Asking(lookup, retries)
    RUNNING.append(asked)
    try:
        with _without_waiting():
            value = call()
        if not asked.waits:  # a bare `except` of the function may have caught their end
            asked.value = value
    except (Refused, Exception):
        if not asked.waits:
            raise  # its own error, or a connection of its own
    finally:
        RUNNING.remove(asked)
    return asked


@contextmanager
def _without_waiting() -> Iterator[None]:
    """Inside, `time.sleep` returns at once in this thread: a task's code waits before it asks again, in every run."""
    original, own = time.sleep, threading.get_ident()

    def sleep(seconds: float) -> None:
        if threading.get_ident() != own:
            original(seconds)

    setattr(time, "sleep", sleep)  # noqa: B010  # its parameter has another type in Python's stubs
    try:
        yield
    finally:
        time.sleep = original
