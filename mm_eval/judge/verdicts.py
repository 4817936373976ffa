"""What the journal holds of a doc's verdicts, and which question comes next. Nothing is asked here.

One walk serves both: `Verdicts.chain` goes through the steps of a task's judge with the replies that there are. Where one is
missing, its question is pending; once all are known, the value is the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mm_eval.config.arguments import shortly
from mm_eval.config.foreign_code import NO_CALLS, during
from mm_eval.config.judge import JudgeConfig, JudgeStep
from mm_eval.judge.config import answers_judged, judge_of_task
from mm_eval.judge.prompts import NO_SOCKET, doc_of, judge_instance, next_question
from mm_eval.judge.scoring import DocVerdict, mean_verdict
from mm_eval.prompt.task import Task
from mm_eval.scoring.of_task import frames_read_by
from mm_eval.values.errors import JudgeError, MMEvalError, kind_and_text
from mm_eval.values.reasoning.recorded import as_text, parts_of
from mm_eval.values.reasoning.split import unframed
from mm_eval.values.types import Answer, Doc, Instance, JsonObject, Slot, plain

Lookup = Callable[[Slot], Answer | None]


def shown_answer(answer: str, kept: Sequence[str] = ()) -> str:
    """The answer as a judge is shown it: without its thinking and the frames around it; empty where it ended while thinking.

    kept: frames that the task's judge reads itself.
    """
    return unframed(_without_thinking(answer), kept)


def _without_thinking(text: str) -> str:
    found = parts_of(text)
    return str(found.answer) if found.closed else ""


@dataclass
class Chain:
    """One verdict on a doc, as far as it is known.

    value: the verdict; None if there is none yet, with the `error` that says why.
    pending: the question to ask next; None if nothing is left to ask.
    unreadable: the slot of the last reply, if it can't be read and no further one is pending.
    rows: one for each step that was asked, for samples/.
    """

    value: Any = None
    pending: Instance | None = None
    error: MMEvalError | None = None
    unreadable: Slot | None = None
    rows: list[JsonObject] = field(default_factory=list)


def is_astray(chain: Chain, asked: dict[Any, int], key: Any) -> bool:
    """Whether a question is still pending and no further reply was read: its prompt changes with each call.

    Asking on would never end. asked: {key: replies that were read when a question was last pending}; gets the new count.
    """
    replies = sum(int(row["attempts"]) for row in chain.rows)
    before, asked[key] = asked.get(key, -1), replies
    return replies <= before


ASTRAY = "the judge's prompt is different each time it is written, so no reply belongs to it."
PURE = "It must depend on the document and the answer alone: no time, no random numbers, no set in its own order."


@dataclass
class Verdicts:
    """The verdicts of one judge on one task.

    lookup: the replies in the journal. retries: how often an unreadable reply is asked for again.
    swapped: pairs are shown in the other order. models: how many replies came from each model, by the name that the server
    returned.
    """

    task: Task
    judge: str
    lookup: Lookup
    retries: int = 0
    chat: bool = True
    asks: bool = False
    swapped: bool = False
    models: Counter[str] = field(default_factory=Counter)

    @property
    def config(self) -> JudgeConfig:
        judge = judge_of_task(self.task.config)
        assert judge is not None
        return judge

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """The frames around an answer that the judge's functions read themselves."""
        return frames_read_by(self.task.config, ("judge",))

    def chain(self, doc_id: int, doc: Doc, answer: str, repeat: int = 0) -> Chain:
        """The verdict of a doc with this answer. doc: without its pictures. repeat: which of the doc's verdicts."""
        config, value = self.config, shown_answer(answer, self.frames)
        if not value.strip():
            try:
                empty = "" if config.extracts else config.of_empty(doc)
            except Exception as error:  # the task's own function
                reason = error.what if isinstance(error, MMEvalError) else kind_and_text(error)
                what = f"its verdict of an empty answer failed: {reason}"
                row = {"prompt": None, "reply": None, "verdict": None, "model": None, "attempts": 0, "error": what}
                return Chain(error=JudgeError(what), rows=[row])
            row = {"prompt": None, "reply": None, "verdict": empty, "model": None, "attempts": 0, "empty": True}
            return Chain(empty, rows=[row])
        if config.total is not None:
            return self._several(doc_id, doc, value, repeat)
        chain = Chain()
        for number, step in enumerate(config.steps):
            instance = judge_instance(
                self.task,
                self.judge,
                number,
                doc_id,
                doc,
                value,
                repeat=repeat,
                chat=self.chat,
                swapped=self.swapped,
                asked=self.asks,
            )
            found = self._reading(step, instance, number == len(config.steps) - 1)
            chain.rows.append({"step": number + 1, **found.rows[0]} if len(config.steps) > 1 else found.rows[0])
            if found.value is None:
                return replace(found, rows=chain.rows)
            value = chain.value = found.value
        return chain

    def _several(self, doc_id: int, doc: Doc, answer: str, repeat: int) -> Chain:
        """The verdict of several questions about one answer, or the next of them."""
        config, full, verdicts = self.config, doc_of(self.task, doc_id, doc), list[Any]()
        rows: list[dict[str, object]] = []
        [step] = config.steps

        def question(asked: bool) -> Instance | None:
            more = {"repeat": repeat, "chat": self.chat, "asked": asked}
            return next_question(self.task, self.judge, doc_id, doc, answer, verdicts, doc=full, **more)  # type: ignore[arg-type]

        while (instance := question(asked=False)) is not None:
            found = self._reading(step, instance, False, verdicts)
            rows.append({"step": len(verdicts) + 1, **found.rows[0]})
            if found.value is None:
                if found.pending is not None and self.asks and (whole := question(asked=True)) is not None:
                    found.pending = replace(whole, repeat=found.pending.repeat)  # pictures with their digests
                return replace(found, rows=rows)
            verdicts.append(found.value)
        value, why = total_of(config, verdicts, full, answer)
        if not rows:  # nothing in the answer is asked about
            rows.append({"prompt": None, "reply": None, "verdict": value, "model": None, "attempts": 0, "empty": True})
        if why:
            error = JudgeError(why, where=f"{self.task.path} doc {doc_id}")
            rows[-1].update(verdict=None, error=str(error))
            return Chain(error=error, rows=rows)
        rows[-1]["total"] = value
        return Chain(value, rows=rows)

    def repeats_of(self, number: int) -> range:
        """Which of a doc's verdicts are those of one of its answers. number: of the answer, from 0."""
        return range(number * self.config.repeats, (number + 1) * self.config.repeats)

    def of_answer(self, doc_id: int, doc: Doc, answer: str, number: int) -> DocVerdict:
        """All verdicts on an answer as one value: their mean where there are several. number: of the doc's answers, from 0."""
        chains = [self.chain(doc_id, doc, answer, repeat) for repeat in self.repeats_of(number)]
        rows = [row for chain in chains for row in chain.rows]
        if answers_judged(self.task.config) > 1:
            rows = [{"answer": number + 1, **row} for row in rows]
        self.models.update(row["model"] for row in rows if row["model"])
        if error := next((chain.error for chain in chains if chain.error is not None), None):
            return DocVerdict(None, error, rows)
        try:
            return DocVerdict(mean_verdict([chain.value for chain in chains]), None, rows)
        except TypeError:
            return DocVerdict(None, JudgeError("the mean of its verdicts needs numbers."), rows)

    def _reading(self, step: JudgeStep, instance: Instance, last: bool, verdicts: Sequence[object] = ()) -> Chain:
        """The verdict of one step from the recorded replies to its question. verdicts: of the questions before."""
        row: JsonObject = {"prompt": instance.metadata.get("prompt"), "reply": None, "verdict": None}
        row.update(model=None, attempts=0)
        if instance.error is not None:
            row["error"] = str(instance.error)
            return Chain(pending=instance if self.asks else None, error=instance.error, rows=[row])
        why, first, last_slot = "", instance.repeat, None
        while True:
            found = self.lookup(instance.slot)
            if found is None or found.error is not None:
                break
            reply, last_slot = as_text(found.output), instance.slot
            value, why = None, unfinished(found)
            if not why:
                doc = doc_of(self.task, instance.doc_id, instance.doc)
                value, why = read_reply(self.config, step, reply, doc, last, swapped=self.swapped, verdicts=verdicts)
            row.update(reply=reply, model=found.model or None, attempts=row["attempts"] + 1)
            if found.ended != "stop":
                row["ended"] = found.ended
            if value is not None:
                row["verdict"] = value
                return Chain(value, rows=[row])
            verdicts_of_doc = self.config.repeats * answers_judged(self.task.config)
            instance = replace(instance, repeat=first + row["attempts"] * verdicts_of_doc)
        failure, where = found.error if found is not None else None, f"{self.task.path} doc {instance.doc_id}"
        error = JudgeError(why or "it was not judged.", where=where)
        if failure is not None:
            what = failure.what if failure.owner == "judge" else f"the judge did not answer: {failure.what}"
            error = JudgeError(what, where=where, hint=failure.hint)
        row["error"] = str(error)
        pending = instance if row["attempts"] <= self.retries else None
        return Chain(pending=pending, error=error, unreadable=None if pending else last_slot, rows=[row])


