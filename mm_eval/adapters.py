"""The adapter that a request names: in this process (and the ranks of its launch), or where an executor of a feature puts it.

`in_our_words` comes first: all else takes requests with the name and the arguments of an adapter of ours.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mm_eval.config.functions import load_file
from mm_eval.config.python_file import python_file, with_siblings
from mm_eval.engine.model import MODELS, Model, ModelSettings, create_model, is_bundled
from mm_eval.engine.own_code import line_in, line_of
from mm_eval.request import DEFAULT_MODEL, IN_MEMORY, RAY_OPTIONS, RunRequest
from mm_eval.values.errors import ConfigError, InvalidValue, did_you_mean, kind_and_text

_OURS = (None, "dummy", "replay", "tiny-llava", "tiny-qwen2-vl", "tiny-qwen2-audio")
"""Models that are nowhere else, and need no argument."""


def in_our_words(request: RunRequest) -> tuple[RunRequest, list[str]]:
    """The request with the name and the arguments of one of our adapters, where it has those of another program, and notes.

    Errors: ConfigError for what has no counterpart here.
    """
    if not request.model_args and request.model in _OURS:
        return request, []
    from mm_eval.aliases.request import in_our_words as translated

    return translated(request)


def model_class_of(request: RunRequest) -> type[Model]:
    """The class of the adapter that a request names; that of a file is imported. For a function it is that of any function."""
    if place := place_in_file(request.model):
        found = _model_in_file(*place)
        return found if isinstance(found, type) else MODELS.get(IN_MEMORY)
    name = request.model or DEFAULT_MODEL
    if name.endswith(".py") and Path(name).is_file():
        known = sorted(python_file(Path(name)).names or ())
        hint = f"Write --model {name}:NAME, with a class or a function in it. It has: {', '.join(known) or 'none'}."
        raise InvalidValue(f"{name!r} is a Python file.", where="--model", hint=hint)
    if name not in MODELS and ("/" in name or Path(name).is_dir()):
        hint = f"A checkpoint is an argument of an adapter: --model hf --model_args pretrained={name}."
        raise InvalidValue(f"{name!r} is not an adapter.", where="--model", hint=hint)
    return MODELS.get(name, where="--model")


def uses_sample(request: RunRequest) -> bool:
    """Whether the data is the bundled sample. Imports no file that a request names."""
    return request.sample or not place_in_file(request.model) and is_bundled(model_class_of(request))


def place_in_file(name: str | None) -> tuple[Path, str] | None:
    """(file, class) of a model that is named as "path/to/file.py:Class"; None for any other name."""
    file, _, kind = (name or "").rpartition(":")
    return (Path(file), kind) if file.endswith(".py") and kind else None


def _model_in_file(file: Path, name: str) -> type[Model] | Callable[..., object]:
    """The class, or the function of chat messages, of that name in a file."""
    where = f"--model {file}:{name}"
    if not file.is_file():
        raise ConfigError(f"there is no file {str(file)!r}.", where=where, hint="Write --model path/to/file.py:Class.")
    try:
        module = load_file(file.resolve())
    except SyntaxError as error:
        place = f"{file}:{error.lineno}" if error.lineno else where
        raise ConfigError(f"it can't be imported: {kind_and_text(error)}.", where=place) from error
    except ModuleNotFoundError as error:
        beside = file.parent / str(error.name).partition(".")[0]
        hint = f"It lies beside the file: write `from .{beside.name} import NAME`."
        raise ConfigError(
            f"it can't be imported: {kind_and_text(error)}.",
            where=line_in(error) or where,
            hint=hint if beside.is_dir() or beside.with_suffix(".py").is_file() else "",
        ) from error
    except Exception as error:  # the file's own code
        raise ConfigError(f"it can't be imported: {kind_and_text(error)}.", where=line_in(error) or where) from error
    found = getattr(module, name, None)
    if isinstance(found, type) and issubclass(found, Model) or inspect.isfunction(found):
        return found
    kinds = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Model)
        and value is not Model
        or inspect.isfunction(value)
        and value.__module__ == module.__name__
    ]
    if found is None:
        what = f"the file has no {name!r}."
    else:
        what = f"{name!r} is not a subclass of mm_eval.Model."
        if isinstance(found, type) and hasattr(found, "generate"):
            what = f"{what[:-1]} (class {name}(Model))."
    raise ConfigError(what, where=line_of(found) if isinstance(found, type) else where, hint=did_you_mean(name, kinds))


def model_settings(request: RunRequest) -> ModelSettings:
    """The options of a request that apply to every adapter."""
    return ModelSettings(**{each.name: getattr(request, each.name) for each in fields(ModelSettings) if each.compare})


def own_model(request: RunRequest) -> Model:
    """The adapter of a request in this process."""
    place, args, settings = place_in_file(request.model), request.model_args, model_settings(request)
    found = _model_in_file(*place) if place else model_class_of(request)
    if isinstance(found, type):
        made = create_model(found, args, settings)
    else:
        memory: Any = MODELS.get(IN_MEMORY)
        made = memory.of_function(found, args, settings)
    if place:  # the file decides the answers, too
        files = sorted(with_siblings(place[0].resolve()))
        code = hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()
        made.facts = replace(made.facts, constants={**made.facts.constants, "code": code}, travels=False)
    return made


def make_model(request: RunRequest) -> Model:
    """The adapter of a request with its arguments checked and no weights loaded."""
    return on_executor(own_model(request), request)


def on_executor(model: Model, request: RunRequest) -> Model:
    """The model as the request wants it asked: itself, or a fleet of workers each of which loads it. Starts nothing.

    Errors: ConfigError for options that do not fit together.
    """
    options = request.options()
    stated = [name for name in RAY_OPTIONS if options[name] is not None]
    if request.ray.executor is None:
        if stated:
            hint = "Add --executor ray, or leave it out."
            raise ConfigError(f"--{stated[0]} is an option of --executor ray.", where=f"--{stated[0]}", hint=hint)
        return model
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:
        hint = "Start one process; its workers are the others."
        raise ConfigError("torchrun and --executor ray can't be combined.", where="--executor", hint=hint)
    if not model.facts.travels:
        return model

    from mm_eval.ray.executor import fleet_of

    return fleet_of(model, request)
