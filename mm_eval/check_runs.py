"""Several runs in one command, of several models or under several prompts: checked before the first request, a folder each."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from mm_eval.adapters import in_our_words, make_model
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.model import expect
from mm_eval.finished import unfinished
from mm_eval.open_tasks import prompt_blocks
from mm_eval.prepare import Prepared, load_configs, prepare
from mm_eval.request import RunRequest
from mm_eval.values.errors import (
    ConfigError,
    MMEvalError,
    ModelError,
    all_faults,
    did_you_mean,
    kind_and_text,
    raise_all,
)

T = TypeVar("T")
log = logging.getLogger(__name__)


def check_models(
    requests: Mapping[str, RunRequest], places: Mapping[str, str] = MappingProxyType({})
) -> dict[str, int]:
    """Checks every model with its tasks, data and run folder before the first request; loads no weights.

    requests: by name, with which each error begins. places: file:line of each, which stands before, where a file describes them.
    Returns how many requests each model needs for the docs of its tasks that are not finished.
    Errors: ConfigError with every mistake of every model; a mistake that models share is reported once.
    """
    models: dict[tuple[str, str, str], list[str]] = {}
    sizes: dict[str, int] = {}
    for name, request in requests.items():
        for error in mistakes(request, partial(sizes.__setitem__, name)):
            models.setdefault((error.what, error.where, error.hint), []).append(name)

    def located(names: Sequence[str], where: str) -> str:
        place = places.get(names[0], "")
        if len(names) > 1:  # the file says it for all of them, or more than once
            place = place.rpartition(":")[0]
        return ": ".join(filter(None, [place, ", ".join(names), where]))

    raise_all(
        ConfigError(what, where=located(names, where), hint=hint) for (what, where, hint), names in models.items()
    )
    return sizes


def mistakes(request: RunRequest, size: Callable[[int], None] = lambda requests: None) -> list[MMEvalError]:
    """What is wrong with a run before its first request: its tasks and its model and, where those are right, all else.

    size: called with the number of its requests, as of `check_models`.
    """

    def whole() -> None:
        prepared = prepare(request)
        prepared.check_generation()
        if request.output_path and request.ray.executor is None:  # workers that load the model describe it, later
            folder = RunFolder(Path(request.output_path))
            expect(prepared.model, folder.entry("constants"))
            part = None if prepared.deciding or prepared.imported else prepared.spec_of_part
            folder.refuse_other(prepared.spec(), request.to_json(), part)
        size(sum(len(prepared.first_requests(name)) * len(prepared.doc_ids[name]) for name in unfinished(prepared)))

    def model() -> None:
        make_model(in_our_words(request)[0])

    def failures(*parts: Callable[[], object]) -> list[MMEvalError]:
        errors = [error for part in parts if isinstance(error := attempt(part), MMEvalError)]
        return [fault for error in errors for fault in all_faults(error)]

    return failures(partial(load_configs, request), model) or failures(whole)


def attempt(part: Callable[[], T]) -> T | MMEvalError:
    """What a part of several runs returns, or the error that it fails with: a model's own files and code may raise anything."""
    try:
        return part()
    except MMEvalError as error:
        return error
    except Exception as error:  # a checkpoint's config, a task's code, a library
        log.debug("An unexpected failure:", exc_info=True)
        return ModelError(kind_and_text(error))


def folder_name(name: str) -> str:
    """A model's or prompt's name as a folder within another one."""
    return re.sub(r"[^\w.@+-]+", "_", name).lstrip(".") or "_"


def check_folders(names: Sequence[str], where: str) -> None:
    """ConfigError where two names would have one folder."""
    taken: dict[str, str] = {}
    for name in names:
        if (other := taken.setdefault(folder_name(name), name)) != name:
            raise ConfigError(f"{other!r} and {name!r} would have one folder.", where=where, hint="Rename one of them.")


def known_keys(prepared: Prepared) -> list[str]:
    """Every prompt key of the tasks, `default` first."""
    blocks = prompt_blocks(prepared.request, {name: task.config for name, task in prepared.tasks.items()})
    return list(dict.fromkeys(["default", *(key for own in blocks.values() for key in own)]))


def check_keys(prepared: Prepared, keys: Sequence[str], fewest: int = 2) -> None:
    """ConfigError for a key that no task has, for one given twice, and where there is nothing to compare."""
    known = known_keys(prepared)
    for key in keys:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ConfigError(f"no task of this run has the prompt key {key!r}.", where="--keys", hint=hint)
    if len(set(keys)) < max(fewest, len(keys)):
        what = f"at least two different prompt keys are needed, not {list(keys)}."
        hint = "Add blocks of your own with --prompt_file, or compare frames with several --video."
        raise ConfigError(what, where="--keys", hint=hint)
    check_folders(keys, "--keys")
