"""Answers that say nothing: empty ones, and those that no filter pipeline could read.

Where there are many of them a score measures the prompt, the chat template or the filters, and not the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ONE_IN = 5
"""A warning comes where more than one in so many answers says nothing."""
LONGEST = 60
"""Characters of an answer that a warning quotes."""


@dataclass
class SilentAnswers:
    """Counts a task's generated answers, and those that say nothing.

    quoted: (doc id, answer) of two of them. blocks: the names of the task's prompt blocks.
    """

    answers: int = 0
    silent: int = 0
    quoted: list[tuple[int, str]] = field(default_factory=list)
    blocks: tuple[str, ...] = ()

    def add(self, doc_id: int, resps: Sequence[Any], rules: Mapping[str, Sequence[str]]) -> None:
        """The answers to a doc, one a repeat; rules: of each pipeline, the rule that read each of them, or "unparsed"."""
        for place, answer in enumerate(resps):
            if not isinstance(answer, str):
                continue
            self.answers += 1
            unread = bool(rules) and all(
                found[place : place + 1] == ["unparsed"] for found in map(list, rules.values())
            )
            if unread or not answer.strip():
                self.silent += 1
                self._quote(doc_id, answer)

    def _quote(self, doc_id: int, answer: str) -> None:
        """Keeps the first answer, and a second one that is other words if there is any."""
        if len(self.quoted) < 2:
            self.quoted.append((doc_id, answer))
        elif self.quoted[0][1] == self.quoted[1][1] != answer:
            self.quoted[1] = (doc_id, answer)

    @property
    def warning(self) -> str:
        """A sentence where more than a fifth of the answers say nothing, else empty."""
        if self.silent * ONE_IN <= self.answers:
            return ""
        shown = " and ".join(f"{_quoted(answer)} (doc {doc_id})" for doc_id, answer in self.quoted)
        others = f" Its prompt blocks are {', '.join(self.blocks)} (--prompt_key)." if len(self.blocks) > 1 else ""
        return (
            f"{self.silent} of {self.answers} answers are empty or unparsed, such as {shown}. "
            f"Look at the prompt (`mm-eval show`) and the chat template before you use these numbers.{others}"
        )


def _quoted(answer: str) -> str:
    return repr(answer[:LONGEST]) + ("..." if len(answer) > LONGEST else "")
