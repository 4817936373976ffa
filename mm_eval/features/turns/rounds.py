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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.config.arguments import Rule
from mm_eval.config.located import LocatedDict, located
from mm_eval.config.schema import FUNCTION, POSITIVE, check_keys, is_function
from mm_eval.config.task_config import TaskConfig, TaskKey
from mm_eval.engine.model import ModelFacts
from mm_eval.prompt.blocks import PROMPT_KEYWORDS
from mm_eval.prompt.conversation import answer_in, message_of, with_reasoning_apart
from mm_eval.values.conversation import Conversation
from mm_eval.values.deadline import in_time
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, End, Instance, Message

MOST_ROUNDS = 20
"""The most answers of a conversation where the task does not state `max_rounds`."""
AT_MOST = "max_rounds"
OF_DOC_TO_TEXT = ("doc_to_text", "agentic")
"""Values of `rounds` by which lmms-eval's doc_to_text makes the rounds."""

KEYS = {"next": FUNCTION, "scored": Rule("last or all", lambda value: value in ("last", "all"))}
"""Keys of `rounds` where it is a mapping."""


class RoundsKey(TaskKey):
    """The key `rounds` of task files."""

    name = "rounds"

    @staticmethod
    def check(source: LocatedDict) -> None:
        stated = source["rounds"]
        if is_function(stated) or stated in OF_DOC_TO_TEXT:
            return
        if not isinstance(stated, Mapping):
            what = f"'rounds' must be a function (!function utils.next_turn) or a mapping, not {stated!r:.80}."
            raise ConfigError(what, where=source.where("rounds"))
        check_keys(located(stated), KEYS, "rounds")
        if stated.get("next") is None:
            hint = "next: !function utils.next_turn"
            raise ConfigError("rounds needs `next`.", where=source.where("rounds"), hint=hint)

    @classmethod
    def conflicts(cls, config: TaskConfig) -> Iterator[tuple[str, str, str]]:
        yield from super().conflicts(config)
        stated = config.of_features["rounds"]
        if stated in OF_DOC_TO_TEXT and not is_function(config.doc_to_text):
            yield f"rounds: {stated} needs a function as doc_to_text.", "rounds", ""


class MostRoundsKey(TaskKey):
    """The key `max_rounds` of task files."""

    @staticmethod
    def check(source: LocatedDict) -> None:
        if not POSITIVE.fits(stated := source["max_rounds"]):
            raise ConfigError(
                f"'max_rounds' must be {POSITIVE.needed}, not {stated!r:.80}.", where=source.where("max_rounds")
            )

    @classmethod
    def conflicts(cls, config: TaskConfig) -> Iterator[tuple[str, str, str]]:
        if "rounds" not in config.of_features:
            yield "max_rounds needs `rounds`.", "max_rounds", ""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a task (`Turns`).

    most: answers of a conversation. scores_all: what is scored is all answers as a JSON list of texts, not the last one.
    """

    next_turn: Callable[..., Any]
    most: int = MOST_ROUNDS
    scores_all: bool = False
    fresh: bool = False
    ends_when_full: bool = False

    @classmethod
    def of_task(cls, config: TaskConfig, facts: ModelFacts) -> Rounds | None:
        """The rounds that a resolved config states; None where it states none."""
        return cls.recorded(config, {})

    @classmethod
    def recorded(cls, config: TaskConfig, stated: Mapping[str, Any]) -> Rounds | None:
        """The same of a recorded run."""
        found = config.of_features.get("rounds")
        if found is None or isinstance(found, str):
            return None
        most = config.of_features.get("max_rounds", MOST_ROUNDS)
        if isinstance(found, Mapping):
            return cls(found["next"], most, found.get("scored") == "all")
        return cls(found, most)

    def begin(self, instance: Instance) -> Instance:
        return instance

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        if len(conversation.answers) >= self.most:
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

    def to_json(self) -> Mapping[str, Any]:
        return {}


def arguments_of(function: Callable[..., Any], conversation: Conversation) -> dict[str, Any]:
    """The further arguments that a task's function declares: the prompt kwargs, and what was said so far."""
    known: dict[str, Any] = dict.fromkeys(PROMPT_KEYWORDS, conversation.kwargs)
    known["conversation"] = conversation
    declared = inspect.signature(function).parameters
    return {name: value for name, value in known.items() if name in declared}
