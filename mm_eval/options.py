"""The options of the parts of a run: judges, protocols, workers, early ends, trackers, videos. Those of every run: request.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from mm_eval.config.arguments import (
    ABOVE_0,
    COUNT_FROM_0,
    COUNT_FROM_1,
    DOLLARS,
    MAPPING,
    NUMBER_FROM_0,
    PATH,
    SWITCH,
    TEXT,
    Rule,
    is_count,
    is_number,
    is_text,
    number,
    whole_number,
)
from mm_eval.data.video.rule import NEEDED as FRAMES_NEEDED
from mm_eval.data.video.rule import is_rule


class Option(NamedTuple):
    """An option of verbs: `--NAME`, for the option of a request with this name, whose default it has unless `more` states one.

    metavar: of its value; "" for an option without one. several: the help where it may be given several times, to be compared.
    pairs: its value is K=V,... or JSON; "typed" reads the values as JSON. more: further arguments of `add_argument`.
    is_field: False for an option that is none of a request, and has no rule. rule: what its value may be.
    """

    name: str
    metavar: str
    help: str
    several: str = ""
    pairs: str = ""
    more: Mapping[str, object] = {}
    is_field: bool = True
    rule: Rule = TEXT


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _is_pairs(value: object) -> bool:
    return value == "all" or isinstance(value, Mapping) and set(value) == {"reference"} and is_text(value["reference"])


ADAPTERS = Rule("a model's name, or a list of them", lambda value: all(map(is_text, _as_list(value))))
ARGUMENTS = Rule(f"{MAPPING.needed}, or a list of them", lambda value: all(map(MAPPING.fits, _as_list(value))))
SANDBOX = Rule(
    "bwrap, docker:IMAGE, podman:IMAGE or none",
    lambda value: is_text(value) and (value in ("bwrap", "none") or value.partition(":")[0] in ("docker", "podman")),
)
ADDED_TOOLS = Rule("python", lambda value: value == "python")
SETTINGS = Rule(
    "names of settings of the protocol",
    lambda value: isinstance(value, (list, tuple)) and all(map(is_text, value)),
    lambda text: tuple(name.strip() for name in text.split(",") if name.strip()),
)
EXECUTOR = Rule("ray", lambda value: value == "ray")
ENDING = Rule("decided", lambda value: value == "decided")
LOOKS = Rule("a count from 1 to 100", lambda value: is_count(value, 1, 100), whole_number)
ALPHA = Rule("a number above 0 and below 0.5", lambda value: is_number(value) and 0 < value < 0.5, number)
PAIRS = Rule("all or {reference: NAME}", _is_pairs)
FRAMES = Rule(FRAMES_NEEDED, is_rule)

_SEVERAL: Mapping[str, object] = {"action": "append", "default": []}
"""--judge and --judge_args may be given more than once, in pairs."""
_FLAG = {"action": "store_true"}
_EMPTY = {"nargs": "?", "const": ""}
_FRAMES = "the frames that are shown of a video: frames=32 or fps=2,min=4,max=768; with ends, starts, middle or inside"
_DEFAULT_FRAMES = " (default: the prompt block's, else the model's own, else frames=8,ends)"


class PartOptions(NamedTuple):
    """Options that stand together in the help. sets: those of `OPTIONS` (request.py) that they are added to."""

    title: str
    sets: tuple[str, ...]
    options: tuple[Option, ...]


OF_PARTS: tuple[PartOptions, ...] = (
    PartOptions(
        "judge",
        ("run", "score"),
        (
            Option(
                "judge",
                "NAME",
                "the model that grades the answers of judged tasks (openai, hf, ...)",
                more=_SEVERAL,
                rule=ADAPTERS,
            ),
            Option(
                "judge_args",
                "K=V,...",
                "model=...,base_url=...; or JSON; name=NAME names the judge",
                pairs="text",
                more=_SEVERAL,
                rule=ARGUMENTS,
            ),
            Option(
                "no_judge",
                "",
                "leave out the scores that need a judge; their rows say so",
                more=_FLAG,
                rule=SWITCH,
            ),
            Option(
                "judge_retries",
                "N",
                "how often a reply that can't be read is asked for again (default 2)",
                rule=COUNT_FROM_0,
            ),
            Option(
                "judge_budget",
                "DOLLARS",
                "the most that the verdicts may cost; checked before and during the run",
                rule=DOLLARS,
            ),
            Option(
                "judge_preflight",
                "BOOL",
                "try the judge on a gold and an empty answer before the run (default true)",
                rule=SWITCH,
            ),
        ),
    ),
    PartOptions(
        "the task's judge",
        ("show",),
        (
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
    ),
    PartOptions(
        "judges",
        ("compare", "report"),
        (
            Option(
                "mix_judges",
                "",
                "compare scores of different judges, and rank them in one table (default: say so instead); an entry of "
                "`mm-eval report --reference` may name its `judge`",
                more=_FLAG,
                is_field=False,
            ),
        ),
    ),
    PartOptions(
        "protocol",
        ("run", "show"),
        (
            Option(
                "protocol",
                "NAME",
                "a named protocol of a report: its prompts, generation, pictures and graders, unless an option states another "
                "(`mm-eval protocols` lists them)",
            ),
            Option(
                "protocol_settings",
                "A,B",
                "only these settings of the protocol, such as prompt,gen_kwargs",
                rule=SETTINGS,
            ),
        ),
    ),
    PartOptions(
        "comparison",
        ("score",),
        (
            Option(
                "protocol",
                "NAME",
                "compare a run that has no protocol with this one's reported scores (a run under a protocol keeps its own)",
            ),
        ),
    ),
    PartOptions(
        "ray",
        ("run", "prompts"),
        (
            Option(
                "executor",
                "ray",
                "workers on a cluster of Ray answer, each with the model (default: this process)",
                rule=EXECUTOR,
            ),
            Option(
                "workers",
                "N",
                "workers that load the model (default 1); more machines may join while they answer",
                rule=COUNT_FROM_1,
            ),
            Option(
                "worker_gpus",
                "N",
                "GPUs of a worker, or a share of one (default: 1 if the cluster has GPUs, else 0)",
                rule=NUMBER_FROM_0,
            ),
            Option("worker_cpus", "N", "CPUs of a worker (default 1)", rule=ABOVE_0),
            Option(
                "worker_timeout",
                "SECONDS",
                "replace a worker that sends nothing for this many seconds while it loads or answers (default 1800)",
                rule=ABOVE_0,
            ),
            Option(
                "ray_address",
                "ADDRESS",
                "HOST:PORT of a cluster (env RAY_ADDRESS; without either one is started on this machine, for this run)",
            ),
        ),
    ),
    PartOptions(
        "pairs", (), (Option("pairs", "", "of a file of several models: all, or {reference: NAME}", rule=PAIRS),)
    ),
    PartOptions(
        "deciding",
        ("run",),
        (
            Option(
                "stop_when",
                "decided",
                "end the runs of a release (--config) when their comparisons are decided; the same command without it continues",
                rule=ENDING,
            ),
            Option(
                "looks",
                "N",
                "after how many equal parts of the documents the comparisons are tested (default 20)",
                rule=LOOKS,
            ),
            Option(
                "alpha",
                "ALPHA",
                "false alarms that are allowed over all comparisons and looks together (default 0.05)",
                rule=ALPHA,
            ),
            Option(
                "margin",
                "POINTS",
                "a comparison also ends when the difference is surely within this margin, in the table's unit (default: none)",
                rule=ABOVE_0,
            ),
            Option(
                "gate",
                "POLICY.yaml",
                "with --stop_when decided: end each comparison when the policy's clause on it is decided (`mm-eval gate`)",
                rule=PATH,
            ),
            Option(
                "until_interval",
                "POINTS",
                "end the run when half of the main metric's interval is at most this, in the table's unit",
                rule=ABOVE_0,
            ),
        ),
    ),
    PartOptions(
        "tools",
        ("run",),
        (
            Option(
                "tools",
                "python",
                "ask every task with a Python interpreter that sees its pictures, as TASK@python does for one",
                rule=ADDED_TOOLS,
            ),
            Option(
                "sandbox",
                "KIND",
                "where code of the model is run: bwrap (default), docker:IMAGE, podman:IMAGE, or none: no isolation at all",
                rule=SANDBOX,
            ),
            Option(
                "sandbox_args",
                "K=V,...",
                "limits of a document's interpreter: memory=2048 and files=512 (MiB), processes=64, seconds=60 of a call, "
                "doc_seconds=300",
                pairs="typed",
                more={"metavar": "K=V,..."},
                rule=MAPPING,
            ),
        ),
    ),
    PartOptions(
        "trackers",
        ("run", "score"),
        (
            Option(
                "wandb_args",
                "K=V,...",
                "project=...,entity=...: log to Weights & Biases (arguments of wandb.init)",
                pairs="typed",
                more=_EMPTY,
                rule=MAPPING,
            ),
            Option(
                "mlflow_args",
                "K=V,...",
                "experiment=...,tracking_uri=...: log to MLflow",
                pairs="typed",
                more=_EMPTY,
                rule=MAPPING,
            ),
            Option(
                "trackio_args",
                "K=V,...",
                "project=...,space_id=...: log to Trackio (arguments of trackio.init)",
                pairs="typed",
                more=_EMPTY,
                rule=MAPPING,
            ),
        ),
    ),
    PartOptions(
        "turns",
        ("show",),
        (
            Option(
                "turns",
                "ANSWER",
                "a whole conversation, in which a scripted model gives these answers in order (default: made-up ones)",
                more={"nargs": "*"},
                is_field=False,
            ),
        ),
    ),
    PartOptions(
        "video",
        ("model",),
        (
            Option(
                "video",
                "RULE",
                f"{_FRAMES}{_DEFAULT_FRAMES}",
                several=f"{_FRAMES}; given more than once, the rules are compared{_DEFAULT_FRAMES}",
                rule=FRAMES,
            ),
        ),
    ),
)
"""The options of all parts, in the order of the help and of run.json."""
