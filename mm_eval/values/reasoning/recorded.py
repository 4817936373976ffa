"""Recorded answers as texts that know how they ended, for whoever reads them first: the filter `strip_thinking`, and graders.

An adapter that runs the model has cut the reasoning by token ids already, and recorded it beside the answer. Other answers are
split here, by their text and by what the run tells about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from mm_eval.values.reasoning.families import NO_MARKS, Marks
from mm_eval.values.reasoning.split import Parts, split
from mm_eval.values.types import Answer


class Recorded(str):
    """The text of a recorded answer.

    marks: those that the user and the task state. later: those among them that the adapter did not know. capped: the token cap
    ended it. told: the reasoning that the adapter has cut; None if it did not tell. opened: the prompt opened the reasoning, so
    far as the other answers show.
    listed: it is a list of answers, as JSON, each without its reasoning (`End`).
    """

    marks: Marks = NO_MARKS
    later: Marks = NO_MARKS
    capped: bool = False
    opened: bool = False
    told: str | None = None
    listed: bool = False

    @cached_property
    def parts(self) -> Parts:
        """Its reasoning and its answer; several readers ask for them."""
        if self.listed:
            return Parts("", str(self))
        if self.told is None:
            found = split(self, self.marks, capped=self.capped)
            if self.opened and self.capped and found.closed and not found.cut:
                return Parts(str(self), "", closed=False)
            return found
        if self.told and not split(self, self.marks).closed and is_opening(self, self.marks):
            return Parts(self.told, "", closed=False)
        if self.later.pairs and (found := split(self, self.later, capped=self.capped)).cut:
            return Parts(f"{self.told}{found.reasoning}", found.answer, found.closed)
        return Parts(self.told, str(self))


def parts_of(answer: str) -> Parts:
    """The reasoning and the answer of a text, by what is known of it.

    >>> parts_of("<think>A?</think>B")
    Parts(reasoning='<think>A?</think>', answer='B', closed=True)
    """
    return answer.parts if isinstance(answer, Recorded) else split(answer)


def as_text(output: object) -> str:
    """An output as text; a text keeps what is known of it."""
    return output if isinstance(output, str) else str(output)


def is_opening(text: str, marks: Marks = NO_MARKS) -> bool:
    """Whether a text is an opening mark and nothing else."""
    found = marks.anywhere.fullmatch(text.strip())
    return found is not None and bool(found["opening"])


def closes_what_the_prompt_opened(answer: Answer, marks: Marks) -> bool:
    """Whether the first mark in what the model wrote is a closing one."""
    text = f"{answer.reasoning or ''}{answer.output if isinstance(answer.output, str) else ''}"
    found = marks.anywhere.search(text)
    return found is not None and bool(found["closing"])


@dataclass
class Reading:
    """How the answers of one run are read.

    marks: those that the user states. of_tasks: by a task's path those that count for its answers, where it states some, too.
    of_adapter: those that the adapter knew, where they are not `marks`.
    opened: whether the prompts open the reasoning, as the other answers show: one of them begins inside it. None before they were
        looked at.
    """

    marks: Marks = NO_MARKS
    opened: bool | None = None
    of_tasks: Mapping[str, Marks] = field(default_factory=dict)
    of_adapter: Marks | None = None

    def look_at(self, answer: Answer) -> None:
        """Takes an answer that came after the others were looked at: it may show that the prompts open the reasoning."""
        if self.opened is False:
            self.opened = closes_what_the_prompt_opened(answer, self.marks)

    def read(self, answer: Answer, others: Iterable[Answer], task: str = "") -> Answer:
        """The answer with its text as `Recorded`. others: all answers of the run, looked at once, for one that was cut.

        task: the path of the task whose answer it is.
        """
        if not isinstance(answer.output, str):
            return answer
        marks = self.of_tasks.get(task, self.marks)
        if marks.off and answer.reasoning:
            answer = replace(answer, output=f"{answer.reasoning}{answer.output}", reasoning="")
        text = Recorded(answer.output)
        text.marks, text.capped, text.told = marks, answer.truncated, answer.reasoning
        if answer.reasoning is not None:
            text.later = marks.beyond(self.marks if self.of_adapter is None else self.of_adapter)
        if answer.truncated and answer.reasoning is None:
            if self.opened is None:
                self.opened = any(closes_what_the_prompt_opened(other, self.marks) for other in others)
            text.opened = self.opened
        return answer.having(output=text)
