"""A question to a judge: what a task's `prompt` function writes about an answer, as an Instance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.config.runner import NO_CALLS, during
from mm_eval.data.decode import decoding
from mm_eval.data.media import picture_digest, to_pictures
from mm_eval.features.judge.config import JudgeStep, judge_of_task
from mm_eval.prompt.task import Task
from mm_eval.prompt.visuals import ROLES
from mm_eval.values.errors import JudgeError, MMEvalError
from mm_eval.values.lazy_doc import LazyDoc
from mm_eval.values.types import IMAGE_MARK, Context, Doc, Instance, Message

if TYPE_CHECKING:
    from PIL.Image import Image


NO_SOCKET = "which a task with `judge` may not: mm-eval asks the judge itself (--judge)"
"""Why a task's `prompt` and `verdict` open no connection."""


def doc_of(task: Task, doc_id: int, text: Doc) -> LazyDoc:
    """The doc as a judge's functions get it. text: the doc without its pictures."""
    return LazyDoc(text, lambda: task.docs.full(doc_id))


def judge_instance(
    task: Task,
    judge: str,
    step: int,
    doc_id: int,
    text: Doc,
    answer: Any,
    *,
    repeat: int = 0,
    chat: bool = True,
    swapped: bool = False,
    asked: bool = True,
) -> Instance:
    """The question of one step about an answer. An error of the task's function, or of a picture, stands in `error`.

    text: the doc without its pictures. chat: the judge takes chat messages. asked: False for scoring: pictures get no digests.
    The `choice` of its slot is a digest of the prompt, so that another prompt or answer has another slot and is asked anew.
    """
    stated = judge_of_task(task.config)
    assert stated is not None
    of_step, where = stated.steps[step], f"{task.path} doc {doc_id}"
    instance = Instance("generate_until", task.path, doc_id, text, repeat=repeat, judge=judge, step=step)

    def write() -> tuple[list[Message], list[Image]]:
        return written(of_step, doc_of(task, doc_id, text), answer, where, swapped)

    def images() -> list[Image]:
        return write()[1]

    try:
        messages, pictures = write()
        instance.generation_kwargs = of_step.generation_kwargs
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


def written(
    step: JudgeStep, doc: Doc, answer: Any, where: str, swapped: bool = False
) -> tuple[list[Message], list[Image]]:
    """(chat messages, their pictures in order) that a step writes. JudgeError if its function fails or gives something else."""
    try:
        with during(NO_CALLS, NO_SOCKET):
            said = step.ask(doc, answer, swapped)
    except MMEvalError:
        raise
    except Exception as error:  # the task's own code
        raise JudgeError(f"the judge's prompt failed: {type(error).__name__}: {error}", where=where) from error
    return turns_of(said, where)


def turns_of(said: Any, where: str) -> tuple[list[Message], list[Image]]:
    """(chat messages, their pictures in order) of a prompt: a text, or turns. JudgeError if it is something else."""
    if isinstance(said, str):
        return [{"role": "user", "content": [{"type": "text", "text": said}]}], []
    if not isinstance(said, list) or not said or not all(map(_is_turn, said)):
        hint = f"Give a text, or turns with a `role` ({', '.join(ROLES)}) and `content`."
        raise JudgeError(f"the judge's prompt is {said!r:.80}.", where=where, hint=hint)
    pictures: list[Image] = []
    return [{"role": turn["role"], "content": _parts(turn["content"], pictures, where)} for turn in said], pictures


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, Mapping) and turn.get("role") in ROLES and isinstance(turn.get("content"), (str, list))


def _parts(content: Any, pictures: list[Image], where: str) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
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
