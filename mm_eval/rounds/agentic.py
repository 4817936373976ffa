"""Rounds as lmms-eval's `generate_until_agentic` has them: `doc_to_text` acts on a simulated environment and says what follows.

    doc_to_text(doc, previous_output=["..."], round_idx=1, previous_round_info=None)
    -> pictures, text, whether this is the end, the outputs so far, what the next call gets as previous_round_info

It may also return the next text alone, or None at the end. Where pictures or text are None, those of the round before are shown
again. What is scored is the last output, which the function may have written itself; where that is no JSON object, it is
lmms-eval's report of a conversation that spent its steps. Each round is asked alone.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.config.task_config import TaskConfig
from mm_eval.prompt.conversation import answer_in
from mm_eval.rounds.lmms_eval import LmmsEvalRounds, messages_of
from mm_eval.rounds.rounds import AT_MOST
from mm_eval.values.conversation import Conversation
from mm_eval.values.types import End, Message

MOST_STEPS = 12
"""The most answers of a conversation where the task does not state `max_agentic_steps`."""
OF_STATE = ("cash", "days_elapsed", "inventory", "mobile_data_working")
"""What lmms-eval repeats of the state beside it in its report."""


@dataclass(frozen=True)
class AgenticRounds(LmmsEvalRounds):
    """The rounds of a task (`Turns`)."""

    @classmethod
    def recorded(cls, config: TaskConfig, stated: Mapping[str, object]) -> AgenticRounds | None:
        if config.rounds is None or config.rounds.made_by != "agentic":
            return None
        return cls(config.doc_to_text, config.max_rounds or MOST_STEPS)

    def next(self, conversation: Conversation) -> Sequence[Message] | End:
        outputs, final, info = list[str](), "", None
        pictures: object = None
        text: object = _text_of(conversation.first)
        for round_idx, answer in enumerate(conversation.answers, 1):
            final = answer_in(answer)
            outputs = [*outputs, final]
            found = self.next_turn(
                conversation.doc,
                previous_output=list(outputs),
                round_idx=round_idx,
                previous_round_info=copy.deepcopy(info),
            )
            if isinstance(found, str):
                text = found
                continue
            if not isinstance(found, (tuple, list)) or len(found) != 5:
                return _end(final, outputs, info)
            shown, said, is_end, updated, info = found
            outputs = outputs if updated is None else list(map(str, updated))
            final = outputs[-1] if outputs else final
            if is_end:
                return _end(final, outputs, info)
            pictures, text = pictures if shown is None else shown, text if said is None else said
        if len(conversation.answers) >= self.limit:
            return _end(final, outputs, info, AT_MOST)
        if pictures is None:  # the doc's own
            pictures = conversation.pictures()[conversation.of_examples : conversation.shown[0]]
        return messages_of(pictures, text)


def _text_of(context: Any) -> str:
    """The text of the first question."""
    if isinstance(context, str):
        return context
    content = context[-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _end(final: str, outputs: Sequence[str], info: object, why: str = "") -> End:
    """The end with the output that is scored. listed: it is without reasoning already."""
    if info is not None and not final.strip().startswith("{"):
        final = json.dumps(_report(final, outputs, info), ensure_ascii=False)
    return End(output=final, why=why, listed=True)


def _report(last: str, outputs: Sequence[str], info: object) -> dict[str, object]:
    """lmms-eval's report of a conversation without a final output, as its process_results reads it."""
    known = info if isinstance(info, Mapping) else {}
    state, calls = known.get("state", {}), known.get("tool_calls", 0)
    report = {
        "success": False,
        "error": "max_agentic_steps_reached",
        "tool_calls": float(calls),
        "valid_tool_calls": float(known.get("valid_tool_calls", calls)),
        "invalid_steps": float(known.get("invalid_steps", 0.0)),
        "state": state,
        "last_model_output": last,
        "trace": list(outputs),
    }
    of_state = {name: state[name] for name in OF_STATE if name in state} if isinstance(state, Mapping) else {}
    return {**report, **of_state}
