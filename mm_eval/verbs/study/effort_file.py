"""The file of `mm-eval effort`: one model on some tasks, at several efforts.

    tasks: [mathvista_testmini]
    model: openai
    model_args: {model: gpt-5, base_url: https://api.openai.com/v1}
    reasoning_effort: [low, medium, high]     # or thinking_budget: [1024, 8192], or efforts: of your own
    margin: 1                                 # a loss that does not matter, in the table's unit
    limit: 300                                # any option of `mm-eval run`

`efforts` states for each what differs: {off: {model_args: {chat_template_kwargs: {enable_thinking: false}}}}.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mm_eval.check_runs import check_folders, folder_name
from mm_eval.config.arguments import ABOVE_0, PATH, Rule, column_name, faults, is_count, is_text, shortly
from mm_eval.request import RULES, RunRequest, by_field, model_arguments, task_names
from mm_eval.values.errors import ConfigError, raise_all

MARGIN = 1.0
"""The default: one point of percent, or one point of a number that is no share."""
BY_SERVER = ("openai", "litellm")
"""Adapters whose requests hold the effort; with others the chat template reads it."""
WHERE = {
    ("reasoning_effort", True): ("gen_kwargs",),
    ("reasoning_effort", False): ("model_args", "chat_template_kwargs"),
    ("thinking_budget", True): ("model_args", "extra_body"),
    ("thinking_budget", False): ("model_args", "chat_template_kwargs"),
}
"""Where a setting stands, by its name and whether a server is asked."""
OF_EFFORT = ("model_args", "gen_kwargs", "system_instruction")
"""What may differ between efforts."""


def _is_list_of(fits: Any) -> Any:
    return lambda value: isinstance(value, list) and len(value) > 1 and all(map(fits, value))


def _is_efforts(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and len(value) > 1
        and all(isinstance(name, str | int | float) and isinstance(each, Mapping) for name, each in value.items())
    )


SETTINGS: Mapping[str, Rule] = {
    "reasoning_effort": Rule("a list of at least two texts, such as [low, high]", _is_list_of(is_text)),
    "thinking_budget": Rule("a list of at least two counts of tokens", _is_list_of(lambda each: is_count(each, 0))),
    "efforts": Rule("a mapping of at least two efforts: {NAME: {gen_kwargs: {...}}}", _is_efforts),
}
"""The keys of which a file has one."""
NOT_HERE = ("stop_when", "looks", "alpha", "until_interval", "pairs", "predict_only", "executor")
"""Options of a run that would leave out documents of some efforts, or their scores."""
OF_FILE: Mapping[str, Rule] = {
    **{name: rule for name, rule in RULES.items() if name not in NOT_HERE},
    **SETTINGS,
    "tasks": Rule("", lambda value: True),  # `task_names` checks them
    "output_path": PATH,
    "margin": ABOVE_0,
}


@dataclass(frozen=True)
class EffortFile:
    """What a file asks for. runs: the request of each effort by its name. said: what each is, in words. model: its name."""

    model: str
    runs: dict[str, RunRequest]
    said: dict[str, str]
    margin: float
    output: Path


def read_efforts(path: str, output_path: str | None = None, margin: float | None = None) -> EffortFile:
    """The efforts of a file. output_path, margin: of the command, which win.

    Errors: ConfigError with file, line and key for everything that is unknown, missing or invalid.
    """
    from mm_eval.config.yaml import load_file

    config = load_file(Path(path))
    if "models" in config:
        what = "this is the file of a release, and `mm-eval effort` asks one model at several efforts."
        raise ConfigError(what, where=path, hint="Write `model` and `model_args` in place of `models`.")
    stated = by_field(config, path)
    found = [
        ConfigError(f"`{name}` does not go with several efforts.", where=config.where(name), hint="Leave it out.")
        for name in NOT_HERE
        if name in stated
    ]
    known = {name: value for name, value in stated.items() if name not in NOT_HERE}
    found += faults(known, OF_FILE, config.where, "key")
    settings = [name for name in SETTINGS if name in stated]
    if len(settings) != 1:
        what = f"one of {', '.join(SETTINGS)} is needed" + (f", and the file has {len(settings)}" if settings else "")
        found.append(ConfigError(f"{what}.", where=path, hint="Such as reasoning_effort: [low, medium, high]."))
    raise_all(found)
    [setting] = settings
    efforts = _efforts(setting, stated[setting], str(stated.get("model")), config.where(setting))
    check_folders(list(efforts), path)
    own = {name: value for name, value in stated.items() if name not in (*SETTINGS, "output_path", "margin", "tasks")}
    own = {name: value for name, value in own.items() if value is not None}
    model = str(own.get("name") or column_name(own.get("model_args") or {}, str(own.get("model") or "tiny-llava")))
    tasks = task_names(stated.get("tasks"), path)
    output = Path(output_path or str(stated.get("output_path") or f"runs/effort-{folder_name(model)}"))
    base = RunRequest.of_options(tasks, data_root=os.environ.get("MM_EVAL_DATA_ROOT"))
    runs = {}
    for name, changed in efforts.items():
        options = {**own, **_merged({key: own.get(key) or {} for key in changed}, changed)}
        options["model_args"] = model_arguments(options.get("model_args") or {})
        options["name"] = f"{model} ({name})"
        request = base.with_options(**options)
        runs[name] = replace(request, output_path=str(output / folder_name(name)))
    said = {name: ", ".join(_words(changed)) for name, changed in efforts.items()}
    return EffortFile(model, runs, said, float(margin or stated.get("margin") or MARGIN), output)


def _efforts(setting: str, stated: Any, adapter: str, where: str) -> dict[str, Mapping[str, object]]:
    """{name: what the effort changes of the request}. ConfigError for one given twice, or of which nothing differs."""
    if setting != "efforts":
        if len(set(map(str, stated))) < len(stated):
            raise ConfigError(f"`{setting}` has a value twice.", where=where, hint="State each once.")
        place = WHERE[setting, adapter in BY_SERVER]
        return {str(value): _nested((*place, setting), value) for value in stated}
    for name, changed in stated.items():
        if unknown := [key for key in changed if key not in OF_EFFORT]:
            what = f"the effort {shortly(name)} states {shortly(unknown[0])}; {', '.join(OF_EFFORT)} may differ."
            raise ConfigError(what, where=where)
        if odd := [key for key in ("model_args", "gen_kwargs") if not isinstance(changed.get(key, {}), Mapping)]:
            raise ConfigError(f"`{odd[0]}` of the effort {shortly(name)} is not a mapping.", where=where)
    texts = [repr(_plain(changed)) for changed in stated.values()]
    if len(set(texts)) < len(texts):
        raise ConfigError("two of the efforts are the same.", where=where, hint="State each once.")
    return {_name(name): _plain(changed) for name, changed in stated.items()}


def _name(key: object) -> str:
    """The name of an effort. YAML reads off, no and false without quotes as one value."""
    return ("on" if key else "off") if isinstance(key, bool) else str(key)


def _nested(keys: tuple[str, ...], value: object) -> dict[str, object]:
    return {keys[0]: _nested(keys[1:], value) if len(keys) > 1 else value}


def _plain(value: object) -> Any:
    """A value of a file without its lines."""
    return {str(key): _plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _merged(stated: Mapping[str, object], changed: Mapping[str, object]) -> dict[str, object]:
    """What the file states for all efforts with what one changes; mappings within mappings keep their other keys."""
    found = dict(stated)
    for key, value in changed.items():
        below = found.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        found[key] = _merged(below, value) if both else value  # type: ignore[arg-type]
    return found


def _words(changed: Mapping[str, object]) -> list[str]:
    """ "reasoning_effort=low": the innermost settings."""
    found: list[str] = []
    for key, value in changed.items():
        found += _words(value) if isinstance(value, Mapping) and value else [f"{key}={value}"]
    return found
