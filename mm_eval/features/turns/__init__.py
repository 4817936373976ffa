"""Conversations of several rounds: `rounds:` in a task file names the function that says what comes after each answer.

rounds      the keys `rounds` and `max_rounds`, and what makes the turns of a task from them
lmms_eval   the same of a task of lmms-eval, whose doc_to_text is called again after each answer
agentic     the same of its tasks that act on a simulated environment
run_part    what a run of such tasks adds
show        a conversation with a scripted model, for `mm-eval show --turns`
"""

from collections.abc import Sequence
from typing import Any

from mm_eval.values.features import Option

QUESTION_KEYS = {"rounds": "rounds:RoundsKey", "max_rounds": "rounds:MostRoundsKey"}
TURNS = {"rounds": "rounds:Rounds", "lmms_eval": "lmms_eval:LmmsEvalRounds", "agentic": "agentic:AgenticRounds"}
RUN_PARTS = {"turns": "run_part:TurnsPart"}
OPTIONS = {
    "turns": (
        ("show",),
        Option(
            "turns",
            "ANSWER",
            "a whole conversation, in which a scripted model gives these answers in order (default: made-up ones)",
            more={"nargs": "*"},
            is_field=False,
        ),
    )
}
SHOWS = {"turns": "show:show_turns"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    return any("rounds" in config.of_features for config in configs)


NEEDED = {"turns": _needed}
