"""A run as the user asks for it, and what its names stand for: the tasks' configs and the model's adapter."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from mm_eval.catalog.manager import Loaded, TaskManager
from mm_eval.engine.generation import one_token_cap
from mm_eval.engine.model import MODELS, Model, ModelSettings
from mm_eval.errors import ConfigError, did_you_mean

DEFAULT_MODEL = "tiny-llava"


@dataclass(frozen=True)
class RunRequest:
    """A run as the user asked for it; the command line's options under the same names.

    tasks: what `TaskManager.load` takes. model: None for the bundled tiny model on the bundled sample data.
    fail_on_error: True, a count or a share of all requests at which failures stop the run.
    prompt_blocks: prompt blocks of one's own, {key: block} for every task or {task: {key: block}}, beside those of the tasks.
    samples: {task: doc ids}. chat_template: True, False, a template's name, or None for the model's default.
    on_long_prompt: "cut" or "fail", for a prompt of text that does not fit into the model's length.
    name: what tables and reports call the model, where that is not the checkpoint's or the adapter's name.
    """

    tasks: tuple[str, ...]
    model: str | None = None
    model_args: Mapping[str, Any] = field(default_factory=dict)
    num_fewshot: int | None = None
    batch_size: int | str = "auto"
    device: str | None = None
    limit: int | float | None = None
    samples: Mapping[str, list[int]] | None = None
    include_path: str | None = None
    gen_kwargs: Mapping[str, Any] = field(default_factory=dict)
    system_instruction: str | None = None
    chat_template: bool | str | None = None
    fewshot_as_multiturn: bool | None = None
    seed: int = 0
    data_root: str | None = None
    sample: bool = False
    offline: bool = False
    prompt_key: str | None = None
    prompt_blocks: Mapping[str, Any] | None = None
    output_path: str | None = None
    predict_only: bool = False
    bootstrap_iters: int = 100_000
    fail_on_error: bool | int | float = False
    use_cache: str | None = None
    allow_url_media: bool = False
    report: bool = True
    name: str | None = None
    on_long_prompt: str = "cut"

    def to_json(self) -> dict[str, Any]:
        """For run.json, so that `mm-eval score` can build the tasks again, from whatever folder it is called."""
        folders = ("include_path", "data_root")
        return {k: str(Path(v).resolve()) if k in folders and v else v for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> RunRequest:
        """What `to_json` gave. ConfigError for options that only another version of mm-eval knows."""
        if unknown := sorted(stored.keys() - {each.name for each in fields(cls)}):
            what = f"the run was asked with {', '.join(unknown)}, which this version of mm-eval does not know."
            raise ConfigError(what, where="run.json", hint="Use the version that made it; results.json names it.")
        return cls(**{**stored, "tasks": tuple(stored["tasks"])})


def load_configs(request: RunRequest, faults: list[tuple[str, ConfigError]] | None = None) -> Loaded:
    """The configs of the tasks that a request names, its overrides laid over them. faults: as in `TaskManager.load`."""
    overrides: dict[str, Any] = {}
    if request.num_fewshot is not None:
        if request.num_fewshot < 0:
            raise ConfigError(f"--num_fewshot {request.num_fewshot} is below 0.")
        overrides["num_fewshot"] = request.num_fewshot
    if request.gen_kwargs:
        overrides["generation_kwargs"] = one_token_cap(request.gen_kwargs)
    manager = TaskManager(include_path=request.include_path)
    loaded = manager.load(list(request.tasks), overrides=overrides or None, faults=faults)
    for name in request.samples or ():
        if name not in loaded.tasks:
            raise ConfigError(
                f"--samples names {name!r}, which is no task of this run.", hint=did_you_mean(name, loaded.tasks)
            )
    return loaded


def model_class_of(request: RunRequest) -> tuple[type[Model], str]:
    """The adapter that a request names."""
    name = request.model or DEFAULT_MODEL
    return MODELS.get(name, where="--model"), name


def make_model(request: RunRequest, model_class: type[Model]) -> Model:
    """The adapter with its arguments checked and no weights loaded."""
    settings = ModelSettings(
        request.batch_size,
        request.device,
        request.seed,
        request.chat_template,
        request.offline,
        request.on_long_prompt,
    )
    return model_class.create(request.model_args, settings)


MOST = 2**63 - 1
"""The largest count: what 64 bits hold."""
MOST_DRAWS = 10_000_000
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
DEEPEST = 32
"""Levels of lists and mappings in an option's value."""
_DIGITS = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Rule:
    """What an option may be.

    needed: in words, to stand before "is needed". fits: whether a value is that. read: the command line's text as a value; what
    it can't read stays text, which then does not fit.
    """

    needed: str
    fits: Callable[[Any], bool]
    read: Callable[[str], Any] = str


