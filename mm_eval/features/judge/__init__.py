"""Judges: a second model that grades the answers of the first.

judges     the judges of a run: made from --judge, recorded in run.json
prompts    a question to a judge: what a task's function writes, as an Instance
verdicts   what the journal holds of a doc's verdicts, and which question is asked next
asking     the second pass of a run: asks the judges what they still need
"""

from collections.abc import Sequence
from typing import Any

from mm_eval.values.features import Option

_SEVERAL: dict[str, Any] = {"action": "append", "default": []}
"""--judge and --judge_args may be given more than once, in pairs."""
_FLAG = {"action": "store_true"}

VERBS = {
    "judge": (
        "verb",
        "how good the judge of a run is: known answers, both orders of a pair, two judges, people's labels",
    ),
}
ADAPTER_OPTIONS = {"judge": "judge_args"}
TASK_KEYS = {"judge": "config:JudgeKey"}
RUN_PARTS = {"judge": "run_part:JudgePart"}
OPTIONS = {
    "judge": (
        ("run", "score"),
        Option(
            "judge",
            "NAME",
            "the model that grades the answers of judged tasks (openai, hf, ...)",
            more=_SEVERAL,
            rule="options:ADAPTERS",
            default=(),
        ),
        Option(
            "judge_args",
            "K=V,...",
            "model=...,base_url=...; or JSON; name=NAME names the judge",
            pairs="text",
            more=_SEVERAL,
            rule="options:ARGUMENTS",
            default=(),
        ),
        Option(
            "no_judge",
            "",
            "go without the numbers that need a judge; their rows say so",
            more=_FLAG,
            elsewhere=True,
            rule="SWITCH",
            default=False,
        ),
        Option(
            "judge_retries",
            "N",
            "how often a reply that can't be read is asked for again (default 2)",
            rule="COUNT_FROM_0",
            default=2,
        ),
        Option(
            "judge_budget",
            "DOLLARS",
            "the most that the verdicts may cost; checked before and during the run",
            rule="DOLLARS",
        ),
        Option(
            "judge_preflight",
            "BOOL",
            "try the judge on a gold and an empty answer before the run (default true)",
            rule="SWITCH",
            default=True,
        ),
    )
}
RESULT_KEYS = ("judges",)
GRADERS = {"judges": "recorded"}
SHOWS = {"judge": "show:show_judge"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    """Task code of others may ask a judge without the key."""
    stated = request is not None and (request.judge or request.judge_args)
    own = (each for each in configs if "judge" in each.of_features or not each.is_shipped)
    return bool(stated) or any(config.read("judge") is not None for config in own)


NEEDED = {"judge": _needed}
