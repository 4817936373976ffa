"""Scoring functions of lmms-eval that ask a judge through its `llm_judge` module, run with recorded replies.

A task's `process_results` there builds a server at import and asks it one question after another (MM-Vet, MathVerse).
Here the server (lmms_eval_server.py) looks a question up among the judge's known replies to this doc. If the reply is not
known, the call ends with an exception that is not an Exception, so that the task's code can't turn it into a verdict. The
engine asks the question like any other, and `process_results` runs again from the beginning, until it asks nothing new. So
every reply is recorded, and a judge that fails is a failure of the judge, never the 0 or -1 of the task's code.

The judge is the one of `--judge`, whatever model the code names. Temperature and token cap are those of the code. The same
question again within one doc means that the code could not read the reply: it gets a further one, at most RETRIES times.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mm_eval.arguments import shortly
from mm_eval.catalog.functions import imported_by, with_siblings
from mm_eval.errors import JudgeError, MMEvalError
from mm_eval.lmms_eval_compat import PACKAGE, JudgeCalled

if TYPE_CHECKING:
    from mm_eval.types import Answer, Message

MODULE = f"{PACKAGE}.llm_judge"
RETRIES = 2
"""Further replies to a question whose reply could not be read."""


@dataclass(frozen=True)
class Question:
    """What a task's code asks the judge.

    messages: chat messages; a picture is the part {"type": "image", "image": a PIL image}.
    repeat: how many earlier questions of this doc were the same. model: the judge that the code names.
    """

    messages: list[Message]
    generation_kwargs: Mapping[str, Any]
    repeat: int = 0
    model: str = ""


Lookup = Callable[[Question], "Answer | None"]
"""The judge's recorded reply, or failure, to a question; None where there is neither."""


@dataclass
class Asked:
    """What one run of a task's function came to.

    value: what it returned, where there is neither `pending` nor `error`.
    questions, replies: those with a known reply, in the order asked.
    pending: the question that ended it, which has no reply. error: the judge failed at it, or its replies could not be read.
    """

    lookup: Lookup
    value: Any = None
    questions: list[Question] = field(default_factory=list)
    replies: list[Answer] = field(default_factory=list)
    pending: Question | None = None
    error: MMEvalError | None = None

    def reply(self, question: Question) -> Answer:
        """The known reply to a question. Raises JudgeCalled, now and at every later call, if there is none."""
        if self.pending is not None or self.error is not None:
            self._end()
        text = _text_of(question)
        same = [place for place, earlier in enumerate(self.questions) if _text_of(earlier) == text]
        if len(same) > RETRIES:
            said = shortly(str(self.replies[same[-1]].output))
            self.error = JudgeError(f"{len(same)} replies of the judge could not be read, the last: {said}.")
            self._end()
        if same:  # with the options of the first time: some code raises the temperature until a reply fits
            question = replace(self.questions[same[0]], repeat=len(same))
        found = self.lookup(question)
        if found is None or found.error is not None:
            self.pending, self.error = question, None if found is None else found.error
            self._end()
        self.questions.append(question)
        self.replies.append(found)
        return found

    def _end(self) -> NoReturn:
        raise JudgeCalled(MODULE)


RUNNING: list[Asked] = []
"""The run of a task's function in progress. Scoring runs one at a time; threads that the function starts belong to it."""


def run_judged(call: Callable[[], Any], lookup: Lookup) -> Asked:
    """Runs a task's function with the judge's recorded replies.

    Errors: what the function raises, unless it asked something whose reply is not known.
    """
    from mm_eval.lmms_eval_server import offered

    asked = Asked(lookup)
    RUNNING.append(asked)
    try:
        with offered(), _without_waiting():
            value = call()
        if asked.pending is None and asked.error is None:  # a bare `except` of the function may have caught their end
            asked.value = value
    except (JudgeCalled, Exception):
        if asked.pending is None and asked.error is None:
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


def _text_of(question: Question) -> str:
    """A question's messages as text, equal for equal questions; pictures by their pixels."""

    def pixels(value: Any) -> str:
        from mm_eval.task.media import picture_digest

        return picture_digest(value)

    return json.dumps(question.messages, sort_keys=True, default=pixels)


def asks_judge(file: Path) -> bool:
    """Whether a task's file imports the module. Files beside it and of lmms-eval's tasks are followed; it must be loaded."""
    found, pending = set[Path](), with_siblings(file)
    while pending:
        path = pending.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        for name in imported_by(path):
            if name == MODULE or name.startswith(f"{MODULE}."):
                return True
            if name.startswith(f"{PACKAGE}.tasks.") and (module := sys.modules.get(name)) is not None:
                pending.append(Path(getattr(module, "__file__", None) or "-"))
    return False