def whole_number(text: str) -> Any:
    """'12' as 12. Only the digits 0 to 9 are digits, and no more than a count can have."""
    stripped = text.strip()
    return int(stripped) if _DIGITS.fullmatch(stripped) and len(stripped) <= 25 else text


def number(text: str) -> Any:
    """'12' as 12, '0.5' as 0.5, '1e3' as 1000."""
    value = whole_number(text)
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        value = float(value)
        value = int(value) if value.is_integer() and abs(value) < MOST else value
    return value


def switch(text: str) -> Any:
    """'true' as True, 'FALSE' as False."""
    return {"true": True, "false": False}.get(text.strip().lower(), text)


def switch_or_number(text: str) -> Any:
    found = switch(text)
    return number(found) if isinstance(found, str) else found


def auto_or_whole_number(text: str) -> Any:
    return "auto" if text.strip() == "auto" else whole_number(text)


def _count(value: Any, least: int = 0, most: int = MOST) -> bool:
    return type(value) is int and least <= value <= most


def _count_or_share(value: Any) -> bool:
    return _count(value, 1) or type(value) is float and 0 < value < 1


def _text(value: Any) -> bool:
    """A text that can be written to a file."""
    try:
        return isinstance(value, str) and bool(value.encode()) and bool(value.strip())
    except UnicodeEncodeError:
        return False


