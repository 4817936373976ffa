"""A question to a judge: what a task's `prompt` function writes about an answer, as an Instance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.config.foreign_code import NO_CALLS, during
from mm_eval.config.judge import JudgeStep
from mm_eval.data.decode import decoding
from mm_eval.data.media import picture_digest, to_pictures
from mm_eval.judge.config import judge_of_task
from mm_eval.prompt.task import Task
from mm_eval.prompt.visuals import ROLES
from mm_eval.values.errors import JudgeError, MMEvalError, kind_and_text
from mm_eval.values.task_values import LazyDoc
from mm_eval.values.types import IMAGE_MARK, Context, Doc, Instance, JsonObject, Message

if TYPE_CHECKING:
    from PIL.Image import Image


NO_SOCKET = "which a task with `judge` may not: mm-eval asks the judge itself (--judge)"
"""Why a task's `prompt` and `verdict` open no connection."""
MOST_QUESTIONS = 100
"""Questions about one answer, for a prompt function that never ends."""


def doc_of(task: Task, doc_id: int, text: Doc) -> LazyDoc:
    """The doc as a judge's functions get it. text: the doc without its pictures."""
    return LazyDoc(text, lambda: task.docs.full(doc_id))


def judge_instance(
    task: Task,
    judge: str,
    step: int,
    doc_id: int,
    text: Doc,
    answer: object,
    *,
    repeat: int = 0,
    chat: bool = True,
    swapped: bool = False,
    asked: bool = True,
) -> Instance:
    """The question of one step about an answer. An error of the task's function, or of a picture, stands in `error`.

    text: the doc without its pictures. chat: the judge takes chat messages. asked: False for scoring: pictures get no digests.
    The `choice` of its slot is a digest of the prompt, so that another prompt or answer has another slot and is asked again.
    """
    stated = judge_of_task(task.config)
    assert stated is not None
    instance = Instance("generate_until", task.path, doc_id, text, repeat=repeat, judge=judge, step=step)
    of_step = stated.steps[step]
    found = _written(
        task, instance, of_step, None, lambda doc: of_step.ask(doc, answer, swapped), chat=chat, asked=asked
    )
    assert found is not None
    return found


def next_question(
    task: Task,
    judge: str,
    doc_id: int,
    text: Doc,
    answer: object,
    verdicts: Sequence[object],
    *,
    doc: LazyDoc | None = None,
    repeat: int = 0,
    chat: bool = True,
    asked: bool = True,
) -> Instance | None:
    """The question that follows on these verdicts, where a judge is asked several about one answer; None after the last one.

    doc: of `doc_of`; questions that share one decode its pictures once. The rest as of `judge_instance`.
    """
    stated = judge_of_task(task.config)
    assert stated is not None
    [step], number = stated.steps, len(verdicts)
    instance = Instance("generate_until", task.path, doc_id, text, repeat=repeat, judge=judge, step=number)
    if number >= MOST_QUESTIONS:
        what = f"the judge's prompt asks more than {MOST_QUESTIONS} questions about one answer."
        hint = "It returns None when `verdicts` has as many as there are questions."
        instance.error = JudgeError(what, where=f"{task.path} doc {doc_id}", hint=hint)
        return instance
    known = list(verdicts)
    return _written(
        task, instance, step, doc, lambda doc: step.ask(doc, answer, verdicts=known), chat=chat, asked=asked, ends=True
    )


def all_questions(
    task: Task,
    judge: str,
    doc_id: int,
    text: Doc,
    answer: object,
    verdict: object,
    *,
    chat: bool = True,
    asked: bool = True,
) -> Iterator[Instance]:
    """The questions about one answer, where each of them gets this verdict. The last one may have an error."""
    doc, verdicts = doc_of(task, doc_id, text), list[Any]()
    while True:
        found = next_question(task, judge, doc_id, text, answer, verdicts, doc=doc, chat=chat, asked=asked)
        if found is None:
            return
        yield found
        if found.error is not None:
            return
        verdicts.append(verdict)


