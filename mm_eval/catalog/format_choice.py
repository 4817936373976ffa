"""The format of a task: the one that is requested with `task@name`, or the first one that its YAML lists under `formats`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mm_eval.catalog.formats import SOURCES, Format, build_format, check_field
from mm_eval.catalog.located import LocatedDict
from mm_eval.errors import ConfigError, did_you_mean

OWN_PROMPT = "none"
"""The format name that stands for the prompt that a task writes itself."""


def select_format(formats: Any, selected: str | None, *, where: str = "") -> Format | None:
    """The format of a task: the one requested with `task@name`, else the (first) one in the YAML, else None.

    formats: the YAML's `formats`: a name, `{type: ...}`, or `{name: fields or null, ...}`. A requested format that is not
    listed there is used as registered, and reads the same columns as the first listed one. The name `none` stands for the
    prompt that the task writes itself: `none: {question: ..., choices: ..., answer: ...}` only states what formats read.
    """
    if not formats:
        return build_format(selected, where=where) if selected and selected != OWN_PROMPT else None
    if isinstance(formats, str) or "type" in formats:
        stated = {formats if isinstance(formats, str) else formats["type"]: formats}
    else:
        stated = dict(formats)
    first = next(iter(stated))
    name = selected or first
    place = formats.where(name) if isinstance(formats, LocatedDict) else where
    if name in stated or name == OWN_PROMPT:
        return _stated_format(name, stated.get(name), place)
    layout = _own_prompt(stated[first], where) if first == OWN_PROMPT else _stated_format(first, stated[first], where)
    return replace(build_format(name, where=where), **{key: getattr(layout, key) for key in SOURCES})


def _own_prompt(stated: Any, where: str) -> Format:
    """The columns under `none`, as fields of a format; ConfigError on any other field."""
    fields_stated = dict(stated or {})
    for key, value in fields_stated.items():
        if key not in SOURCES:
            hint = did_you_mean(str(key), SOURCES)
            raise ConfigError(f"the format {OWN_PROMPT!r} has no field {key!r}.", where=where, hint=hint)
        check_field(OWN_PROMPT, key, value, where)
    return Format(**fields_stated)


def _stated_format(name: str, stated: Any, where: str) -> Format | None:
    """A format from its entry under `formats`: null, another format's name, or fields."""
    if name == OWN_PROMPT:
        _own_prompt(stated, where)
        return None
    if stated is None or isinstance(stated, str):
        return build_format(stated or name, where=where)
    if not isinstance(stated, Mapping):
        raise ConfigError(f"the fields of format {name!r} must be a mapping, not {stated!r:.80}.", where=where)
    spec = LocatedDict(stated)
    spec.setdefault("type", name)
    return build_format(spec, where=where)


def names_format(formats: Any, name: str) -> bool:
    """Whether a task's YAML lists a format of that name."""
    if isinstance(formats, Mapping):
        return formats.get("type") == name if "type" in formats else name in formats
    return bool(formats == name)
