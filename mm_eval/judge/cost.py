"""What the verdicts on a run will cost: calls, tokens and dollars, before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import Model, dollars, flatten, show
from mm_eval.judge.code import CodeVerdicts, first_questions, without_replies
from mm_eval.judge.config import answers_judged, judge_of_task
from mm_eval.judge.prompts import all_questions, judge_instance
from mm_eval.judge.verdicts import first_value
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.scoring.gold import gold_texts
from mm_eval.values.types import Doc, Instance
from mm_eval.values.words import counted

SAMPLED = 20
"""Docs whose prompts are measured, spread over the task."""
CHARACTERS = 4
"""Characters a token, for a judge whose tokenizer is not here."""
PICTURE = 1000
"""Tokens of a picture, for such a judge."""
MADE_UP = "word " * 40
"""The answer to a doc without a gold answer."""


@dataclass(frozen=True)
class Cost:
    """What the verdicts of one judge will take at most: every doc is judged, and every reply reaches its cap.

    calls: questions, none asked twice. dollars: None where the judge's prices are unknown.
    measured: the judge's own tokenizer counted.
    """

    calls: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    dollars: float | None = 0.0
    measured: bool = True

    def __add__(self, other: Cost) -> Cost:
        known = self.dollars is not None and other.dollars is not None
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.reply_tokens + other.reply_tokens,
            (self.dollars or 0) + (other.dollars or 0) if known else None,
            self.measured and other.measured,
        )

    def __str__(self) -> str:
        about = "" if self.measured else "about "
        tokens = f"{about}{self.prompt_tokens:,} prompt tokens, at most {self.reply_tokens:,} reply tokens"
        price = "price unknown" if self.dollars is None else f"at most ${self.dollars:,.2f}" if self.dollars else ""
        return ", ".join(filter(None, (counted(self.calls, "call"), tokens, price)))


def cost_of(task: Task, style: PromptStyle, doc_ids: Sequence[int], model: Model | None) -> Cost:
    """What a judge's verdicts on these docs will take. Prompts are measured on some docs, with their gold answers.

    model: the judge; None where it is not known yet.
    """
    config = judge_of_task(task.config)
    assert config is not None
    sample = doc_ids[:: max(1, len(doc_ids) // SAMPLED)][:SAMPLED]
    chat = model is None or model.facts.chat
    code = without_replies(task) if config.by_code else None
    asked = [
        questions_about(task, each.doc_id, each.doc, gold_answer(task, style, each) or MADE_UP, chat, code)
        for each in task.instances(list(sample), style, lambda doc_id: None)
    ]
    counts = [[_tokens(model, each) for each in questions] for questions in asked]
    prompts = sum(tokens for questions in counts for tokens, _ in questions)
    measured = all(exact for questions in counts for _, exact in questions)
    verdicts, of_doc = len(doc_ids) * answers_judged(task.config) * config.repeats, float(max(1, len(config.steps)))
    if config.total is not None:
        of_doc = sum(map(len, asked)) / max(1, len(asked))
    options = [each.generation_kwargs for each in next(iter(asked), [])]
    caps = [GenerationOptions.from_kwargs(kwargs).max_new_tokens for kwargs in options]
    calls = round(verdicts * of_doc)
    prompt_tokens = round(prompts / max(1, len(counts)) * verdicts)
    reply_tokens = calls * max(caps, default=0) if config.total is not None else verdicts * sum(caps)
    used = {"prompt_tokens": prompt_tokens, "completion_tokens": reply_tokens}
    return Cost(calls, prompt_tokens, reply_tokens, dollars(model, used) if model else None, measured)


def questions_about(
    task: Task, doc_id: int, doc: Doc, answer: str, chat: bool = True, code: CodeVerdicts | None = None
) -> list[Instance]:
    """The judge's questions about an answer: one for each step, all of a step with `total`, the first one of a task's own code.

    Where a prompt needs the verdict of the one before, that is the first of its examples.
    """
    config = judge_of_task(task.config)
    assert config is not None
    if config.by_code:
        return list(first_questions(task, [doc_id], answer, code))
    if config.total is not None:
        return list(all_questions(task, "", doc_id, doc, answer, first_value(config.steps[0]), chat=chat))
    said = [answer, *map(first_value, config.steps[:-1])]
    return [judge_instance(task, "", number, doc_id, doc, each, chat=chat) for number, each in enumerate(said)]


def gold_answer(task: Task, style: PromptStyle, instance: Instance) -> str:
    """The gold answer of a doc; empty if none is known."""
    texts = gold_texts(task, style, instance) if instance.error is None else []
    return texts[0] if texts and texts[0].strip() else ""


def _tokens(model: Model | None, instance: Instance) -> tuple[int, bool]:
    """(the tokens of a prompt, whether the judge's tokenizer counted them)."""
    counted = show(model, instance).tokens if model is not None else None
    if counted is not None:
        return counted, True
    return len(flatten(instance)) // CHARACTERS + PICTURE * len(instance.image_digests), False
