"""A release: several models on several tasks from one file, each in its own run folder, resumed as a whole.

output_path: runs/release
title: Our release              # of the page
tasks: [mme, seedbench]
sample: true                    # any option of `mm-eval run`, for every model
parallel: 2                     # models at a time
models:
  - model: llava
    name: LLaVA-1.5-7B          # of the column and the folder; default: the checkpoint's or the adapter's
    model_args: {pretrained: llava-hf/llava-1.5-7b-hf}
    prompt_key: llava           # and for this model alone
columns: [plain, python]        # each task without and with the tool python; default: as `tasks` says
"""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.check_runs import check_folders, folder_name
from mm_eval.cli.options import read_pairs
from mm_eval.config.arguments import COUNT_FROM_1, PATH, TEXT, Rule, column_name, faults, shortly
from mm_eval.config.located import LocatedDict, where_item
from mm_eval.config.manager import parts_of_spec
from mm_eval.config.schema import WITH_PYTHON, split_python
from mm_eval.config.tools import PYTHON
from mm_eval.prepare import names_tasks
from mm_eval.request import (
    COMMAND_NAMES,
    RAY_OPTIONS,
    RULES,
    VERBOSITY,
    RunRequest,
    by_field,
    model_arguments,
    task_names,
)
from mm_eval.values.errors import ConfigError, did_you_mean, raise_all

PLAIN = "plain"
COLUMNS = Rule(
    f"a list of {PLAIN} and {PYTHON}",
    lambda value: (
        isinstance(value, list)
        and bool(value)
        and all(value.count(each) == 1 for each in value)
        and set(value) <= {PLAIN, PYTHON}
    ),
)
_CHECKED_LATER = Rule("", lambda value: True)
OF_BOTH = {
    **{name: rule for name, rule in RULES.items() if name not in ("output_path", "model", "name")},
    "tasks": _CHECKED_LATER,
    "columns": COLUMNS,
}
"""What may stand in the file for all models, and beside each model."""
OF_FILE = {
    **OF_BOTH,
    "models": _CHECKED_LATER,
    "output_path": PATH,
    "verbosity": VERBOSITY,
    "parallel": COUNT_FROM_1,
    "title": TEXT,
}
OF_MODEL = {**OF_BOTH, "model": RULES["model"], "name": RULES["name"]}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Release:
    """What a release file describes. runs: by name, in its order. parallel: how many models run at a time; None if unstated.
    title: of the page. places: file:line of each run."""

    runs: dict[str, RunRequest]
    parallel: int | None = None
    title: str | None = None
    places: Mapping[str, str] = field(default_factory=dict)

    def chosen(self, names: Sequence[str]) -> dict[str, RunRequest]:
        """The runs that `--only` names, all if it names none. ConfigError for a name that no model has."""
        given = [part.strip() for name in names for part in ([name] if name in self.runs else name.split(","))]
        for name in given:
            if name not in self.runs:
                what = f"the release has no model called {shortly(name)}."
                raise ConfigError(what, where="--only", hint=did_you_mean(name, self.runs))
        return {name: run for name, run in self.runs.items() if not given or name in given}


def read_release(path: str, base: RunRequest, given: Sequence[str] = ()) -> Release:
    """The release that a file describes; the command's own options hold where the file says nothing.

    given: the command's options that were stated, by field, which the file must not contradict.
    Errors: ConfigError with file, line and key for everything that is unknown, missing or invalid.
    """
    from mm_eval.config.yaml import load_file

    config = load_file(Path(path))
    if "models" not in config and (kind := next((key for key in ("task", "group") if key in config), None)):
        what = f"this is a {kind} file, and --config takes the file of a release, with `models:`."
        raise ConfigError(what, where=path, hint=f"Run it with --tasks {shlex.quote(path)}")
    common = _with_pairs(by_field(config, path), path)
    found: list[ConfigError] = list(faults(common, OF_FILE, config.where, "key"))
    models = config.get("models")
    if not isinstance(models, list) or not models:
        found.append(ConfigError("a list `models:` is needed.", where=path))
        models = []
    output = Path(str(base.output_path or common.get("output_path") or "runs/release"))
    shared = {key: value for key, value in common.items() if key in OF_BOTH and OF_BOTH[key].fits(value)}
    runs: dict[str, RunRequest] = {}
    places: dict[str, str] = {}
    for place, entry in enumerate(models, 1):
        line = where_item(models, place - 1, path)
        where = f"{line}: model {place}"
        entry = LocatedDict({"model": entry}) if isinstance(entry, str) else entry
        try:
            request = _read_model(entry, where, shared, base)
            _check_given(request, base, given, path, shared, entry, where)
            request = _in_columns(request, entry.get("columns") or shared.get("columns"), where)
            name = str(request.name)
            if name in runs:
                raise ConfigError(f"two models are called {shortly(name)}.", where=where, hint="Give each a `name`.")
            places[name] = line
            runs[name] = replace(request, output_path=str(output / folder_name(name)))
        except ConfigError as error:
            found.append(error)
    raise_all(found)
    check_folders(list(runs), path)
    runs = _without_idle_options(runs, base, path)
    if common.get("verbosity"):
        logging.getLogger().setLevel(str(common["verbosity"]))
    return Release(runs, common.get("parallel"), common.get("title"), places)


def stated(base: RunRequest) -> list[str]:
    """The fields of a request that the command's options state, or variables such as MM_EVAL_DATA_ROOT that hold as defaults."""
    known = RunRequest(()).options()
    return [name for name, value in base.options().items() if value != known[name] and name in OF_BOTH]


