"""What the user requested: `RunRequest`, and its options with their rules and help. Those of its parts: options.py."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any

from mm_eval.config.arguments import (
    COUNT_FROM_0,
    COUNT_FROM_1,
    DOLLARS,
    MAPPING,
    PATH,
    SWITCH,
    Rule,
    faults,
    invalid,
    is_count,
    is_path,
    is_text,
    number,
    parse_json,
    shortly,
    switch,
    whole_number,
)
from mm_eval.config.inline import stated_task
from mm_eval.options import OF_PARTS, Option
from mm_eval.prompt.blind import BLIND
from mm_eval.values.errors import ConfigError, raise_all
from mm_eval.values.types import Fields, JsonObject, Options

DEFAULT_MODEL = "tiny-llava"
IN_MEMORY = "memory"
"""The name of every model that `evaluate(model=...)` gets as an object."""


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """Who grades the answers of judged tasks.

    models, args: the adapters of the judges and their arguments, in pairs. left_out: the numbers that need a judge are.
    retries: how often an unreadable reply is asked for again. budget: dollars that the verdicts may cost.
    preflight: each judge is tried on a gold and an empty answer before the run.
    """

    models: tuple[str, ...] = ()
    args: tuple[Mapping[str, Any], ...] = ()
    left_out: bool = False
    retries: int = 2
    budget: float | None = None
    preflight: bool = True


@dataclass(frozen=True, kw_only=True)
class ProtocolRequest:
    """The protocol of a report that a run follows, if it has a name. settings: only these of it; None for all."""

    name: str | None = None
    settings: tuple[str, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class RayRequest:
    """Where the model answers: on a cluster's workers where `executor` is "ray", else in this process.

    timeout: seconds after which a silent worker is replaced. address: of a cluster; None for one that is started for the run.
    """

    executor: str | None = None
    workers: int | None = None
    gpus: float | None = None
    cpus: float | None = None
    timeout: float | None = None
    address: str | None = None


@dataclass(frozen=True, kw_only=True)
class DecidingRequest:
    """How a run ends before all docs are answered: when its comparisons are decided, or its interval is narrow enough.

    looks: after how many equal parts of the docs the comparisons are tested. alpha: the false alarms over all of them.
    margin: a difference that is surely within it ends a comparison too. gate: the file of a policy, whose losses are decided
    in place of differences. until_interval: half of the main number's interval.
    pairs: the comparisons of a release, "all" or {"reference": name}. linked: what the runs of a release know of each other.
    """

    stop_when: str | None = None
    looks: int = 20
    alpha: float = 0.05
    margin: float | None = None
    gate: str | None = None
    until_interval: float | None = None
    pairs: str | Mapping[str, str] | None = None
    linked: Fields | None = None


@dataclass(frozen=True, kw_only=True)
class ToolsRequest:
    """Tools of a whole run. added: "python", to every task. sandbox: where code runs; None for bubblewrap. limits: of it."""

    added: str | None = None
    sandbox: str | None = None
    limits: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class TrackersRequest:
    """Where the numbers are sent: the arguments of each tracker. run.json has none of them: an address may hold a password."""

    wandb: Mapping[str, object] | None = None
    mlflow: Mapping[str, object] | None = None
    trackio: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """What a recorded run is scored again with, in place of what it was run with.

    judge: None to ask no judge; verdicts that are there count. protocol: whose reported numbers a run without one is compared
    with. trackers: where the numbers are sent. gold_fixes: a file of decisions about golds, which are scored by.
    """

    judge: JudgeRequest | None = None
    protocol: str | None = None
    trackers: TrackersRequest = TrackersRequest()
    gold_fixes: str | None = None


FLAT_NAMES: Mapping[str, tuple[str, str]] = {
    "executor": ("ray", "executor"),
    "judge": ("judge", "models"),
    "judge_args": ("judge", "args"),
    "no_judge": ("judge", "left_out"),
    "judge_retries": ("judge", "retries"),
    "judge_budget": ("judge", "budget"),
    "judge_preflight": ("judge", "preflight"),
    "protocol": ("protocol", "name"),
    "protocol_settings": ("protocol", "settings"),
    "workers": ("ray", "workers"),
    "worker_gpus": ("ray", "gpus"),
    "worker_cpus": ("ray", "cpus"),
    "worker_timeout": ("ray", "timeout"),
    "ray_address": ("ray", "address"),
    "pairs": ("deciding", "pairs"),
    "linked": ("deciding", "linked"),
    "stop_when": ("deciding", "stop_when"),
    "looks": ("deciding", "looks"),
    "alpha": ("deciding", "alpha"),
    "margin": ("deciding", "margin"),
    "gate": ("deciding", "gate"),
    "until_interval": ("deciding", "until_interval"),
    "tools": ("tools", "added"),
    "sandbox": ("tools", "sandbox"),
    "sandbox_args": ("tools", "limits"),
    "wandb_args": ("trackers", "wandb"),
    "mlflow_args": ("trackers", "mlflow"),
    "trackio_args": ("trackers", "trackio"),
}
"""{an option of the command line, of run.json and of `evaluate`: (the part of the request, its field)}, in run.json's order."""
PARTS = frozenset(part for part, _ in FLAT_NAMES.values())
RAY_OPTIONS = tuple(name for name, (part, _) in FLAT_NAMES.items() if part == "ray")
TRACKERS = tuple(name for name, (part, _) in FLAT_NAMES.items() if part == "trackers")
WITHOUT_JUDGE: Mapping[str, object] = {"no_judge": True}
"""The options of a run by a verb that has none about judges."""


