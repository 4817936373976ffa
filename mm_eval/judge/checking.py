"""The checks of a task's judge that need no judge: its prompts are written, and its examples of replies are read."""

from __future__ import annotations

from collections.abc import Sequence

from mm_eval.judge.code import CodeVerdicts
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.prompts import all_questions, doc_of, judge_instance
from mm_eval.judge.verdicts import first_value, read_reply, total_of
from mm_eval.prompt.task import Task
from mm_eval.values.errors import ConfigError
from mm_eval.values.words import counted

RENDERED = 3
"""Docs whose judge prompts are written."""


def check_judge(task: Task, doc_ids: Sequence[int]) -> str:
    """Writes the judge's prompts of the first docs and reads the examples of replies. Returns what was checked, in words.

    Errors: ConfigError for a prompt that fails, or an example that is read as something else than it states.
    """
    judge, first = judge_of_task(task.config), list(doc_ids[:RENDERED])
    assert judge is not None
    if judge.by_code:
        return _check_code(task, first)
    examples = 0
    for number, step in enumerate(judge.steps):
        for doc_id, doc in task.docs.texts(first):
            answer = "an answer" if number == 0 else first_value(judge.steps[number - 1])
            if judge.total is not None:
                asked = list(all_questions(task, "validate", doc_id, doc, answer, first_value(step)))
            else:
                asked = [judge_instance(task, "validate", number, doc_id, doc, answer)]
            error = next((each.error for each in asked if each.error is not None), None)
            if error is not None:
                raise ConfigError(error.what, where=f"{step.where}: {error.where}", hint=error.hint) from error
            if judge.total is not None:
                verdicts = [first_value(step)] * len(asked)
                _, why = total_of(judge, verdicts, doc_of(task, doc_id, doc), answer)
                if why:
                    raise ConfigError(why, where=f"{step.where}: {task.path} doc {doc_id}")
        last = number == len(judge.steps) - 1 and judge.total is None
        for reply, expected, columns in step.examples:
            doc = {**task.docs.text(first[0]), **columns}
            value, why = read_reply(judge, step, reply, doc_of(task, first[0], doc), last)
            if not _equal(value, expected):
                found = f"read as {value!r}" if value is not None else f"not read ({why})"
                what = f"verdict_examples: the reply {reply!r:.80} is {found}, and {expected!r} is stated."
                raise ConfigError(what, where=step.where or task.config.where("judge"))
            examples += 1
    read = counted(examples, "example of replies was", "examples of replies were")
    return f"the judge's prompts of {counted(len(first), 'document')} were written and {read} read"


def _check_code(task: Task, doc_ids: Sequence[int]) -> str:
    """Runs the task's own code until its first question about each doc."""
    verdicts, asked = CodeVerdicts(task, "validate", lambda slot: None, asks=True), 0
    for doc_id, doc in task.docs.texts(list(doc_ids)):
        found = verdicts.chain(doc_id, doc, "an answer")
        error = found.pending.error if found.pending is not None else found.error
        if error is not None:
            place = f"{task.config.where('process_results')}: {error.where}"
            raise ConfigError(error.what, where=place, hint=error.hint) from error
        asked += found.pending is not None
    return f"its own code asks the judge about {asked} of the first {len(doc_ids)} documents"


def _equal(value: object, expected: object) -> bool:
    return (list(value) if isinstance(value, tuple) else value) == expected and (value is None) == (expected is None)
