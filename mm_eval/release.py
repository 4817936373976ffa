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

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.request import RunRequest
from mm_eval.run_options import check_options

OPTIONS = tuple(each.name for each in fields(RunRequest) if each.name not in ("output_path", "model", "name"))
OF_FILE = ("models", "output_path", *OPTIONS)
OF_MODEL = ("model", "name", *OPTIONS)


def read_release(path: str, base: RunRequest) -> dict[str, RunRequest]:
    """The runs that a file describes, by name; the command's own options hold where the file says nothing.

    Errors: ConfigError with file and key for whatever is unknown or missing.
    """
    from mm_eval.catalog.yaml import load_file

    config = load_file(Path(path))
    _check(config, OF_FILE, path)
    models = config.get("models")
    if not isinstance(models, list) or not models:
        raise ConfigError("a list `models:` is needed.", where=path)
    output = Path(str(base.output_path or config.get("output_path") or "runs/release"))
    common = {key: value for key, value in config.items() if key in OPTIONS}
    runs: dict[str, RunRequest] = {}
    for place, entry in enumerate(models, 1):
        where = f"{path}: model {place}"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
            raise ConfigError(f"{entry!r:.80} does not say which `model`.", where=where)
        _check(entry, OF_MODEL, where)
        options = {**common, **{key: value for key, value in entry.items() if key in OPTIONS}}
        name = str(entry.get("name") or _name(entry))
        if name in runs:
            raise ConfigError(f"two models are called {name!r}.", where=where, hint="Give each a `name`.")
        request = _request(base, str(entry["model"]), options, str(output / folder_name(name)), where)
        runs[name] = replace(request, name=name)
    check_folders(list(runs), path)
    return runs


def folder_name(name: str) -> str:
    """A model's or prompt's name as a folder within another one."""
    return re.sub(r"[^\w.@+-]+", "_", name).lstrip(".") or "_"


def check_folders(names: Sequence[str], where: str) -> None:
    """ConfigError where two names would have one folder."""
    taken: dict[str, str] = {}
    for name in names:
        if (other := taken.setdefault(folder_name(name), name)) != name:
            raise ConfigError(f"{other!r} and {name!r} would have one folder.", where=where, hint="Rename one of them.")


def _check(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            raise ConfigError(f"unknown key {key!r}.", where=where, hint=did_you_mean(str(key), known))


def _name(entry: Mapping[str, Any]) -> str:
    args = entry.get("model_args") or {}
    named = args.get("pretrained") or args.get("model") if isinstance(args, Mapping) else None
    return Path(str(named)).name if named else str(entry["model"])


def _request(base: RunRequest, model: str, options: dict[str, Any], folder: str, where: str) -> RunRequest:
    tasks = options.get("tasks", base.tasks)
    names = [name.strip() for name in tasks.split(",")] if isinstance(tasks, str) else list(tasks or ())
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigError(f"`tasks` is {tasks!r}; a list of names is needed.", where=where)
    check_options(options, where)
    arguments = {key: str(value) if not isinstance(value, (str, Mapping, list)) else value
                 for key, value in (options.get("model_args") or {}).items()}  # fmt: skip
    options = {key: value for key, value in options.items() if value is not None}
    options = {**options, "tasks": tuple(names), "model_args": arguments}
    return replace(base, **options, model=model, output_path=folder)
