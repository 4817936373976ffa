"""Options and arguments as typed, checked values: one reader for the command line, files of options, Python and `--model_args`.

A `Rule` states what one value may be. `faults` checks given values against rules; `read_arguments` also reads their texts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from mm_eval.values.errors import ConfigError, did_you_mean, raise_all
from mm_eval.values.types import JsonObject

MOST = 2**63 - 1
"""The largest count: what 64 bits hold."""
MOST_DIGITS = 25
DEEPEST = 32
"""Levels of lists and mappings in a value."""
_WHOLE = re.compile(r"[+-]?[0-9]+(_[0-9]+)*")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Rule:
    """What one value may be.

    needed: the allowed values in words, to stand before "is needed". fits: whether a value is allowed.
    read: converts text to a value; text that it can't convert stays text, which then does not fit.
    quoted: whether a message may show the value; False for what may hold a secret.
    """

    needed: str
    fits: Callable[[Any], bool]
    read: Callable[[str], object] = str
    quoted: bool = True


def read_arguments(given: Mapping[str, object], rules: Mapping[str, Rule], where: str, kind: str) -> JsonObject:
    """The values of arguments, texts converted by their rules. An argument that is None, or reads as None, is left out.

    kind: what an argument is called in messages. Errors: as `faults`, all of them at once.
    """
    values = {
        name: rules[name].read(value) if name in rules and isinstance(value, str) else value
        for name, value in given.items()
    }
    raise_all(faults(values, rules, lambda name: where, kind))
    return {name: value for name, value in values.items() if value is not None}


def faults(
    given: Mapping[str, object], rules: Mapping[str, Rule], where: Callable[[str], str], kind: str = "option"
) -> Iterator[ConfigError]:
    """One ConfigError for each name without a rule and for each value that its rule rejects; None means not given.

    where: the place of a name. kind: what a name is called in messages.
    """
    for name, value in given.items():
        rule = rules.get(name)
        if rule is None:
            yield ConfigError(f"unknown {kind} {shortly(name)}.", where=where(name), hint=did_you_mean(name, rules))
        elif value is not None and not rule.fits(value):
            yield invalid(f"`{name}`", value, rule, where(name))


def invalid(option: str, value: object, rule: Rule, where: str = "") -> ConfigError:
    """The error for an option with a value that its rule rejects."""
    shown = shortly(value) if rule.quoted else "invalid"
    return ConfigError(f"{option} is {shown}; {rule.needed} is needed.", where=where)


def as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] if value else []


def shortly(value: object, most: int = 80) -> str:
    """A value as a message quotes it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of more than 4,300 digits, a list in a list in a list ...
        return "too large to show"
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"


def whole_number(text: str) -> int | str:
    """'12' as 12. Only 0 to 9 are digits."""
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) and len(stripped) <= MOST_DIGITS else text


def number(text: str) -> int | float | str:
    """'12' as 12, '0.5' as 0.5, '1e3' as 1000."""
    value = whole_number(text)
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        exact = float(value)
        return int(exact) if exact.is_integer() and abs(exact) < MOST else exact
    return value


def switch(text: str) -> bool | str:
    """'true' as True, 'FALSE' as False."""
    return {"true": True, "false": False}.get(text.strip().lower(), text)


def is_count(value: object, least: int = 0, most: int = MOST) -> bool:
    return type(value) is int and least <= value <= most


def is_number(value: object) -> bool:
    """Whether a value is an int or a float, and finite."""
    return is_count(value, -MOST) or isinstance(value, float) and math.isfinite(value)


def is_text(value: Any) -> bool:
    """Whether a value is a text that is not blank and can be written to a file."""
    return _can_be_written(value) and bool(value.strip())


def _can_be_written(value: object) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def is_path(value: Any) -> bool:
    return is_text(value) and "\0" not in value


