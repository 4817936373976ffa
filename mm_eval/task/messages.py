"""Chat messages that a task writes itself: lmms-eval's `doc_to_messages`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mm_eval.errors import DataError, MMEvalError
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.decode import decoding
from mm_eval.task.media import to_pictures
from mm_eval.types import Doc, Message

if TYPE_CHECKING:
    from PIL.Image import Image

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