@dataclass(frozen=True)
class RunRequest:
    """A run as the user requested it: the command line's options under the same names, those of its parts in values of their own.

    `of_options` makes it of options by their flat names (`judge_budget` is `request.judge.budget`), `options` gives them back.

    tasks: what `TaskManager.load` takes, as JSON values: names, files, mappings of keys.
    model: None for the bundled tiny model on the bundled sample data.
    metadata: keys that override the `metadata` of every task, which are arguments of its `custom_dataset`.
    limit: only the first docs of each task, a count or a share. samples: {task: doc ids}.
    repeats: generated answers to each question, in place of the tasks' own number. None for that.
    chat_template: True, False, a template's name, or None for the model's default.
    prompt_blocks: prompt blocks of the user, {key: block} for every task or {task: {key: block}}, beside those of the tasks.
    fail_on_error: True, a count or a share of all requests at which failures stop the run.
    name: what tables and reports call the model, where that is not the checkpoint's or the adapter's name.
    categories: the table shows every category, however many there are.
    blind: "without" for questions without their pictures and sounds, "shuffled" for them with those of other docs.
    reasoning_tags: the marks around the model's reasoning beside the known ones: "<a>,</a>", pairs as JSON, or "none".
    on_long_prompt: "cut" or "fail", for a text prompt that does not fit into the model's length.
    budget: dollars above which nothing more is asked of the model. prices: a file of prices.
    video: the user's rule of the frames that are shown.
    """

    tasks: tuple[str | Fields, ...]
    model: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    num_fewshot: int | None = None
    repeats: int | None = None
    batch_size: int | str = "auto"
    device: str | None = None
    limit: int | float | None = None
    samples: Mapping[str, list[int]] | None = None
    include_path: str | None = None
    gen_kwargs: Options = field(default_factory=dict)
    system_instruction: str | None = None
    chat_template: bool | str | None = None
    fewshot_as_multiturn: bool | None = None
    seed: int = 0
    data_root: str | None = None
    sample: bool = False
    offline: bool = False
    prompt_key: str | None = None
    prompt_blocks: Fields | None = None
    output_path: str | None = None
    predict_only: bool = False
    bootstrap_iters: int = 100_000
    fail_on_error: bool | int | float = False
    use_cache: str | None = None
    allow_url_media: bool = False
    report: bool = True
    categories: bool = False
    name: str | None = None
    on_long_prompt: str = "cut"
    reasoning_tags: str | None = None
    blind: str | None = None
    budget: int | float | None = None
    prices: str | None = None
    metadata: Mapping[str, Any] | None = None
    judge: JudgeRequest = JudgeRequest()
    protocol: ProtocolRequest = ProtocolRequest()
    ray: RayRequest = RayRequest()
    deciding: DecidingRequest = DecidingRequest()
    tools: ToolsRequest = ToolsRequest()
    trackers: TrackersRequest = TrackersRequest()
    video: str | None = None

    @classmethod
    def of_options(cls, tasks: tuple[str | Mapping[str, object], ...] = (), **options: object) -> RunRequest:
        """The request that options state, by their flat names."""
        return cls(tasks).with_options(**options)

    @property
    def model_name(self) -> str:
        """What a run calls its model, where nothing better is known."""
        return (self.name if self.model == IN_MEMORY else self.model) or DEFAULT_MODEL

    def asked_with(self, prompt_key: str | None, frames: str | None, output_path: str) -> RunRequest:
        """The same request under another prompt block or rule of frames, recorded in another folder."""
        return replace(self, prompt_key=prompt_key, output_path=output_path, video=frames)

    def with_options(self, **options: Any) -> RunRequest:
        """The same request with these options, by their flat names. TypeError for one that there is not."""
        own = {name: value for name, value in options.items() if name not in FLAT_NAMES and name not in PARTS}
        of_parts: dict[str, dict[str, object]] = {}
        for name, value in options.items():
            if name in FLAT_NAMES:
                part, field_name = FLAT_NAMES[name]
                single = name in ("judge", "judge_args") and isinstance(value, (str, Mapping))  # one judge, from Python
                of_parts.setdefault(part, {})[field_name] = (value,) if single else value
        if unknown := options.keys() - own.keys() - FLAT_NAMES.keys():
            raise TypeError(f"a part of a request is not an option: {', '.join(sorted(unknown))}.")
        parts = {part: replace(getattr(self, part), **stated) for part, stated in of_parts.items()}
        return replace(self, **own, **parts)

    def options(self) -> JsonObject:
        """All options by their flat names, in the order of run.json."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in PARTS}
        video = own.pop("video")
        flat = {name: getattr(getattr(self, part), field_name) for name, (part, field_name) in FLAT_NAMES.items()}
        return {**own, **flat, "video": video}

    def of_record(self) -> RunRequest:
        """The same request for this process alone and for all docs: what a recorded run needs that is scored or repeated."""
        return replace(self, ray=RayRequest(), deciding=DecidingRequest())

    def to_json(self) -> dict[str, object]:
        """For run.json, so that `mm-eval score` can build the tasks again from any working directory."""
        folders = ("include_path", "data_root")
        stored = {name: value for name, value in self.options().items() if name not in TRACKERS}
        return {k: str(Path(v).resolve()) if k in folders and v else v for k, v in stored.items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, object]) -> RunRequest:
        """The request that `to_json` wrote. ConfigError for options that only another version of mm-eval has."""
        if unknown := sorted(stored.keys() - cls(()).options().keys()):
            what = f"the run was requested with {', '.join(unknown)}, which this version of mm-eval does not know."
            raise ConfigError(what, where="run.json", hint="Use the version that made it; results.json names it.")
        read: JsonObject = {name: tuple(v) if isinstance(v, list) else v for name, v in stored.items()}
        return cls.of_options(**read)


MOST_DRAWS = 10_000_000
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
_SHARE = "a count from 1 or a share between 0 and 1"


def _is_count_or_share(value: object) -> bool:
    return is_count(value, 1) or type(value) is float and 0 < value < 1


def _is_doc_ids(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(is_text(name) and _is_ids(ids) for name, ids in value.items())
    )


def _is_ids(ids: object) -> bool:
    return isinstance(ids, list) and bool(ids) and all(map(is_count, ids)) and len(set(ids)) == len(ids)


def _read_samples(text: str) -> object:
    """The value of --samples: JSON, or the path of a file with JSON."""
    if not text.lstrip().startswith(("{", "[")):
        try:
            if not os.path.isfile(text):
                raise OSError(0, "there is no such file")
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            hint = 'Or give JSON: {"mme": [0, 3]}.'
            raise ConfigError(f"--samples {shortly(text)} can't be read: {why}.", hint=hint) from error
    chosen = parse_json(text, "--samples")
    for task, ids in chosen.items() if isinstance(chosen, dict) else ():
        if not _is_doc_ids({task: ids}):
            hint = "Each is a list of document ids: whole numbers from 0, none twice."
            raise ConfigError(f"--samples has {shortly(ids)} for {shortly(task)}.", hint=hint)
    return chosen


def _switch_or_number(text: str) -> object:
    value = switch(text)
    return number(value) if isinstance(value, str) else value


_FLAG = {"action": "store_true"}
_MODEL, _ARGS = "see `mm-eval ls models`; without it the bundled tiny-llava runs", "pretrained=...,dtype=...; or JSON"
_REASONING = Option(
    "reasoning_tags",
    "A,B",
    'the marks around the reasoning, beside those of known models: "<a>,</a>", pairs as JSON, or none to cut nothing',
    rule=Rule('"<a>,</a>", pairs of marks as JSON, or none', is_text),
)
_DRAWS = Option(
    "bootstrap_iters",
    "N",
    "bootstrap draws for corpus metrics; 0: no standard errors at all",
    rule=Rule(f"a count from 0 to {MOST_DRAWS:,}", lambda value: is_count(value, 0, MOST_DRAWS), whole_number),
)
_TABLE = (
    Option(
        "categories",
        "",
        "show all metrics of each task, and its main metric by category (default: its main metric)",
        more=_FLAG,
        rule=SWITCH,
    ),
    Option(
        "format",
        "",
        "the table for the terminal (default) or in Markdown",
        more={"choices": ("text", "md"), "default": "text"},
        is_field=False,
    ),
)
OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "tasks": (
        Option("include_path", "DIR", "a folder with tasks of your own; they override built-in names", rule=PATH),
        Option("num_fewshot", "N", "examples before each question (default: the task's)", rule=COUNT_FROM_0),
        Option(
            "limit",
            "N",
            "only the first N documents of each task, or a share below 1",
            rule=Rule(_SHARE, _is_count_or_share, number),
        ),
        Option(
            "metadata",
            "K=V,...",
            "override keys of the tasks' `metadata`, the arguments of tasks that make their own documents (custom_dataset)",
            pairs="typed",
            more={"action": "append"},
            rule=MAPPING,
        ),
        Option(
            "samples",
            "JSON",
            'only these documents: {"mme": [0, 3]} or a file with such JSON',
            rule=Rule("{task: [doc ids]}, whole numbers from 0 and none twice,", _is_doc_ids, _read_samples),
        ),
        Option("data_root", "DIR", "data sets at DIR/org/name are read from there (env MM_EVAL_DATA_ROOT)", rule=PATH),
        Option("sample", "", "use the bundled sample data: not the benchmarks", more=_FLAG, rule=SWITCH),
        Option(
            "allow_url_media",
            "",
            "fetch pictures that rows name by URL, from public addresses only",
            more=_FLAG,
            rule=SWITCH,
        ),
        Option("offline", "", "open no network connection", more=_FLAG, rule=SWITCH),
    ),
    "model": (
        Option("model", "NAME", _MODEL, _MODEL),
        Option(
            "model_args",
            "K=V,...",
            _ARGS,
            _ARGS,
            pairs="text",
            more={"default": ""},
            rule=MAPPING,
        ),
        Option(
            "batch_size",
            "N",
            "rows per batch, or auto (default)",
            rule=Rule(
                "auto or a count from 1",
                lambda value: value == "auto" or is_count(value, 1),
                lambda text: "auto" if text.strip() == "auto" else whole_number(text),
            ),
        ),
        Option("device", "DEVICE", "cpu, cuda, cuda:1, mps (default: an accelerator if there is one)"),
        Option(
            "gen_kwargs",
            "K=V,...",
            "overrides the tasks' generation_kwargs",
            pairs="typed",
            more={"default": ""},
            rule=MAPPING,
        ),
        Option("prompt_key", "KEY", "the block of model_specific_prompt_kwargs to use"),
        Option(
            "system_instruction",
            "TEXT",
            "a system message before each question",
            rule=Rule("a text", lambda value: value == "" or is_text(value)),
        ),
        Option(
            "chat_template",
            "BOOL|NAME",
            "true, false, or the name of one of the model's templates (default: on for image-text and chat models)",
            more={"nargs": "?", "const": True},
            rule=Rule(
                "true, false or a template's name", lambda value: isinstance(value, bool) or is_text(value), switch
            ),
        ),
        Option(
            "on_long_prompt",
            "cut|fail",
            "a prompt of text that is too long for the model is cut from the left and counted (default), or fails; "
            "a prompt with pictures always fails",
            rule=Rule("cut or fail", lambda value: value in ("cut", "fail")),
        ),
        _REASONING,
        Option(
            "blind",
            "shuffled",
            "ask without pictures and sounds (--blind), or with others' (--blind shuffled); `mm-eval blind` compares",
            more={"nargs": "?", "const": "without"},
            rule=Rule("without or shuffled", lambda value: value in BLIND),
        ),
        Option("fewshot_as_multiturn", "BOOL", "few-shot examples as turns of the chat", rule=SWITCH),
        Option(
            "seed",
            "N",
            "seed of sampling, few-shot choice and bootstrap (default 0)",
            rule=Rule("a whole number from 0 to 2**63 - 1", is_count, whole_number),
        ),
    ),
    "store": (
        Option("output_path", "DIR", "the run folder (default: a name made of the run, in ./runs)", rule=PATH),
        Option(
            "use_cache",
            "DIR",
            "share greedy answers with other runs if everything that decides an answer is equal",
            rule=PATH,
        ),
        Option(
            "fail_on_error",
            "LIMIT",
            "stop when this many requests have failed: true (the first), a count, or a share below 1 of all requests, "
            "reached or passed; false (default): continue. Exit code 3 in any case, with the partial results",
            rule=Rule(
                f"true, false, {_SHARE}",
                lambda value: isinstance(value, bool) or _is_count_or_share(value),
                _switch_or_number,
            ),
        ),
    ),
    "cost": (
        Option(
            "budget",
            "DOLLARS",
            "the most that the model's answers may cost; nothing more is requested then. A model without a price is refused",
            rule=DOLLARS,
        ),
        Option(
            "prices",
            "FILE",
            "a CSV of prices by model, before the shipped ones: model,input_price,output_price,date,source",
            rule=PATH,
        ),
    ),
    "run": (
        Option("name", "NAME", "the model's name in tables and reports (default: the checkpoint's)"),
        Option(
            "repeats",
            "N",
            "generated answers to each question (default: the task's); adds avg@N and pass@k to each metric, whose own number is "
            "the mean of their scores in exact_match, in other metrics what `reduction` states, else the first; "
            "log-likelihoods do not vary and are requested once",
            rule=COUNT_FROM_1,
        ),
        Option("predict_only", "", "request and record answers, score nothing", more=_FLAG, rule=SWITCH),
        *_TABLE,
        Option("report", "", "write no report.html and no thumbnails", more={"action": "store_false"}, rule=SWITCH),
        _DRAWS,
    ),
    "score": (_REASONING, _DRAWS, *_TABLE),
    "draws": (_DRAWS,),
}
"""The options by the sets of them that verbs take. `OF_PARTS` adds to these sets, and has sets of its own."""
COMMAND_NAMES = {"chat_template": "apply_chat_template", "report": "no_report"}
"""Fields of `RunRequest` that the command line calls something else: files of options and Python take both names."""
VERBOSITY = Rule("DEBUG, INFO, WARNING or ERROR", lambda value: value in LEVELS, str.upper)


def _rules() -> dict[str, Rule]:
    of_parts = [each for part in OF_PARTS for each in part.options]
    every = [*(each for of_set in OPTIONS.values() for each in of_set), *of_parts]
    found = {"prompt_blocks": MAPPING, **{each.name: each.rule for each in every if each.is_field}}
    return {**found, **{command: found[name] for name, command in COMMAND_NAMES.items()}}


RULES: Mapping[str, Rule] = _rules()
"""The rule of each option by its name: what commands, files of options and Python may state. `task_names` checks the tasks."""


def read_option(name: str, text: str, rule: Rule | None = None) -> object:
    """The value of an option of the command line; ConfigError names the option, the value and what is needed.

    rule: of an option that one verb alone has.
    """
    rule = rule or RULES[name]
    value = rule.read(text)
    if not rule.fits(value):
        raise invalid(f"--{COMMAND_NAMES.get(name, name)}", text, rule)
    return value


def check_options(options: Mapping[str, object], where: str) -> None:
    """ConfigError for each unknown option and each invalid value; None means not given."""
    raise_all(faults(options, RULES, lambda name: where))


def by_field(options: Mapping[str, object], where: str) -> JsonObject:
    """Options by their names in `RunRequest`; the command line's names are read too.

    Errors: ConfigError for an option that is given under both names.
    """
    found = {str(key).replace("-", "_"): value for key, value in options.items()}
    for name, command in COMMAND_NAMES.items():
        if command not in found:
            continue
        if name in found or command in options and command.replace("_", "-") in options:
            raise ConfigError(f"`{command}` and `{name}` are one option.", where=where, hint="Give one of them.")
        value = found.pop(command)
        if command != "no_report":
            found[name] = switch(value) if isinstance(value, str) else value
        elif isinstance(value, bool):
            found[name] = not value
        else:
            found[command] = value  # `faults` reports it
    if isinstance(level := found.get("verbosity"), str):
        found["verbosity"] = level.upper()
    return found


def model_arguments(given: object) -> Any:
    """`model_args` of Python or of a file of options as the command line states them: numbers and paths as text.

    What is not a mapping stays as it is, for `faults` to report.
    """
    if not isinstance(given, Mapping):
        return given
    return {name: value if isinstance(value, (str, Mapping, list)) else str(value) for name, value in given.items()}


def task_names(tasks: object, where: str = "") -> tuple[str | Mapping[str, object], ...]:
    """Tasks from a list, one mapping, a text with commas, or such a list as JSON: names, files, and mappings as JSON values.

    Errors: ConfigError where there are none or one is invalid.
    """
    given = tasks
    if isinstance(tasks, str) and tasks.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError):  # "[am]me" is a glob
            tasks = json.loads(tasks)
    if isinstance(tasks, str):
        tasks = [name.strip() for name in tasks.split(",") if name.strip()]
    listed = [tasks] if isinstance(tasks, (Mapping, PathLike)) else tasks
    if not isinstance(listed, (list, tuple)) or not listed:
        raise _no_task(given, where)
    found = [str(each) if isinstance(each, PathLike) else each for each in listed]
    for each in found:
        if callable(dump := getattr(each, "dump_config", None)):  # a task object of lm-eval
            raise ConfigError(
                f"{type(each).__name__} is an object of another suite.",
                where=where,
                hint=f"Give its {dump.__name__}().",
            )
        names = (each.get("task"), each.get("group")) if isinstance(each, Mapping) else (each,)
        if not any(map(is_path, names)):
            raise _no_task(each, where)
    return tuple(stated_task(each, where) if isinstance(each, Mapping) else str(each) for each in found)


def _no_task(given: object, where: str) -> ConfigError:
    hint = "`mm-eval ls tasks` lists them."
    what = f"no task is named by {shortly(given)}; `tasks` is a list of names, files and mappings."
    return ConfigError(what, where=where, hint=hint)


def named_tasks(tasks: Iterable[str | Mapping[str, object]]) -> list[str]:
    """What the tasks of a request are called: of a mapping its own name."""
    named = ((each.get("task"), each.get("group")) if isinstance(each, Mapping) else (each,) for each in tasks)
    return [next(name for name in names if isinstance(name, str)) for names in named]


def of_names(
    tasks: Sequence[str | Mapping[str, object]], names: Iterable[str]
) -> tuple[str | Mapping[str, object], ...]:
    """These tasks and groups of a request as it stated them. names: their keys in the results.

    Errors: ConfigError where two mappings of the request have one name.
    """
    stated = [(name, each) for name, each in zip(named_tasks(tasks), tasks, strict=True) if isinstance(each, Mapping)]
    found: list[str | Mapping[str, object]] = []
    for key in names:
        base = key.partition("#")[0]
        own = [each for name, each in stated if name == base]
        if len(own) > 1 or own and base in tasks:
            what = f"the run states {base!r} more than once, so the name does not say which one."
            raise ConfigError(what, where="--tasks", hint="Name all tasks of the run, or none.")
        found += own or [key]
    return tuple(found)


def task_words(tasks: Sequence[str | Mapping[str, object]]) -> str:
    """The tasks of a request as the command line states them."""
    if any(isinstance(each, Mapping) for each in tasks):
        return json.dumps(list(tasks), ensure_ascii=False)
    return ",".join(map(str, tasks))
