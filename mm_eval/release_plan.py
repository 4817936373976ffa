"""A release: several models on several tasks from one file, each in its own run folder, resumable as a whole.

output_path: runs/release
tasks: [mme, seedbench]
sample: true                    # any option of `mm-eval run`, for every model
models:
  - model: llava
    name: LLaVA-1.5-7B          # of the column and the folder; else the checkpoint's or the adapter's
    model_args: {pretrained: llava-hf/llava-1.5-7b-hf}
    prompt_key: llava           # and for this model alone
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mm_eval.errors import ConfigError, ConfigErrors, MMEvalError, ModelError, did_you_mean
from mm_eval.request import (
    COMMAND_NAMES,
    RunRequest,
    by_field,
    faults,
    load_configs,
    make_model,
    model_class_of,
    shortly,
    task_names,
)

if TYPE_CHECKING:
    from mm_eval.runs.recorded import RecordedRun


OPTIONS = tuple(each.name for each in fields(RunRequest) if each.name not in ("output_path", "model", "name"))
OF_FILE = ("models", "output_path", "verbosity", *OPTIONS)
OF_MODEL = ("model", "name", *OPTIONS)
PARTIAL, INTERRUPTED = 3, 130
"""Exit codes of a release of which a model failed, and of one that was interrupted."""
T = TypeVar("T")
log = logging.getLogger(__name__)


def read_release(path: str, base: RunRequest) -> dict[str, RunRequest]:
    """The runs that a file describes, by name; the command's own options hold where the file says nothing.

    Errors: ConfigError with file, line and key for all that is unknown, missing or not allowed.
    """
    from mm_eval.catalog.yaml import load_file

    config = load_file(Path(path))
    common = by_field(config, path)
    found = [*_unknown(common, OF_FILE, config.where), *faults(common, config.where)]
    models = config.get("models")
    if not isinstance(models, list) or not models:
        raise ConfigErrors.of([*found, ConfigError("a list `models:` is needed.", where=path)])
    output = Path(str(base.output_path or common.get("output_path") or "runs/release"))
    shared = {key: value for key, value in common.items() if key in OPTIONS}
    runs: dict[str, RunRequest] = {}
    for place, entry in enumerate(models, 1):
        try:
            name, request = _model(entry, f"{path}: model {place}", shared, base, not found)
            if name in runs:
                hint = "Give each a `name`."
                raise ConfigError(f"two models are called {shortly(name)}.", where=f"{path}: model {place}", hint=hint)
            runs[name] = replace(request, name=name, output_path=str(output / folder_name(name)))
        except ConfigErrors as error:
            found += error.errors
        except ConfigError as error:
            found.append(error)
    if found:
        raise ConfigErrors.of(found)
    check_folders(list(runs), path)
    if common.get("verbosity"):
        logging.getLogger().setLevel(str(common["verbosity"]))
    return runs


def _model(
    entry: Any, where: str, shared: Mapping[str, Any], base: RunRequest, shared_is_right: bool
) -> tuple[str, RunRequest]:
    """One entry of `models:`, its name and what it asks.

    shared: the options of all models. Errors: ConfigError with all that is wrong with this entry.
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
        raise ConfigError(f"{shortly(entry)} does not say which `model`.", where=where)
    own = by_field(entry, where)
    if type(own.get("name")) in (int, float):  # a name such as 3.5 is a number to YAML
        own["name"] = str(own["name"])

    def place(key: str) -> str:
        return where

    if found := [*_unknown(own, OF_MODEL, place), *faults(own, place)]:
        raise ConfigErrors.of(found)
    options = {**shared, **{key: value for key, value in own.items() if key in OPTIONS}}
    names = task_names(options.get("tasks", base.tasks), where)
    name = str(own.get("name") or _name(own))
    if not shared_is_right:  # told already
        return name, replace(base, tasks=names)
    arguments = {key: str(value) if not isinstance(value, (str, Mapping, list)) else value
                 for key, value in (options.get("model_args") or {}).items()}  # fmt: skip
    options = {key: value for key, value in options.items() if value is not None}
    return name, replace(base, **{**options, "tasks": names, "model_args": arguments}, model=own["model"])