def _check_given(
    request: RunRequest,
    base: RunRequest,
    given: Sequence[str],
    path: str,
    shared: Mapping[str, object],
    entry: Mapping[str, object],
    where: str,
) -> None:
    """Refuses options of the command that the file contradicts: one of both would be ignored without a word."""
    own = _with_pairs(by_field(entry, where), where)
    found, in_file, in_command = [], request.options(), base.options()
    for name in given:
        theirs = in_file[name]
        if request.ray.executor is None and name in RAY_OPTIONS:  # idle in the file, and refused in the command
            continue
        if theirs != in_command[name]:
            said = ",".join(theirs) if name == "tasks" else theirs
            what = f"the command has another value, and the file says `{name}: {shortly(said)}`."
            hint = "Leave out the option, or the line of the file."
            found.append(
                ConfigError(
                    what, where=f"--{COMMAND_NAMES.get(name, name)}: {where if name in own else path}", hint=hint
                )
            )
    raise_all(found)


def _without_idle_options(runs: Mapping[str, RunRequest], base: RunRequest, path: str) -> dict[str, RunRequest]:
    """The runs without what the file says of workers, where no executor is stated: a file is used with and without a cluster.

    Those of the command itself stay, and are refused.
    """
    ignored: dict[str, None] = {}
    found = dict(runs)
    for name, request in runs.items():
        if request.ray.executor is None:
            in_file, in_command = request.options(), base.options()
            idle = [key for key in RAY_OPTIONS if in_file[key] != in_command[key]]
            found[name] = replace(request, ray=base.ray)
            ignored |= dict.fromkeys(idle)
    if ignored:
        named = ", ".join(f"`{key}`" for key in ignored)
        log.warning("%s: %s: ignored, because the models run without `executor: ray`.", path, named)
    return found


def _read_model(entry: object, where: str, shared: Mapping[str, object], base: RunRequest) -> RunRequest:
    """The run of one entry of `models:`, with a name. shared: the valid options of all models.

    Errors: ConfigError with everything that is wrong with this entry.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
        raise ConfigError(f"{shortly(entry)} does not say which `model`.", where=where)
    own = _with_pairs(by_field(entry, where), where)
    if type(own.get("name")) in (int, float):  # a name such as 3.5 is a number to YAML
        own["name"] = str(own["name"])
    raise_all(faults(own, OF_MODEL, lambda key: where, "key"))
    options = {key: value for key, value in {**shared, **own}.items() if value is not None}
    tasks = options.pop("tasks", base.tasks)
    options.pop("columns", None)
    options["model_args"] = model_arguments(options.get("model_args") or {})
    named = not tasks and names_tasks(base.with_options(**options))  # by an option of a feature
    options["tasks"] = () if named else task_names(tasks, where)
    options.setdefault("name", column_name(own.get("model_args") or {}, str(own["model"])))
    return base.with_options(**options)


def _in_columns(request: RunRequest, columns: Sequence[str] | None, where: str) -> RunRequest:
    """The request with each of its tasks once for each column: as it is named, and with `@python`.

    Errors: ConfigError where the tasks, or `tools`, say already which of them have the tool.
    """
    if not columns:
        return request
    if request.tools.added:
        what = f"`tools: {request.tools.added}` asks every task with the tool, and `columns` says which are."
        raise ConfigError(what, where=where, hint="Leave one of them out.")
    if not request.tasks:
        raise ConfigError("`columns` needs the names of the tasks.", where=where, hint="List them under `tasks:`.")
    found = list[str | Mapping[str, object]]()
    for task in (part for each in request.tasks for part in parts_of_spec(each) if not isinstance(part, Path)):
        name = str(task.get("task")) if isinstance(task, Mapping) else task
        if isinstance(task, Mapping) and "group" in task:
            what = "a group that is defined in the release file can't be asked in two columns."
            raise ConfigError(what, where=where, hint="Define it in a file of its own, and name that.")
        if split_python(name)[1]:
            what = f"`columns` asks {name!r} twice: it has the tool already."
            raise ConfigError(what, where=where, hint=f"Write {split_python(name)[0]}, or leave `columns` out.")
        with_tool = name + WITH_PYTHON
        found += [task] if PLAIN in columns else []
        found += [{**task, "task": with_tool} if isinstance(task, Mapping) else with_tool] if PYTHON in columns else []
    return replace(request, tasks=tuple(found))


def _with_pairs(stated: dict[str, Any], where: str) -> dict[str, Any]:
    """The options of a file with "a=1,b=2", as the command has it, read as mappings. ConfigError where it can't be read."""
    for name, typed in (("model_args", False), ("gen_kwargs", True), ("metadata", True)):
        if isinstance(stated.get(name), str):
            try:
                stated[name] = read_pairs(stated[name], name, typed=typed)
            except ConfigError as error:
                raise error.located(where) from error
    return stated


def at_a_time(requests: Mapping[str, RunRequest], stated: int | None) -> int:
    """How many models run at a time: as many as stated; else all where each has workers on a cluster, which wait for room."""
    if stated is None:
        stated = len(requests) if all(request.ray.executor for request in requests.values()) else 1
    if stated > 1 and int(os.environ.get("WORLD_SIZE") or 1) > 1:
        hint = "Start one process with --parallel, or torchrun without it."
        raise ConfigError("torchrun and --parallel can't be combined.", where="--parallel", hint=hint)
    return min(stated, len(requests))
