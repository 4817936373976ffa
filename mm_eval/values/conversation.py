"""A conversation: a chain of requests, each of which a pure function makes of the doc and the model's answers so far.

    turns.next(conversation) -> messages | End

The first request of a doc is the task's own. `Turns.next` gets what was said so far and returns what is said next, or the end.
Each turn is a request with a slot of its own, and its answer is recorded before the next one is made. A resumed run calls the
function with the recorded answers again, so it may depend on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from mm_eval.values.types import Answer, Clip, Context, Doc, End, Instance, Message

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Conversation:
    """What was said of a doc so far.

    doc: with its pictures, which are loaded when one is looked up. doc_id, repeat: of it.
    context: the prompt of the last turn, and the last answer as the model's message. first: the prompt of the first turn.
    answers: the model's, the last one last. Their texts know their reasoning (`parts_of`).
    pictures: loads the pictures that the model has seen, RGB, in the order of their places in `context`. shown: how many of
        them each turn has added. of_examples: how many of them, the first ones, are few-shot examples'.
    kwargs: those of the prompt block, as functions of tasks get them.
    clips: which of the question's pictures are the frames of a video.
    """

    doc: Doc
    doc_id: int
    repeat: int
    context: Context
    first: Context
    answers: Sequence[Answer]
    pictures: Callable[[], list[Image]]
    shown: Sequence[int] = ()
    of_examples: int = 0
    kwargs: Mapping[str, object] = field(default_factory=dict)
    clips: Sequence[Clip] = ()


class Turns(Protocol):
    """What makes the further turns of one task under one model; `turns_of` in prepare.py finds it."""

    @property
    def fresh(self) -> bool:
        """Whether each turn is asked alone, without what was said before."""
        ...

    @property
    def ends_when_full(self) -> bool:
        """Whether what the model does makes prompts longer, so that one that does not fit ends the conversation."""
        ...

    @property
    def most(self) -> Mapping[str, int]:
        """What a document may have at most, by its noun: {"calls": 50, "rounds": 50}. A round is one answer of the model."""
        ...

    def begin(self, instance: Instance) -> Instance:
        """The first request of a doc as it is asked, such as with a system message that lists tools."""
        ...

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        """What is said after the last answer, or the end.

        A message has a `role`, and its `content` is a text or a list of parts: {"type": "text", "text": "..."},
        {"type": "image", "image": a PIL image}, {"type": "video", "video": a `Video` or a path}. Other keys of a message, such as
        `tool_call_id`, are passed on.
        What it raises is the doc's error.
        """
        ...

    def said(self, answers: Sequence[Answer]) -> Message:
        """The model's last answer as a message of the turns that follow. answers: all of them."""
        ...

    def to_json(self) -> Mapping[str, object]:
        """What it is made of beside the task, for run.json; `recorded` of its class reads it where there is no model."""
        ...