def unfinished(reply: Answer) -> str:
    """Why a judge's reply is not a verdict whatever it says; empty for one that ended by itself: "0." may be cut from "0.7"."""
    if reply.ended == "stop":
        return ""
    said = shortly(str(reply.output))
    if reply.ended == "length":
        return f"the judge's reply was cut by its token cap: {said}. The cap is in the `generation_kwargs` of the task's `judge`."
    return f"the judge's reply is {reply.ended}: {said}."


def read_reply(
    judge: JudgeConfig,
    step: JudgeStep,
    reply: str,
    doc: Doc,
    last: bool,
    *,
    swapped: bool = False,
    verdicts: Sequence[object] = (),
) -> tuple[object, str]:
    """(the verdict that a reply holds, "") or (None, why it can't be read). last: the step is the judge's last one.

    A reply is read without its thinking; an empty one, and one that the task's function fails on, can't be read.
    """
    text = _without_thinking(reply)
    if not text.strip():
        return None, "the judge's reply is empty."
    try:
        with during(NO_CALLS, NO_SOCKET):
            value = plain(step.read(text, doc, swapped, verdicts))
    except Exception as error:  # the task's own code
        return None, f"the task's `verdict` failed on {text[:120]!r}: {kind_and_text(error)}"
    if value is None:
        return None, f"the judge's reply can't be read: {text.strip()[:120]!r}"
    fault = judge.fault(value) if last else ""
    return (None, f"the verdict on {text.strip()[:120]!r} can't be used: {fault}") if fault else (value, "")


def total_of(judge: JudgeConfig, verdicts: list[object], doc: Doc, answer: object) -> tuple[object, str]:
    """(the doc's verdict of those of several questions, "") or (None, why there is none)."""
    try:
        with during(NO_CALLS, NO_SOCKET):
            value = plain(judge.total(verdicts, doc, answer))
    except Exception as error:  # the task's own code
        return None, f"the task's `total` failed: {kind_and_text(error)}"
    fault = "it is None." if value is None else judge.fault(value)
    return (None, f"what the task's `total` gives can't be used: {fault}") if fault else (value, "")


def first_value(step: JudgeStep) -> object:
    """A verdict that a step can give, from its examples."""
    return next((value for _, value, _ in step.examples if value is not None), "")