def is_json(value: object, depth: int = 0) -> bool:
    """Whether JSON can hold a value: finite numbers, texts that can be written, at most `DEEPEST` levels."""
    if depth > DEEPEST:
        return False
    if isinstance(value, Mapping):
        return all(is_text(key) and is_json(item, depth + 1) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(is_json(item, depth + 1) for item in value)
    return value is None or isinstance(value, bool) or is_number(value) or _can_be_written(value)


PATH = Rule("a path", is_path)
TEXT = Rule("a text that is not empty", is_text)
SWITCH = Rule("true or false", lambda value: isinstance(value, bool), switch)
COUNT_FROM_0 = Rule("a count from 0", is_count, whole_number)
COUNT_FROM_1 = Rule("a count from 1", lambda value: is_count(value, 1), whole_number)
WHOLE_FROM_0 = Rule("a whole number from 0", is_count, whole_number)
NUMBER_FROM_0 = Rule("a number from 0", lambda value: is_number(value) and value >= 0, number)
ABOVE_0 = Rule("a number above 0", lambda value: is_number(value) and value > 0, number)
DOLLARS = Rule("a number of dollars from 0", lambda value: is_number(value) and value >= 0, number)
MAPPING = Rule(
    "a mapping of names to texts, finite numbers, lists and mappings",
    lambda value: isinstance(value, Mapping) and is_json(value),
)


def json_or_text(text: str) -> Any:
    """'{"a": 1}' as {"a": 1}; a text that is not JSON stays text."""
    try:
        return parse_json(text, "")
    except ConfigError:
        return text


JSON_OBJECT = Rule("a JSON object", lambda value: isinstance(value, Mapping) and is_json(value), json_or_text)


def parse_json(text: str, option: str) -> Any:
    """The JSON value of an option; ConfigError where it is invalid, repeats a key or holds a number that is not finite."""
    try:
        return json.loads(
            text, object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite, parse_int=_read_int
        )
    except RecursionError as error:
        raise ConfigError(f"{option} is nested too deeply.", hint=f"{DEEPEST} levels are allowed.") from error
    except ValueError as error:
        raise ConfigError(f"{option} is {shortly(text)}, which is not valid JSON: {error}.") from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for place, (key, _) in enumerate(pairs) if key in [other for other, _ in pairs[:place]])
        raise ValueError(f"the key {shortly(twice)} is given twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def _read_int(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text):,} digits is too large")
    return int(text)


def column_name(model_args: Mapping[str, object], adapter: str, parts: int = 1) -> str:
    """A model's name in tables: the last parts of its checkpoint's, else the adapter's; and whether or how much it thinks.

    One checkpoint that thinks and does not think is two models to the reader of a table. `chat_template_kwargs` is read, and
    `extra_body`, with enable_thinking, thinking, thinking_mode, thinking_budget and reasoning_effort.

    >>> column_name({"pretrained": "Qwen/Qwen3-VL-8B", "chat_template_kwargs": '{"enable_thinking": false}'}, "hf")
    'Qwen3-VL-8B (no thinking)'
    """
    checkpoint = model_args.get("pretrained") or model_args.get("model")
    name = "/".join(PurePath(str(checkpoint)).parts[-parts:]) if checkpoint else adapter
    body = _object(model_args.get("extra_body"))
    stated = {**body, **_object(body.get("chat_template_kwargs")), **_object(model_args.get("chat_template_kwargs"))}
    for switch_name in ("enable_thinking", "thinking"):
        if isinstance(value := stated.get(switch_name), bool):
            return f"{name} (thinking)" if value else f"{name} (no thinking)"
    for level, said in (
        ("thinking_mode", "thinking"),
        ("thinking_budget", "thinking budget"),
        ("reasoning_effort", "effort"),
    ):
        value = stated.get(level)
        if value in (0, "0", "none", "off", "disabled", "no_think") and not isinstance(value, bool):
            return f"{name} (no thinking)"
        if isinstance(value, int) and not isinstance(value, bool) or isinstance(value, str) and value:
            return f"{name} ({said} {value})"
    return name


def _object(value: object) -> Mapping[str, object]:
    """A JSON object, or its text. Empty for anything else."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return value if isinstance(value, Mapping) else {}
