"""Judges: a second model that grades the answers of the first.

judges     the judges of a run: made from --judge, recorded in run.json
prompts    a question to a judge: what a task's function writes, as an Instance
verdicts   what the journal holds of a doc's verdicts, and which question is asked next
asking     the second pass of a run: asks the judges what they still need
"""

from typing import Any

from mm_eval.values.features import Option

_SEVERAL: dict[str, Any] = {"action": "append", "default": []}
"""--judge and --judge_args may be given more than once, in pairs."""
_FLAG = {"action": "store_true"}

ADAPTER_OPTIONS = {"judge": "judge_args"}
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
    ),
    "the task's judge": (
        ("show",),
        Option(
            "judge",
            "NAME",
            "the prompt of the task's judge, and what its verdicts on the whole task would cost; no call is made",
            more={"nargs": "?", "const": ""},
            is_field=False,
        ),
        Option(
            "judge_args",
            "K=V,...",
            "with --judge NAME: model=...,base_url=...",
            more={"default": ""},
            is_field=False,
        ),
        Option("answer", "TEXT", "with --judge: the answer that is judged (default: the gold one)", is_field=False),
    ),
    "judges": (
        ("compare", "report"),
        Option(
            "mix_judges",
            "",
            "compare numbers that different judges gave, and rank them in one table (default: say so instead); an entry of "
            "`mm-eval report --reference` may name its `judge`",
            more=_FLAG,
            is_field=False,
        ),
    ),
}
