"""Lays a question, its examples and its pictures out as plain text or as chat messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mm_eval.errors import DataError, MMEvalError
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.decode import decoding
from mm_eval.task.media import to_pictures
from mm_eval.types import IMAGE_MARK, Context, Doc, Message

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Turn:
    """A question and, for an example, its answer. pictures: how many stand before the text. prefix: how the answer begins."""

    text: str
    pictures: int = 0
    answer: str = ""
    prefix: str = ""

    def reply(self) -> str:
        """An example's answer behind its prefix."""
        return joined(self.prefix, self.answer, " ")


def joined(left: str, right: str, delimiter: str) -> str:
    """Two texts with a delimiter between them, where neither is empty nor brings white space of its own there."""
    if not left or not right or left[-1].isspace() or right[0].isspace():
        return left + right
    return left + delimiter + right


@dataclass(frozen=True)
class Layout:
    """How a task joins the parts of a prompt.

    target_delimiter: between a question and what begins its answer. shot_delimiter: the same for examples. gap: after each.
    multiturn: in a chat each example is an exchange of its own; else all stand in the user's turn.
    """

    target_delimiter: str = " "
    shot_delimiter: str = " "
    gap: str = "\n\n"
    multiturn: bool = True

    def example(self, shot: Turn) -> str:
        """An example as running text."""
        if shot.prefix:
            return joined(shot.text, shot.reply(), self.shot_delimiter) + self.gap
        return f"{shot.text}{self.shot_delimiter}{shot.answer}{self.gap}"


def plain_context(question: Turn, shots: Sequence[Turn], layout: Layout, description: str, system: str | None) -> str:
    """One text: system instruction, description, examples, question, and what begins the answer.

    Where examples have pictures each picture's place is marked with IMAGE_MARK; else the adapter puts a question's own
    pictures in front.
    """
    if any(shot.pictures for shot in shots):
        shots, question = [_marked(shot) for shot in shots], _marked(question)
    lead = f"{system}\n\n" if system else ""
    asked = joined(question.text, question.prefix, layout.target_delimiter)
    return f"{lead}{description}{''.join(map(layout.example, shots))}{asked}"


def _marked(turn: Turn) -> Turn:
    if turn.text.count(IMAGE_MARK) == turn.pictures:
        return turn
    return replace(turn, text=f"{IMAGE_MARK}\n" * turn.pictures + turn.text)


def lead_of(system: str | None, description: str) -> str:
    """The system message of a chat."""
    return "\n\n".join(part for part in (system, description) if part)


def chat_context(
    question: Turn, shots: Sequence[Turn], layout: Layout, description: str, system: str | None
) -> list[Message]:
    """Chat messages; every example and the question stand behind their own pictures.

    System instruction and description are the system message; what begins the answer is a last turn of the assistant.
    """
    messages: list[Message] = []
    if lead := lead_of(system, description):
        messages.append({"role": "system", "content": [_text(lead)]})
    if layout.multiturn:
        for shot in shots:
            messages.append({"role": "user", "content": _parts(shot.pictures, shot.text)})
            messages.append({"role": "assistant", "content": [_text(shot.reply())]})
        messages.append({"role": "user", "content": _parts(question.pictures, question.text)})
    else:
        shown = [part for shot in shots for part in _parts(shot.pictures, layout.example(shot))]
        messages.append({"role": "user", "content": shown + _parts(question.pictures, question.text)})
    if question.prefix:
        messages.append({"role": "assistant", "content": [_text(question.prefix)]})
    return messages


def written_context(messages: Sequence[Message], lead: str, prefix: str) -> list[Message]:
    """Chat messages that a task writes itself: the lead begins its system message, what begins the answer is a last turn."""
    written = list(messages)
    if lead and written[0]["role"] == "system":
        written[0] = {"role": "system", "content": [_text(f"{lead}\n\n"), *written[0]["content"]]}
    elif lead:
        written.insert(0, {"role": "system", "content": [_text(lead)]})
    if prefix:
        written.append({"role": "assistant", "content": [_text(prefix)]})
    return written


def write_context(
    question: Turn, shots: Sequence[Turn], layout: Layout, description: str, system: str | None, chat: bool
) -> Context:
    """The context of an instance: chat messages, or one text."""
    write = chat_context if chat else plain_context
    return write(question, shots, layout, description, system)


def _parts(pictures: int, text: str) -> list[dict[str, Any]]:
    """Pictures and text of a turn: each picture where the text marks its place, else all in front of it."""
    pieces = text.split(IMAGE_MARK)
    if pictures and len(pieces) == pictures + 1:
        first, *rest = pieces
        parts = [part for piece in rest for part in ({"type": "image"}, _text(piece))]
        return [part for part in (_text(first), *parts) if part.get("text") != ""]
    return [{"type": "image"}] * pictures + [_text(text)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


ROLES = ("system", "user", "assistant")


def messages_of(
    doc_to_messages: Callable[..., Any], doc: Doc, block: PromptBlock, where: str
) -> tuple[list[Message], list[Image]]:
    """The turns that a task's function writes for a whole doc, and the pictures in them, in their order.

    The function gives `[{"role": "user", "content": [{"type": "image", "url": picture}, {"type": "text", "text": "..."}]}]`.
    Errors: DataError when it fails, or gives a turn or part of another kind (video and audio above all).
    """
    with decoding(where):
        try:
            given = call(doc_to_messages, doc, block, second=True)
        except (MMEvalError, OSError, SyntaxError, ValueError):
            raise
        except Exception as error:  # the task's own code
            raise DataError(f"doc_to_messages failed: {type(error).__name__}: {error}", where=where) from error
    if not isinstance(given, list) or not given:
        raise DataError(f"doc_to_messages gave {given!r:.80}, not a list of turns.", where=where)
    pictures: list[Image] = []
    return [_turn(turn, pictures, where) for turn in given], pictures


def _turn(turn: Any, pictures: list[Image], where: str) -> Message:
    if not isinstance(turn, Mapping) or turn.get("role") not in ROLES or not isinstance(turn.get("content"), list):
        raise DataError(
            f"doc_to_messages gave the turn {turn!r:.80}.",
            where=where,
            hint=f"A turn has a `role` ({', '.join(ROLES)}) and `content`, a list of parts.",
        )
    return {"role": turn["role"], "content": [_part(part, pictures, where) for part in turn["content"]]}


def _part(part: Any, pictures: list[Image], where: str) -> dict[str, Any]:
    """A part without its picture, which goes to `pictures`."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "image" and "url" in part:
        pictures += to_pictures([part["url"]], where, "doc_to_messages")
        return {"type": "image"}
    raise DataError(f"doc_to_messages gave a part that is no text and no picture: {part!r:.80}.", where=where)
