"""`rounds:` in a task file: what is said after each answer of the model, as long as there is something to say.

    rounds: !function utils.next_turn       # (doc, answers) -> text, message, list of messages, or None at the end
    max_rounds: 6
    rounds: {next: !function utils.next_turn, scored: all}      # all answers are scored, as a JSON list of texts

`answers` are the model's answers so far (`Answer`: `output`, `ended`). The function must be pure: a resumed run calls it again
with the recorded answers.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.model import ModelFacts
from mm_eval.prompt.blocks import PROMPT_KEYWORDS
from mm_eval.prompt.conversation import answer_in, message_of, with_reasoning_apart
from mm_eval.values.conversation import Conversation
from mm_eval.values.deadline import in_time
from mm_eval.values.types import Answer, End, Instance, Message

MOST_ROUNDS = 20
"""The most answers of a conversation where the task does not state `max_rounds`."""
AT_MOST = "max_rounds"


@dataclass(frozen=True)
class Rounds:
    """The rounds of a task (`Turns`).

    limit: the most answers of a conversation. scores_all: all answers are scored, as a JSON list of texts, not the last one.
    """

    next_turn: Callable[..., object]
    limit: int = MOST_ROUNDS
    scores_all: bool = False
    fresh: bool = False
    ends_when_full: bool = False

    @classmethod
    def of_task(cls, config: TaskConfig, facts: ModelFacts) -> Rounds | None:
        """The rounds that a resolved config states; None where it states none."""
        return cls.recorded(config, {})

    @classmethod
    def recorded(cls, config: TaskConfig, stated: Mapping[str, object]) -> Rounds | None:
        """The same of a recorded run."""
        if config.rounds is None or config.rounds.made_by != "next":
            return None
        return cls(config.rounds.next, config.max_rounds or MOST_ROUNDS, config.rounds.scores_all)

    @property
    def most(self) -> Mapping[str, int]:
        return {"rounds": self.limit}

    def begin(self, instance: Instance) -> Instance:
        return instance

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        if len(conversation.answers) >= self.limit:
            return self._end(conversation, AT_MOST)
        answers, more = (
            [with_reasoning_apart(answer) for answer in conversation.answers],
            arguments_of(self.next_turn, conversation),
        )
        found = in_time("the function of `rounds`", self.next_turn, conversation.doc, answers, **more)
        if found is None:
            return self._end(conversation)
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
        return [dict(found)] if isinstance(found, Mapping) else list(found)

    def _end(self, conversation: Conversation, why: str = "") -> End:
        if not self.scores_all:
            return End(why=why)
        return End(json.dumps(list(map(answer_in, conversation.answers)), ensure_ascii=False), why=why, listed=True)

    def said(self, answers: Sequence[Answer]) -> Message:
        return message_of(answers[-1])

    def to_json(self) -> Mapping[str, object]:
        return {}


def arguments_of(function: Callable[..., object], conversation: Conversation) -> dict[str, object]:
    """The further arguments that a task's function declares: the prompt kwargs, and what was said so far."""
    known: dict[str, object] = dict.fromkeys(PROMPT_KEYWORDS, conversation.kwargs)
    known["conversation"] = conversation
    declared = inspect.signature(function).parameters
    return {name: value for name, value in known.items() if name in declared}
