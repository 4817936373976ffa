"""Rounds as lmms-eval's `generate_until_multi_round` has them: the task's `doc_to_text` is called again after each answer.

    doc_to_text(doc, lmms_eval_specific_kwargs, previous_output=["..."], round_idx=1, previous_round_info=None)
    -> pictures, text, whether this is the end, the outputs so far, what the next call gets as previous_round_info

Each round is asked alone: its text and its pictures are the whole prompt. A text may be a list of chat messages instead, whose
first one by the user gets the pictures. `process_results` gets the outputs of all rounds as one result.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mm_eval.config.task_config import TaskConfig
from mm_eval.prompt.conversation import answer_in
from mm_eval.rounds.rounds import AT_MOST, MOST_ROUNDS, Rounds, arguments_of
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.process_results import ProcessResultsScorer
from mm_eval.values.conversation import Conversation
from mm_eval.values.deadline import in_time
from mm_eval.values.errors import DataError
from mm_eval.values.types import IMAGE_MARK, End, JsonObject, Message

FORM = "(pictures, text, whether it is the end, the outputs so far, previous_round_info)"


@dataclass(frozen=True)
class LmmsEvalRounds(Rounds):
    """The rounds of a task (`Turns`), which its doc_to_text makes."""

    fresh: bool = True

    @classmethod
    def recorded(cls, config: TaskConfig, stated: Mapping[str, object]) -> LmmsEvalRounds | None:
        """The same of a recorded run."""
        if config.rounds is None or config.rounds.made_by != "doc_to_text":
            return None
        return cls(config.doc_to_text, config.max_rounds or MOST_ROUNDS)

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        outputs: list[str] = []
        info: object = None
        for round_idx, answer in enumerate(conversation.answers, 1):
            outputs = [*outputs, answer_in(answer)]
            found = in_time(
                "doc_to_text",
                self.next_turn,
                conversation.doc,
                **arguments_of(self.next_turn, conversation),
                previous_output=list(outputs),
                round_idx=round_idx,
                previous_round_info=copy.deepcopy(info),
            )
            if not isinstance(found, (tuple, list)) or len(found) != 5:
                raise DataError(f"doc_to_text gave {found!r:.80} after a round; expected {FORM}.")
            pictures, text, is_end, said, info = found
            outputs = list(map(str, outputs if said is None else said))
            if is_end:
                return End(output=json.dumps(outputs, ensure_ascii=False), listed=True)
        if len(conversation.answers) >= self.limit:
            return End(output=json.dumps(outputs, ensure_ascii=False), why=AT_MOST, listed=True)
        return messages_of(pictures, text)


def messages_of(pictures: object, text: object) -> list[Message]:
    """A round's prompt: its pictures at the marks in its text, or before it."""
    shown = [] if pictures is None else list(pictures) if isinstance(pictures, (list, tuple)) else [pictures]
    parts = [{"type": "video" if isinstance(each, str) else "image", "url": each} for each in shown]
    if not isinstance(text, (list, tuple)):
        return [{"role": "user", "content": _placed(str(text), parts)}]
    messages = [dict(message) for message in text]
    for message in messages:
        if message.get("role") == "user" and parts and isinstance(message.get("content"), str):
            message["content"] = _placed(message["content"], parts)
            parts = []
    return messages


def _placed(text: str, parts: list[JsonObject]) -> list[JsonObject]:
    pieces = text.split(IMAGE_MARK)
    if not parts or len(pieces) != len(parts) + 1:
        return [*parts, {"type": "text", "text": text}]
    shown = zip([{}, *parts], pieces, strict=True)
    return [each for part, piece in shown for each in (part, {"type": "text", "text": piece}) if each.get("type")]


def with_all_outputs(config: TaskConfig, scorers: Sequence[Scorer]) -> Sequence[Scorer]:
    """The scorers of a task. Where its doc_to_text makes the rounds, process_results gets the outputs of all as one result."""
    if config.rounds is None or config.rounds.made_by != "doc_to_text":
        return scorers
    return [replace_function(scorer) if isinstance(scorer, ProcessResultsScorer) else scorer for scorer in scorers]


def replace_function(scorer: ProcessResultsScorer) -> ProcessResultsScorer:
    """The scorer with the function wrapped."""
    return replace(scorer, fn=AllOutputs(scorer.fn))


class AllOutputs:
    """A `process_results` with the outputs of the rounds as a list in place of their JSON."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        for name in ("__name__", "__signature__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    def __call__(self, doc: object, results: list[object], **kwargs: object) -> Any:
        return self._function(doc, list(map(outputs_of, results)), **kwargs)

    def run_with_replies(self, doc: object, results: list[object], *rest: object) -> object:
        """As `RemoteFunction.run_with_replies`."""
        return self._function.run_with_replies(doc, list(map(outputs_of, results)), *rest)  # type: ignore[attr-defined]


def outputs_of(result: Any) -> object:
    """The outputs in a result; one that is missing stays the empty text."""
    try:
        found = json.loads(result)
    except (TypeError, ValueError):
        return result
    return found if isinstance(found, list) else result
