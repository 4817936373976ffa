"""Judges: a second model that grades the answers of the first.

judges     the judges of a run: made from --judge, recorded in run.json
prompts    a question to a judge: what a task's function writes, as an Instance
verdicts   what the journal holds of a doc's verdicts, and which question is asked next
asking     the second pass of a run: asks the judges what they still need
"""

from collections.abc import Sequence
from typing import Any

VERBS = {
    "judge": (
        "verb",
        "how good the judge of a run is: known answers, both orders of a pair, two judges, people's labels",
    ),
}
TASK_KEYS = {"judge": "config:JudgeKey"}
RUN_PARTS = {"judge": "run_part:JudgePart"}
OPTIONS = {"judge": "options"}
SHOWS = {"judge": "show:show_judge"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    stated = request is not None and (request.judge or request.judge_args)
    return bool(stated) or any(config.read("judge") is not None for config in configs)


NEEDED = {"judge": _needed}
