"""Lays out a prompt: a question, its examples and the places of their pictures, as plain text or as chat messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mm_eval.config.task_config import TaskConfig
from mm_eval.values.types import IMAGE_MARK, JsonObject, Message


class Turn(NamedTuple):
    """A question; for an example, with its answer.

    pictures: how many are shown before the text, or at the IMAGE_MARKs in it. prefix: the text that begins the answer.
    """

    text: str
    pictures: int = 0
    answer: str = ""
    prefix: str = ""

    def reply(self) -> str:
        """An example's answer after its prefix."""
        return join(self.prefix, self.answer, " ")


def join(left: str, right: str, delimiter: str) -> str:
    """Two texts with a delimiter between them, unless one is empty or white space already separates them."""
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return left + right
    return left + delimiter + right


@dataclass(frozen=True)
class Layout:
    """How a task joins the parts of a prompt.

    target_delimiter: between a question and its prefix. shot_delimiter: between an example and its answer.
    gap: after each example. multiturn: in a chat each example is two turns; otherwise all are in the user's turn.
    """

    target_delimiter: str = " "
    shot_delimiter: str = " "
    gap: str = "\n\n"
    multiturn: bool = True

    @classmethod
    def of_task(cls, config: TaskConfig, multiturn: bool | None = None) -> Layout:
        """The layout of a task; its `fewshot_config` comes before its own keys. multiturn: the run's, if it states one."""
        shots = {key: value for key, value in config.fewshot_config.items() if value is not None}
        if multiturn is None:
            multiturn = config.fewshot_as_multiturn
        return cls(
            config.target_delimiter,
            shots.get("target_delimiter", config.target_delimiter),
            shots.get("fewshot_delimiter", config.fewshot_delimiter),
            True if multiturn is None else multiturn,
        )

    def example(self, shot: Turn) -> str:
        """An example as running text."""
        if shot.prefix:
            return join(shot.text, shot.reply(), self.shot_delimiter) + self.gap
        return f"{shot.text}{self.shot_delimiter}{shot.answer}{self.gap}"


def plain_context(question: Turn, shots: Sequence[Turn], layout: Layout, description: str, system: str | None) -> str:
    """One text: system instruction, description, examples, question and its prefix.

    If an example has pictures, IMAGE_MARK marks the place of every picture; otherwise the adapter puts the question's
    pictures first.
    """
    if shots and any(shot.pictures for shot in shots):
        shots, question = [_with_marks(shot) for shot in shots], _with_marks(question)
    lead = f"{system}\n\n" if system else ""
    ending = join(question.text, question.prefix, layout.target_delimiter)
    return f"{lead}{description}{''.join(map(layout.example, shots))}{ending}"


def chat_context(
    question: Turn, shots: Sequence[Turn], layout: Layout, description: str, system: str | None
) -> list[Message]:
    """Chat messages: a system message, examples, the question, and its prefix as a last turn of the assistant."""
    messages: list[Message] = []
    if layout.multiturn:
        for shot in shots:
            messages.append({"role": "user", "content": _parts(shot.pictures, shot.text)})
            messages.append({"role": "assistant", "content": [_text(shot.reply())]})
        messages.append({"role": "user", "content": _parts(question.pictures, question.text)})
    else:
        examples = [part for shot in shots for part in _parts(shot.pictures, layout.example(shot))]
        messages.append({"role": "user", "content": examples + _parts(question.pictures, question.text)})
    return written_context(messages, description, system, question.prefix)


def written_context(
    messages: Sequence[Message], description: str, system: str | None, prefix: str = ""
) -> list[Message]:
    """Chat messages with the run's part around them.

    System instruction and description begin the system message; the prefix is a last turn of the assistant.
    """
    messages = list(messages)
    lead = "\n\n".join(part for part in (system, description) if part)
    if lead and messages[0]["role"] == "system":
        messages[0] = {"role": "system", "content": [_text(f"{lead}\n\n"), *messages[0]["content"]]}
    elif lead:
        messages.insert(0, {"role": "system", "content": [_text(lead)]})
    if prefix:
        messages.append({"role": "assistant", "content": [_text(prefix)]})
    return messages


def _with_marks(turn: Turn) -> Turn:
    """The turn with an IMAGE_MARK for each of its pictures."""
    if turn.text.count(IMAGE_MARK) == turn.pictures:
        return turn
    return turn._replace(text=f"{IMAGE_MARK}\n" * turn.pictures + turn.text)


def _parts(pictures: int, text: str) -> list[JsonObject]:
    """The parts of a turn: each picture at its mark in the text, or all of them first."""
    pieces = text.split(IMAGE_MARK)
    if pictures and len(pieces) == pictures + 1:
        first, *rest = pieces
        parts = [part for piece in rest for part in ({"type": "image"}, _text(piece))]
        return [part for part in (_text(first), *parts) if part.get("text") != ""]
    return [{"type": "image"}] * pictures + [_text(text)]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
