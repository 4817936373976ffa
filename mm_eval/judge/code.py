"""Tasks of lmms-eval whose own `process_results` asks the judge: their questions as Instances, and the replies for them.

Nothing tells beforehand what such a function asks. It is run with the replies that there are: the question at which it ends is
the next one. The engine asks these like all others (asking.py), and scoring runs the function once more, when all are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from mm_eval.judge.config import judge_of_task
from mm_eval.judge.prompts import doc_of, filled, prompt_digest, shown, turns_of
from mm_eval.judge.scoring import DocVerdict
from mm_eval.judge.verdicts import Chain, Lookup, Verdicts
from mm_eval.prompt.task import Task
from mm_eval.scoring.asked import Asked, CodeQuestion
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.process_results import NO_VALUE, ProcessResultsScorer
from mm_eval.values.errors import JudgeError, MMEvalError, kind_and_text
from mm_eval.values.types import Answer, Doc, Instance, JsonObject, Slot

MOST = 1000
"""Replies to one question that scoring reads."""


@dataclass
class CodeVerdicts(Verdicts):
    """The replies of one judge to the questions of a task's own code.

    asked: {doc id: what the code asked}, of the docs that it was run on last.
    """

    asked: dict[int, Asked] = field(default_factory=dict)

    @cached_property
    def _scorer(self) -> ProcessResultsScorer:
        """A scorer of its own: what it is run on is not a score of the run."""
        [scorer] = scorers_of(self.task.config)
        assert isinstance(scorer, ProcessResultsScorer)
        scorer.call = self.call
        return scorer

    def call(self, fn: Any, doc_id: int, doc: Doc, results: list[Any]) -> Any:
        """Runs the task's function with the recorded replies; `asked` keeps what it asked."""
        asked: Asked = fn.run_with_replies(self.doc(doc_id, doc), results, partial(self.reply, doc_id), self.retries)
        self.asked[doc_id] = asked
        return NO_VALUE if asked.waits else asked.value

    def chain(self, doc_id: int, doc: Doc, answer: str, repeat: int = 0) -> Chain:
        """What the task's code makes of an answer, or the question that it asks next."""
        scorer = self._scorer
        scorer.draws, scorer.filter_draws = self.task.config.draws(), self.task.config.draws()  # as for the first doc
        instance = Instance("generate_until", self.task.path, doc_id, doc, resps=[answer])
        found = scorer.run_docs({doc_id: [instance]})[doc_id]
        asked = self.asked.pop(doc_id, None)
        if asked is None or found.error is not None:  # its code failed, with or without a judge
            return Chain(error=as_judge_error(found.error, self.where(doc_id)))
        rows = self.rows(asked)
        if not asked.waits:
            return Chain({name: values[0] for name, values in found.scores.items()}, rows=rows)
        error = self.error(asked, doc_id)
        rows[-1]["error"] = str(error)
        if asked.pending is not None:
            return Chain(pending=self.instance(doc_id, doc, asked.pending), error=error, rows=rows)
        return Chain(
            error=error, unreadable=self.slot(doc_id, asked.questions[-1]) if asked.questions else None, rows=rows
        )

    def outcome(self, doc_id: int, asked: Asked) -> DocVerdict:
        """What samples/ shows of a doc that was scored, and why it has no verdict."""
        rows = self.rows(asked)
        self.models.update(row["model"] for row in rows if row["model"])
        error = self.error(asked, doc_id) if asked.waits else None
        if error is not None and rows:
            rows[-1]["error"] = str(error)
        return DocVerdict(None, error, rows)

    def doc(self, doc_id: int, doc: Doc) -> Doc:
        """The doc as the task's code gets it: with its pictures, decoded when they are looked up."""
        return doc_of(self.task, doc_id, doc)

    def where(self, doc_id: int) -> str:
        return f"{self.task.path} doc {doc_id}"

    def reply(self, doc_id: int, question: CodeQuestion) -> Answer | None:
        """The recorded reply to a question."""
        return self.lookup(self.slot(doc_id, question))

    def slot(self, doc_id: int, question: CodeQuestion) -> Slot:
        """Where the reply to a question belongs."""
        messages, _ = turns_of(question.messages, self.where(doc_id))
        return Slot(self.task.path, doc_id, question.repeat, prompt_digest(messages), self.judge)

    def instance(self, doc_id: int, doc: Doc, question: CodeQuestion) -> Instance:
        """A question for the engine."""
        messages, pictures = turns_of(question.messages, self.where(doc_id))
        instance = Instance("generate_until", self.task.path, doc_id, doc, repeat=question.repeat, judge=self.judge)
        instance.generation_kwargs = question.generation_kwargs
        instance.metadata["model"] = question.model
        return filled(instance, messages, pictures, lambda: pictures, chat=self.chat, asked=self.asks)

    def error(self, asked: Asked, doc_id: int) -> MMEvalError:
        """Why there is no verdict."""
        return as_judge_error(asked.error, self.where(doc_id))

    def rows(self, asked: Asked) -> list[JsonObject]:
        """The questions that were asked, for samples/: each with its last reply."""
        found: dict[int, JsonObject] = {}
        questions: Sequence[CodeQuestion] = [*asked.questions, *([asked.pending] if asked.pending is not None else [])]
        for number, question in enumerate(questions):
            messages, _ = turns_of(question.messages, "")
            row = found.setdefault(
                prompt_digest(messages),
                {"prompt": shown(messages), "reply": None, "verdict": None, "model": None, "attempts": 0},
            )
            if number < len(asked.replies):
                answer = asked.replies[number]
                said = str(answer.output)
                row.update(reply=said, verdict=said, model=answer.model or None, attempts=row["attempts"] + 1)
                if answer.ended != "stop":
                    row.update(ended=answer.ended, verdict=None)
        return list(found.values())


def as_judge_error(error: Exception | None, where: str) -> MMEvalError:
    """The error of a doc without a verdict."""
    if error is None:
        return JudgeError("it was not judged.", where=where)
    if isinstance(error, MMEvalError) and error.owner in ("judge", "scoring"):
        return error.located(where)
    what = error.what if isinstance(error, MMEvalError) else kind_and_text(error)
    hint = error.hint if isinstance(error, MMEvalError) else ""
    return JudgeError(f"the judge did not answer: {what}", where=where, hint=hint)


def verdicts_of(
    task: Task, judge: str, lookup: Lookup, retries: int = 0, chat: bool = True, asks: bool = False
) -> Verdicts:
    """The verdicts of a judge on a task, whether its `judge:` states the questions or its own code asks them.

    retries: not used for scoring, where every recorded reply is read.
    """
    judged = judge_of_task(task.config)
    if judged is not None and judged.by_code:
        return CodeVerdicts(task, judge, lookup, retries if asks else MOST, chat, asks)
    return Verdicts(task, judge, lookup, retries, chat, asks)


def without_replies(task: Task) -> CodeVerdicts:
    """What a task's code asks before there is any reply."""
    return CodeVerdicts(task, "", lambda slot: None, MOST)


def first_questions(
    task: Task, doc_ids: Sequence[int], answer: str = "answer", verdicts: CodeVerdicts | None = None
) -> Iterator[Instance]:
    """The first question about each of these docs; a doc about which none is asked is left out. verdicts: `without_replies`."""
    verdicts = verdicts or without_replies(task)
    for doc_id, doc in task.docs.texts(list(doc_ids)):
        pending = verdicts.chain(doc_id, doc, answer).pending
        if pending is not None:
            yield pending
