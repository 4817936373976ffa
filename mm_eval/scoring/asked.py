"""What a task's own scoring function asked another model, and what came of it: values between the function and who answers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mm_eval.values.errors import MMEvalError
from mm_eval.values.types import Answer, Message

RETRIES = 2
"""Further replies to a question whose reply could not be read."""


@dataclass(frozen=True)
class CodeQuestion:
    """What a task's code asks another model.

    messages: chat messages; a picture is the part {"type": "image", "image": a PIL image}.
    repeat: how many earlier questions of this doc were the same. model: the name that the code states.
    """

    messages: list[Message]
    generation_kwargs: Mapping[str, Any]
    repeat: int = 0
    model: str = ""


Lookup = Callable[[CodeQuestion], Answer | None]
"""The recorded reply, or failure, to a question; None where there is neither."""


@dataclass
class Asked:
    """What one run of a task's function came to.

    value: what it returned, where there is neither `pending` nor `error`.
    questions, replies: those with a known reply, in the order asked.
    pending: the question that ended it, which has no reply. error: no reply to it came, or none could be read.
    """

    lookup: Lookup
    retries: int = RETRIES
    value: Any = None
    questions: list[CodeQuestion] = field(default_factory=list)
    replies: list[Answer] = field(default_factory=list)
    pending: CodeQuestion | None = None
    error: MMEvalError | None = None

    @property
    def waits(self) -> bool:
        """Whether it has no value, because a reply is missing or could not be read."""
        return self.pending is not None or self.error is not None
