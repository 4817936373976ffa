"""Lays out a prompt: a question, its examples and the places of their pictures and sounds, as plain text or as chat messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mm_eval.config.task_config import TaskConfig
from mm_eval.values.types import AUDIO_MARK, IMAGE_MARK, JsonObject, Message

MARKS = {"i": IMAGE_MARK, "a": AUDIO_MARK}
"""The letter of a picture and of a sound in what a turn shows, and its mark in a text."""
PARTS = {"i": "image", "a": "audio"}
"""The same, and its type among the parts of a message."""


class Turn(NamedTuple):
    """A question; for an example, with its answer.

    shown: what is shown before the text, or at the marks in it, a letter each (`MARKS`). prefix: the text that begins the answer.
    """

    text: str
    shown: str = ""
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

    If an example has pictures, or anything is heard, a mark stands in the place of each picture and sound; otherwise the
    adapter puts the question's pictures first.
    """
    if any(shot.shown for shot in shots) or any("a" in turn.shown for turn in (*shots, question)):
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
            messages.append({"role": "user", "content": _parts(shot.shown, shot.text)})
            messages.append({"role": "assistant", "content": [_text(shot.reply())]})
        messages.append({"role": "user", "content": _parts(question.shown, question.text)})
    else:
        examples = [part for shot in shots for part in _parts(shot.shown, layout.example(shot))]
        messages.append({"role": "user", "content": examples + _parts(question.shown, question.text)})
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
    """The turn with a mark for each of its pictures and sounds."""
    return turn._replace(text="".join(f"{MARKS[kind]}\n" for kind in _first(turn.shown, turn.text)) + turn.text)


def _first(shown: str, text: str) -> str:
    """What stands before a text: all that is shown but for pictures, or sounds, that have a mark each in it."""
    return "".join(kind for kind in shown if text.count(MARKS[kind]) != shown.count(kind))


def _parts(shown: str, text: str) -> list[JsonObject]:
    """The parts of a turn: each picture and sound at its mark in the text, or before it."""
    first = _first(shown, text)
    marked = {MARKS[kind]: PARTS[kind] for kind in MARKS if kind in shown and kind not in first}
    before: list[JsonObject] = [{"type": PARTS[kind]} for kind in first]
    if not marked:
        return [*before, _text(text)]
    pieces = re.split("(" + "|".join(map(re.escape, marked)) + ")", text)
    parts = [{"type": marked[piece]} if place % 2 else _text(piece) for place, piece in enumerate(pieces)]
    return [*before, *(part for part in parts if part.get("text") != "")]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