def _written(
    task: Task,
    instance: Instance,
    step: JudgeStep,
    doc: LazyDoc | None,
    ask: Callable[[LazyDoc], object],
    *,
    chat: bool,
    asked: bool,
    ends: bool = False,
) -> Instance | None:
    """The instance with what a step writes, or with its error. ends: None is returned where it writes None."""
    where, text = f"{task.path} doc {instance.doc_id}", instance.doc

    def say(doc: LazyDoc | None = None) -> object:  # without one the pictures are not kept in memory
        return _said(lambda: ask(doc if doc is not None else doc_of(task, instance.doc_id, text)), where)

    def images() -> list[Image]:
        return turns_of(say(), where)[1]

    try:
        said = say(doc)
        if said is None and ends:
            return None
        messages, pictures = turns_of(said, where)
        instance.generation_kwargs = step.generation_kwargs
        return filled(instance, messages, pictures, images, chat=chat, asked=asked)
    except MMEvalError as error:
        instance.error = error.located(where)
    return instance


def filled(
    instance: Instance,
    messages: list[Message],
    pictures: Sequence[Image],
    images: Callable[[], list[Image]],
    *,
    chat: bool,
    asked: bool,
) -> Instance:
    """An instance with its prompt. images: makes the pictures again. chat, asked: see `judge_instance`."""
    instance.context = messages if chat else as_one_text(messages)
    instance.metadata["prompt"] = shown(messages)
    instance.choice = prompt_digest(messages)
    if pictures and asked:
        with decoding(f"{instance.slot.name} doc {instance.doc_id}"):
            instance.image_digests = tuple(map(picture_digest, pictures))
        instance.pixels = sum(picture.width * picture.height for picture in pictures)
        instance.images = images
    return instance


def _said(ask: Callable[[], object], where: str) -> object:
    """What the task's function gives as its prompt. JudgeError if it fails."""
    try:
        with during(NO_CALLS, NO_SOCKET):
            return ask()
    except MMEvalError:
        raise
    except Exception as error:  # the task's own code
        raise JudgeError(f"the judge's prompt failed: {kind_and_text(error)}", where=where) from error


def turns_of(said: object, where: str) -> tuple[list[Message], list[Image]]:
    """(chat messages, their pictures in order) of a prompt: a text, or turns. JudgeError if it is something else."""
    if isinstance(said, str):
        return [{"role": "user", "content": [{"type": "text", "text": said}]}], []
    if not isinstance(said, list) or not said or not all(map(_is_turn, said)):
        hint = f"Give a text, or turns with a `role` ({', '.join(ROLES)}) and `content`."
        raise JudgeError(f"the judge's prompt is {said!r:.80}.", where=where, hint=hint)
    pictures: list[Image] = []
    return [{"role": turn["role"], "content": _parts(turn["content"], pictures, where)} for turn in said], pictures


def _is_turn(turn: object) -> bool:
    return isinstance(turn, Mapping) and turn.get("role") in ROLES and isinstance(turn.get("content"), (str, list))


def _parts(content: Any, pictures: list[Image], where: str) -> list[JsonObject]:
    parts: list[dict[str, object]] = []
    for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text" and isinstance(part.get("text"), str):
            parts.append({"type": "text", "text": part["text"]})
        elif kind == "image" and "image" in part:
            pictures += to_pictures([part["image"]], where, "the judge's prompt")
            parts.append({"type": "image"})
        else:
            raise JudgeError(
                f"the judge's prompt has a part that is neither text nor picture: {part!r:.80}.", where=where
            )
    return parts


def as_one_text(messages: Sequence[Message]) -> Context:
    """Messages as one text, for a judge without a chat template."""
    texts = ["".join(part.get("text", IMAGE_MARK) for part in message["content"]) for message in messages]
    return "\n\n".join(texts)


def shown(messages: list[Message]) -> str | list[Message]:
    """A prompt for samples/: the text itself where it is one turn of text, else the messages."""
    parts = messages[0]["content"]
    alone = len(messages) == 1 and messages[0]["role"] == "user" and [part["type"] for part in parts] == ["text"]
    return str(parts[0]["text"]) if alone else messages


def prompt_digest(messages: Sequence[Message]) -> int:
    """48 bits of a prompt's text, for the slot of its replies."""
    text = json.dumps(messages, sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big")
