"""The format of a task: the one that is requested with `task@name`, or the first one that its YAML lists under `formats`.

`select_format` chooses it; `formatted` applies it to the fields of the task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mm_eval.config.formats import SOURCES, Format, FormatField, build_format, check_field
from mm_eval.config.located import LocatedDict
from mm_eval.config.schema import ASKED_BY_FEATURES, SCORING_KEYS
from mm_eval.values.errors import ConfigError, did_you_mean

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


def formatted(values: dict[str, Any], source: LocatedDict, layout: Format, requested: str | None) -> dict[str, Any]:
    """The fields of a task with a format applied.

    The task's own scoring is dropped if the requested format has another output type, or scores by itself and the task
    doesn't list it under `formats`: that scoring was written for other answers.
    """
    formats = source.get("formats")
    own = select_format(formats, None)
    own_type = own.output_type if own else values.get("output_type", "generate_until")
    chosen = requested is not None and requested != (own.type if own else None)
    listed = requested is None or names_format(formats, requested)
    drops_scoring = chosen and (layout.output_type != own_type or not listed and layout.scorer is not None)
    kept = {key: value for key, value in values.items() if not (drops_scoring and key in SCORING_KEYS)}
    if drops_scoring and "of_features" in kept:
        kept["of_features"] = {key: kept["of_features"][key] for key in ASKED_BY_FEATURES if key in kept["of_features"]}
    if values.get("output_type", layout.output_type) != layout.output_type and not chosen:
        what = f"output_type is {values['output_type']!r}, but the format {layout.type!r} is {layout.output_type!r}."
        raise ConfigError(what, where=source.where("output_type"), hint="Leave output_type out.")
    inputs: dict[str, Any] = {
        "question": layout.question if layout.question is not None else values.get("doc_to_text", "question"),
        "choices": layout.choices if layout.choices is not None else values.get("doc_to_choice"),
        "answer": layout.answer if layout.answer is not None else values.get("doc_to_target", "answer"),
    }
    kept.update(layout.overrides())
    kept.pop("doc_to_messages", None)  # the format makes the prompt, for chat models too
    kept["doc_to_text"] = FormatField("text", layout, **inputs)
    kept["doc_to_target"] = FormatField("target", layout, **inputs)
    if layout.choice_labels or layout.is_choice or inputs["choices"] is not None:
        kept["doc_to_choice"] = FormatField("choices", layout, **inputs)
    return kept
