"""The values of a config: with their functions imported, as JSON, and as a digest."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from mm_eval.config.foreign_code import ForeignCode
from mm_eval.config.formats import Format, FormatField
from mm_eval.config.functions import FunctionRef
from mm_eval.config.judge import JudgeConfig, JudgeStep
from mm_eval.config.located import LocatedDict, LocatedList
from mm_eval.config.rounds import RoundsConfig
from mm_eval.config.submission import SubmissionConfig
from mm_eval.config.tools import ToolsConfig


def resolve(value: object, code: ForeignCode) -> Any:
    """A value with its FunctionRefs replaced by the functions; places are kept. code: what runs those that can't run here."""
    if isinstance(value, FunctionRef):
        return value.resolve(code)
    if isinstance(value, LocatedDict):
        copy = LocatedDict(value)
        copy.update({key: resolve(item, code) for key, item in value.items()})
        return copy
    if isinstance(value, Mapping):
        return {key: resolve(item, code) for key, item in value.items()}
    if isinstance(value, list):
        items = [resolve(item, code) for item in value]
        return LocatedList(items, value.places) if isinstance(value, LocatedList) else items
    if isinstance(value, FormatField):
        parts = ("format", "question", "choices", "answer")
        return replace(value, **{part: resolve(getattr(value, part), code) for part in parts})
    if isinstance(value, Format):
        return replace(value, scorer=resolve(value.scorer, code))
    if isinstance(value, (JudgeConfig, JudgeStep, SubmissionConfig, ToolsConfig, RoundsConfig)):
        return replace(value, **{each.name: resolve(getattr(value, each.name), code) for each in fields(value)})
    if type(value) is tuple:
        return tuple(resolve(item, code) for item in value)
    return value


def to_json(value: object, function: Callable[[FunctionRef], object] = str) -> Any:
    """A value of a config as JSON, with keys as texts. function: what to write for a FunctionRef."""
    if isinstance(value, FunctionRef):
        return function(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item, function) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item, function) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if callable(value):
        name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__name__)}"
        return [name, _source_of(value)] if isinstance(function, WithSource) else name
    return str(value)


class WithSource:
    """Writes a function as its name and the digest of its source. The functions of one file have one, which is made once."""

    def __init__(self) -> None:
        self._digests: dict[tuple[Path, str], str] = {}

    def __call__(self, reference: FunctionRef) -> list[str]:
        if (digest := self._digests.get(reference.module)) is None:
            digest = self._digests[reference.module] = reference.digest()
        return [reference.name, digest]


def _source_of(function: Any) -> str:
    """A digest of the source of a function given in Python; empty if it has none."""
    try:
        return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()
    except (OSError, TypeError):
        return ""
