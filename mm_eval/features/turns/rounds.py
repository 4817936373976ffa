"""`rounds:` in a task file: what is said after each answer of the model, as long as there is something to say.

    rounds: !function utils.next_turn       # (doc, answers) -> text, message, list of messages, or None at the end
    max_rounds: 6

`answers` are the model's answers so far (`Answer`: `output`, `ended`). The function must be pure: a resumed run calls it again
with the recorded answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.config.located import LocatedDict
from mm_eval.config.schema import POSITIVE, is_function
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.model import ModelFacts
from mm_eval.prompt.conversation import message_of
from mm_eval.values.conversation import Conversation
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, End, Instance, Message

MOST_ROUNDS = 20
"""The most answers of a conversation where the task does not state `max_rounds`."""
AT_MOST = "max_rounds"


class RoundsKey:
    """The key `rounds` of task files (`TaskKey`)."""

    @staticmethod
    def check(source: LocatedDict) -> None:
        if not is_function(source["rounds"]):
            what = f"'rounds' must be a function (!function utils.next_turn), not {source['rounds']!r:.80}."
            raise ConfigError(what, where=source.where("rounds"))

    @staticmethod
    def conflicts(config: TaskConfig) -> Iterator[tuple[str, str, str]]:
        if config.output_type != "generate_until":
            yield f"rounds needs output_type generate_until, not {config.output_type!r}.", "rounds", ""

    @staticmethod
    def read(config: TaskConfig) -> None:
        return None

    @staticmethod
    def metrics(config: TaskConfig) -> list[str]:
        return []


class MostRoundsKey(RoundsKey):
    """The key `max_rounds` of task files (`TaskKey`)."""

    @staticmethod
    def check(source: LocatedDict) -> None:
        if not POSITIVE.fits(stated := source["max_rounds"]):
            raise ConfigError(
                f"'max_rounds' must be {POSITIVE.needed}, not {stated!r:.80}.", where=source.where("max_rounds")
            )

    @staticmethod
    def conflicts(config: TaskConfig) -> Iterator[tuple[str, str, str]]:
        if "rounds" not in config.of_features:
            yield "max_rounds needs `rounds`.", "max_rounds", ""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a task (`Turns`). most: answers of a conversation."""

    next_turn: Callable[..., Any]
    most: int = MOST_ROUNDS
    fresh: bool = False

    @classmethod
    def of_task(cls, config: TaskConfig, facts: ModelFacts) -> Rounds | None:
        """The rounds that a resolved config states; None where it states none."""
        return cls.recorded(config, {})

    @classmethod
    def recorded(cls, config: TaskConfig, stated: Mapping[str, Any]) -> Rounds | None:
        """The same of a recorded run."""
        if (function := config.of_features.get("rounds")) is None:
            return None
        return cls(function, config.of_features.get("max_rounds", MOST_ROUNDS))

    def begin(self, instance: Instance) -> Instance:
        return instance

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        if len(conversation.answers) >= self.most:
            return End(why=AT_MOST)
        found = self.next_turn(conversation.doc, conversation.answers)
        if found is None:
            return End()
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
        return [dict(found)] if isinstance(found, Mapping) else list(found)

    def said(self, answer: Answer) -> Message:
        return message_of(answer)

    def to_json(self) -> Mapping[str, Any]:
        return {}
