"""Tasks that a program states as mappings, `evaluate(tasks=[{"task": "mme", "num_fewshot": 2}])`: as JSON values, and as configs.

A recorded run must be able to build its tasks again, so a function is written as where it stands: "!function /folder/utils.f".
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mm_eval.config.arguments import is_json, shortly
from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import LocatedDict
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Options

TAG = "!function "
MAX_DEPTH = 200
"""Mappings and lists inside one another; also what ends one that contains itself."""
HINT = 'Put it at the top level of a file of its own; "!function folder/utils.f" names it, too.'


def stated_task(config: Options, where: str = "") -> dict[str, object]:
    """The mapping of a task or group as JSON values, with functions and paths that hold from any working directory.

    Errors: ConfigError for what JSON can't hold, and for a function that can't be found again.
    """
    stated: dict[str, object] = _as_json(config, where)
    if "include" in stated:
        stated["include"] = _from_anywhere(stated["include"])
    if isinstance(options := stated.get("dataset_kwargs"), dict) and "data_files" in options:
        options["data_files"] = _from_anywhere(options["data_files"])
    if not is_json(stated):
        what = f"{shortly(stated)} is not a mapping of names to texts, finite numbers, functions, lists and mappings."
        raise ConfigError(what, where=where)
    return stated


def _from_anywhere(paths: Any) -> object:
    """The files in a value by their absolute paths; other texts, such as patterns and addresses, stay."""
    if isinstance(paths, dict):
        return {name: _from_anywhere(path) for name, path in paths.items()}
    if isinstance(paths, list):
        return [_from_anywhere(path) for path in paths]
    is_file = isinstance(paths, str) and os.path.isfile(os.path.expanduser(paths))
    return os.path.abspath(os.path.expanduser(paths)) if is_file else paths


def _as_json(value: object, where: str, depth: int = 0) -> Any:
    _check_depth(depth, where)
    if isinstance(value, Mapping):
        return {name: _as_json(item, where, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(item, where, depth + 1) for item in value]
    if isinstance(value, str) and value.startswith(TAG):
        reference = _reference(value)
        return value if reference.of_mm_eval else f"{TAG}{reference.file.with_suffix('')}.{reference.function}"
    if isinstance(value, FunctionRef):
        return f"{TAG}{value.name}" if value.of_mm_eval else f"{TAG}{value.source().with_suffix('')}.{value.function}"
    if isinstance(value, Path):
        return str(value)
    return _function(value, where) if callable(value) else value


def _function(function: Any, where: str) -> str:
    """A function of a file by its place."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    module = getattr(function, "__module__", None)
    try:
        file = inspect.getsourcefile(function)
    except TypeError:
        file = None
    if file is None or "." in name or "<" in name or module == "__main__":
        what = f"{name} can't be found again when the run continues or is scored"
        which = "it is in the running script" if module == "__main__" else "it is not a function of a file"
        raise ConfigError(f"{what}: {which}.", where=where, hint=HINT)
    return f"{TAG}{Path(file).resolve().with_suffix('')}.{name}"


def config_of(stated: Mapping[str, object]) -> LocatedDict:
    """A mapping of `stated_task`, or of TaskManager.load, with its functions."""
    if isinstance(stated, LocatedDict):
        return stated
    return LocatedDict({name: _with_functions(value) for name, value in stated.items()})


def _check_depth(depth: int, where: str = "") -> None:
    if depth > MAX_DEPTH:
        raise ConfigError(f"a mapping among the tasks has more than {MAX_DEPTH} levels.", where=where)


def _with_functions(value: object, depth: int = 0) -> object:
    _check_depth(depth)
    if isinstance(value, str) and value.startswith(TAG):
        return _reference(value)
    if isinstance(value, Mapping):
        return {name: _with_functions(item, depth + 1) for name, item in value.items()}
    return [_with_functions(item, depth + 1) for item in value] if isinstance(value, list) else value


def _reference(text: str) -> FunctionRef:
    name = text.removeprefix(TAG).strip()
    if name.startswith("mm_eval."):
        return FunctionRef(name, Path.cwd() / "given", 0)
    module, _, function = name.rpartition(".")
    file = Path(os.path.abspath(os.path.expanduser(f"{module}.py")))
    return FunctionRef(f"{file.stem}.{function}", file, 0)
