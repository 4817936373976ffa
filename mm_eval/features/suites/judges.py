"""Scoring functions of lmms-eval that ask a judge through its `llm_judge` module, run with recorded replies.

A task's `process_results` there builds a server at import and asks it one question after another (MM-Vet, MathVerse).
Here the server (child/judge_module.py, in the process of the task's code) looks a question up among the judge's known replies
to this doc, kept in an `Asked`. Which functions ask is read from their source (askers.py). If the reply is not known, the call
ends with an exception that is not an Exception, so that the task's code can't turn it into a verdict. The engine asks the
question like any other, and `process_results` runs again from the beginning, until it asks nothing new. So every reply is
recorded, and a judge that fails is a failure of the judge, never the 0 or -1 of the task's code.

The judge is the one of `--judge`, whatever model the code names. Temperature and token cap are those of the code. The same
question again within one doc means that the code could not read the reply: it gets a further one, `--judge_retries` times.
Code that asks in another way is refused (child/guard.py).
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from mm_eval.config.arguments import shortly
from mm_eval.features.suites import PACKAGE
from mm_eval.scoring.asked import RETRIES, Asked, CodeQuestion, Lookup
from mm_eval.values.errors import JudgeError
from mm_eval.values.words import counted

if TYPE_CHECKING:
    from mm_eval.values.types import Answer

MODULE = f"{PACKAGE}.llm_judge"


NO_CALLS = (
    "and a failure of that call could not be told from a verdict. Only mm-eval itself asks a judge: state `judge:` (a prompt and "
    "a verdict) in the task's YAML, and name the judge with --judge"
)
"""Why a task's code opens no connection."""


class JudgeCalled(BaseException):
    """A judge was called that may not be. Not an Exception: a task's code turns each of those into a verdict."""


__all__ = ["MODULE", "NO_CALLS", "RETRIES", "RUNNING", "Asked", "Asking", "JudgeCalled", "CodeQuestion", "Lookup"]


class Asking(Asked):
    """One run of a task's function, which gets its replies here."""

    def reply(self, question: CodeQuestion) -> Answer:
        """The known reply to a question. Raises JudgeCalled, now and at every later call, if there is none."""
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
        raise JudgeCalled(MODULE)


RUNNING: list[Asking] = []
"""The run of a task's function in progress. Scoring runs one at a time; threads that the function starts belong to it."""


def _text_of(question: CodeQuestion) -> str:
    """A question's messages as text, equal for equal questions; pictures by their pixels."""

    def pixels(value: Any) -> str:
        from mm_eval.data.media import picture_digest

        return picture_digest(value)

    return json.dumps(question.messages, sort_keys=True, default=pixels)
