"""The adapter that a request names: in this process (and the ranks of its launch), or where an executor of a feature puts it."""

from __future__ import annotations

import os

from mm_eval.engine.model import MODELS, Model, ModelSettings, create_model
from mm_eval.request import DEFAULT_MODEL, EXECUTOR, RunRequest
from mm_eval.values.errors import ConfigError
from mm_eval.values.features import brought


def in_our_words(request: RunRequest) -> tuple[RunRequest, list[str]]:
    """The request with the name and the arguments of one of our adapters, where it has those of another program, and notes.

    Errors: ConfigError for what has no counterpart here.
    """
    notes: list[str] = []
    for translate in brought("REQUESTS").values():
        request, said = translate(request)
        notes += said
    return request, notes


def model_class_of(request: RunRequest) -> type[Model]:
    """The class of the adapter that a request names."""
    request, _ = in_our_words(request)
    return MODELS.get(request.model or DEFAULT_MODEL, where="--model")


def model_settings(request: RunRequest) -> ModelSettings:
    """The options of a request that apply to every adapter."""
    return ModelSettings(
        batch_size=request.batch_size,
        device=request.device,
        seed=request.seed,
        chat_template=request.chat_template,
        offline=request.offline,
        on_long_prompt=request.on_long_prompt,
        prices=request.prices,
        reasoning_tags=request.reasoning_tags,
    )


def own_model(request: RunRequest) -> Model:
    """The adapter of a request in this process."""
    return create_model(model_class_of(request), request.model_args, model_settings(request))


def make_model(request: RunRequest) -> Model:
    """The adapter of a request with its arguments checked and no weights loaded."""
    return on_executor(own_model(in_our_words(request)[0]), request)


def on_executor(model: Model, request: RunRequest) -> Model:
    """The model as the request wants it asked: itself, or a fleet of workers each of which loads it. Starts nothing.

    Errors: ConfigError for options that do not fit together.
    """
    stated = [name for name in EXECUTOR if getattr(request, name) is not None]
    if request.executor is None:
        if stated:
            hint = "Add --executor ray, or leave it out."
            raise ConfigError(f"--{stated[0]} is an option of --executor ray.", where=f"--{stated[0]}", hint=hint)
        return model
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:
        hint = "Start one process; its workers are the others."
        raise ConfigError("torchrun and --executor ray exclude each other.", where="--executor", hint=hint)
    if not model.facts.travels:
        return model

    fleet: Model = brought("EXECUTORS")[request.executor](model, request)
    return fleet
