"""The adapter that a request names: in this process (and the ranks of its launch), or where an executor of a feature puts it.

`in_our_words` comes first: all else takes requests with the name and the arguments of an adapter of ours.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import fields, replace
from pathlib import Path

from mm_eval.config.functions import load_file
from mm_eval.config.python_file import with_siblings
from mm_eval.engine.model import MODELS, Model, ModelSettings, create_model, is_bundled
from mm_eval.request import DEFAULT_MODEL, RAY_OPTIONS, RunRequest
from mm_eval.values.errors import ConfigError, InvalidValue, did_you_mean, kind_and_text

_OURS = (None, "dummy", "replay", "tiny-llava", "tiny-qwen2-vl")
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
    """The class of the adapter that a request names; that of a file is imported."""
    if place := place_in_file(request.model):
        return _class_in_file(*place)
    name = request.model or DEFAULT_MODEL
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


def _class_in_file(file: Path, name: str) -> type[Model]:
    where = f"--model {file}:{name}"
    if not file.is_file():
        raise ConfigError(f"there is no file {str(file)!r}.", where=where, hint="Write --model path/to/file.py:Class.")
    try:
        module = load_file(file.resolve())
    except Exception as error:  # the file's own code
        raise ConfigError(f"it can't be imported: {kind_and_text(error)}.", where=where) from error
    found = getattr(module, name, None)
    if not isinstance(found, type) or not issubclass(found, Model):
        kinds = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Model)]
        what = f"{name!r} is not a subclass of mm_eval.Model." if found is not None else f"the file has no {name!r}."
        raise ConfigError(what, where=where, hint=did_you_mean(name, [kind for kind in kinds if kind != "Model"]))
    return found


def model_settings(request: RunRequest) -> ModelSettings:
    """The options of a request that apply to every adapter."""
    return ModelSettings(**{each.name: getattr(request, each.name) for each in fields(ModelSettings) if each.compare})


def own_model(request: RunRequest) -> Model:
    """The adapter of a request in this process."""
    made = create_model(model_class_of(request), request.model_args, model_settings(request))
    if place := place_in_file(request.model):  # the file decides the answers, too
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
        raise ConfigError("torchrun and --executor ray exclude each other.", where="--executor", hint=hint)
    if not model.facts.travels:
        return model

    from mm_eval.ray.executor import fleet_of

    return fleet_of(model, request)