def check_models(requests: Mapping[str, RunRequest]) -> None:
    """Looks at every model and its tasks, data and run folder before the first is asked; loads no weights.

    requests: by name, which each error begins with.
    Errors: ConfigError with every mistake of every model.
    """
    models: dict[tuple[str, str, str], list[str]] = {}
    for name, request in requests.items():
        for error in mistakes(request):
            models.setdefault((error.what, error.where, error.hint), []).append(name)
    if models:
        raise ConfigErrors.of(
            [
                ConfigError(what, where=": ".join([", ".join(names), *([where] if where else [])]), hint=hint)
                for (what, where, hint), names in models.items()
            ]
        )


def mistakes(request: RunRequest) -> list[MMEvalError]:
    """What is wrong with a run before it is asked: its task names, its model and, where those are right, all else."""
    from mm_eval.engine.folder import RunFolder
    from mm_eval.prepare import check_generation, prepare

    def whole() -> None:
        plan = prepare(request)
        check_generation(plan)
        if request.output_path:
            RunFolder(Path(request.output_path)).refuse_other(plan.spec())

    parts: list[Callable[[], object]] = [
        lambda: load_configs(request),
        lambda: make_model(request, model_class_of(request)[0]),
    ]
    found = [error for part in parts if isinstance(error := attempt(part), MMEvalError)]
    return found or [error for error in [attempt(whole)] if error]


def attempt(part: Callable[[], T]) -> T | MMEvalError:
    """What a part of a release gives, or what it fails with: a model's own files and code may raise anything."""
    try:
        return part()
    except MMEvalError as error:
        return error
    except Exception as error:  # a checkpoint's config, a task's code, a library
        log.debug("An unexpected failure:", exc_info=True)
        return ModelError(f"{type(error).__name__}: {error}")


@dataclass
class Outcomes:
    """What the models of a release came to, one after the other.

    runs: those with numbers. holes: for each model without any, the reason. problems: what is odd about the last one.
    """

    runs: list[RecordedRun] = field(default_factory=list)
    holes: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    exit_code: int = 0

    @property
    def interrupted(self) -> bool:
        return self.exit_code == INTERRUPTED

    def add(self, name: str, request: RunRequest) -> None:
        """Runs a model. Whatever it fails with is its own: the other models go on."""
        from mm_eval.report.progress import Progress
        from mm_eval.run import evaluate
        from mm_eval.runs.recorded import RecordedRun
        from mm_eval.runs.results import warnings_of

        self.problems = []
        try:
            report = attempt(partial(evaluate, request, progress=Progress()))
        except KeyboardInterrupt:
            self.exit_code, self.holes[name] = INTERRUPTED, "it was interrupted before it had numbers"
            return
        if isinstance(report, MMEvalError):
            self.exit_code, self.holes[name] = PARTIAL, f"{report.owner} error: {report}"
            self.problems = [self.holes[name]]
            return
        self.exit_code = max(self.exit_code, report.exit_code)
        self.problems = [f"warning: {said}" for said in warnings_of(report.results)] if report.results else []
        self.problems += report.problems
        if report.results:
            self.runs.append(RecordedRun.read(report.folder, name))
        elif report.exit_code and not report.silent:
            self.holes[name] = "; ".join(report.problems) or "it has no numbers"

    def leave_out(self, requests: Mapping[str, RunRequest]) -> None:
        """Notes the models that an interrupt left unasked."""
        done = {run.name for run in self.runs} | self.holes.keys()
        for name in requests if self.interrupted else ():
            if name not in done:
                self.holes[name] = "it was not asked: interrupted before it"


def folder_name(name: str) -> str:
    """A model's or prompt's name as a folder within another one."""
    return re.sub(r"[^\w.@+-]+", "_", name).lstrip(".") or "_"


def check_folders(names: Sequence[str], where: str) -> None:
    """ConfigError where two names would have one folder."""
    taken: dict[str, str] = {}
    for name in names:
        if (other := taken.setdefault(folder_name(name), name)) != name:
            raise ConfigError(f"{other!r} and {name!r} would have one folder.", where=where, hint="Rename one of them.")


def _unknown(entry: Mapping[str, Any], known: tuple[str, ...], where: Callable[[str], str]) -> Iterator[ConfigError]:
    for key in entry:
        if key not in known and key not in COMMAND_NAMES.values():
            hint = did_you_mean(key, [*known, *COMMAND_NAMES.values()])
            yield ConfigError(f"unknown key {shortly(key)}.", where=where(key), hint=hint)


def _name(entry: Mapping[str, Any]) -> str:
    args = entry.get("model_args") or {}
    named = args.get("pretrained") or args.get("model") if isinstance(args, Mapping) else None
    return Path(str(named)).name if named else str(entry["model"])