def _doc_ids(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(_text(name) and _ids(ids) for name, ids in value.items())


def _ids(ids: Any) -> bool:
    return isinstance(ids, list) and bool(ids) and all(map(_count, ids)) and len(set(ids)) == len(ids)


def plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is one of JSON's, with finite numbers and texts that can be written."""
    if depth > DEEPEST:
        return False
    if isinstance(value, Mapping):
        return all(_text(key) and plain(item, depth + 1) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(plain(item, depth + 1) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or value == "" or isinstance(value, bool) or _count(value, -MOST) or _text(value)


def _mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and plain(value)


_SHARE = "a count from 1 or a share between 0 and 1"
_PATH = Rule("a path", lambda value: _text(value) and "\0" not in value)
_NAME = Rule("a text that is not empty", _text)
_SWITCH = Rule("true or false", lambda value: isinstance(value, bool), switch)
RULES: dict[str, Rule] = {
    "limit": Rule(_SHARE, _count_or_share, number),
    "fail_on_error": Rule(
        f"true, false, {_SHARE}", lambda value: isinstance(value, bool) or _count_or_share(value), switch_or_number
    ),
    "batch_size": Rule(
        "auto or a count from 1", lambda value: value == "auto" or _count(value, 1), auto_or_whole_number
    ),
    "samples": Rule("{task: [doc ids]}, whole numbers from 0 and none twice,", _doc_ids),
    "chat_template": Rule(
        "true, false or a template's name", lambda value: isinstance(value, bool) or _text(value), switch
    ),
    "seed": Rule("a whole number from 0 to 2**63 - 1", _count, whole_number),
    "num_fewshot": Rule("a count from 0", _count, whole_number),
    "bootstrap_iters": Rule(
        f"a count from 0 to {MOST_DRAWS:,}", lambda value: _count(value, 0, MOST_DRAWS), whole_number
    ),
    "on_long_prompt": Rule("cut or fail", lambda value: value in ("cut", "fail")),
    "system_instruction": Rule("a text", lambda value: value == "" or _text(value)),
    **dict.fromkeys(
        ("model_args", "gen_kwargs", "prompt_blocks"),
        Rule("a mapping of names to texts, finite numbers, lists and mappings", _mapping),
    ),
    **dict.fromkeys(("include_path", "output_path", "data_root", "use_cache"), _PATH),
    **dict.fromkeys(("config", "prompt_file", "reference", "model_index", "output", "against", "html", "dir"), _PATH),
    **dict.fromkeys(("doc", "flips"), Rule("a whole number from 0", _count, whole_number)),
    "verbosity": Rule("DEBUG, INFO, WARNING or ERROR", lambda value: value in LEVELS, str.upper),
    **dict.fromkeys(("model", "name", "device", "prompt_key"), _NAME),
    **dict.fromkeys(
        ("sample", "offline", "predict_only", "allow_url_media", "report", "no_report", "fewshot_as_multiturn"), _SWITCH
    ),
}
COMMAND_NAMES = {"chat_template": "apply_chat_template", "report": "no_report"}
"""Options that the command line calls something else: a release file and Python take both names."""


def read_option(name: str, text: str) -> Any:
    """The value of an option of the command line; ConfigError says which option, what was given and what is needed."""
    value = RULES[name].read(text)
    if not RULES[name].fits(value):
        raise refused(f"--{COMMAND_NAMES.get(name, name)}", text, RULES[name].needed)
    return value


def check_options(options: Mapping[str, Any], where: str) -> None:
    """ConfigError for the first value that its option can't have; None says that the option is not given."""
    for error in faults(options, lambda key: where):
        raise error


def faults(options: Mapping[str, Any], where: Callable[[str], str]) -> Iterator[ConfigError]:
    """One error for each value that its option can't have. where: the place of a key."""
    for key, value in options.items():
        rule = RULES.get(key)
        if value is not None and rule is not None and not rule.fits(value):
            yield refused(f"`{key}`", value, rule.needed, where(key))


def refused(option: str, value: Any, needed: str, where: str = "") -> ConfigError:
    """An option with a value that it can't have."""
    return ConfigError(f"{option} is {shortly(value)}; {needed} is needed.", where=where)


def shortly(value: Any, most: int = 80) -> str:
    """A value as a message quotes it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of more than 4,300 digits, a list in a list in a list ...
        return "too large to show"
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def by_field(options: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Options under the names that `RunRequest` has for them, where the command line's names are allowed too.

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
            found[command] = value  # `faults` says what is wrong with it
    if isinstance(level := found.get("verbosity"), str):
        found["verbosity"] = level.upper()
    return found


def task_names(tasks: Any, where: str = "") -> tuple[str, ...]:
    """Task names from a list or from a text with commas; ConfigError where there is none or one can't be a name."""
    names = [name.strip() for name in tasks.split(",")] if isinstance(tasks, str) else tasks
    if not isinstance(names, (list, tuple)) or not names or not all(map(_PATH.fits, names)):
        hint = "`mm-eval ls tasks` lists them."
        raise ConfigError(f"no task is named by {shortly(tasks)}; `tasks` is a list of names.", where=where, hint=hint)
    return tuple(names)


def read_json(text: str, option: str) -> Any:
    """JSON that an option holds; ConfigError for what is none, for a key given twice and for a number that is not finite."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_sized)
    except RecursionError as error:
        raise ConfigError(f"{option} is nested too deeply.", hint=f"{DEEPEST} levels are allowed.") from error
    except ValueError as error:
        raise ConfigError(f"{option} is {shortly(text)}, which is not valid JSON: {error}.") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in [other for other, _ in pairs[:place]])
        raise ValueError(f"the key {shortly(twice)} is given twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _sized(text: str) -> int:
    if len(text) > 25:
        raise ValueError(f"a number of {len(text):,} digits is too large")
    return int(text)
