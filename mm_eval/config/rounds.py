"""The key `rounds` of task files: what is said after each answer of the model.

rounds: !function utils.next_turn
rounds: {next: !function utils.next_turn, scored: all}      # all answers are scored, as a JSON list of texts
rounds: doc_to_text                                         # lmms-eval's doc_to_text makes them; or: agentic
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mm_eval.config.arguments import Rule
from mm_eval.config.located import located
from mm_eval.config.schema import FUNCTION, check_keys, is_function
from mm_eval.values.errors import ConfigError

KEYS = {"next": FUNCTION, "scored": Rule("last or all", lambda value: value in ("last", "all"))}
"""Keys of `rounds` where it is a mapping."""


@dataclass(frozen=True)
class RoundsConfig:
    """The checked `rounds` of a task.

    made_by: what makes the rounds: the function `next`, or doc_to_text in one of lmms-eval's two ways. scores_all: all answers
    are scored, not the last one.
    """

    made_by: Literal["next", "doc_to_text", "agentic"] = "next"
    next: Any = None
    scores_all: bool = False


def rounds_of(stated: object, where: str) -> RoundsConfig:
    """The `rounds` of a task. ConfigError with file:line for an unknown or missing key, or a wrong type."""
    if is_function(stated):
        return RoundsConfig(next=stated)
    if stated == "doc_to_text" or stated == "agentic":
        return RoundsConfig(stated)
    if not isinstance(stated, Mapping):
        what = f"'rounds' must be a function (!function utils.next_turn) or a mapping, not {stated!r:.80}."
        raise ConfigError(what, where=where)
    check_keys(located(stated), KEYS, "rounds")
    if stated.get("next") is None:
        raise ConfigError("rounds needs `next`.", where=where, hint="next: !function utils.next_turn")
    return RoundsConfig(next=stated["next"], scores_all=stated.get("scored") == "all")
