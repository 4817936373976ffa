"""A call as a model wrote it, one that can't be read, and the text around them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

MOST_CALLS = 64
"""Calls that are read in one answer."""
MOST_DEPTH = 32
"""Values in values in the arguments of a call."""


@dataclass(frozen=True)
class Call:
    """A call that was read. ident: as the model or the server named it; empty where the format has no names of calls."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    ident: str = ""


@dataclass(frozen=True)
class Broken:
    """A call that can't be read.

    why: a sentence for the model. name: of the tool, as far as it can be read. cut: the text ends in it.
    """

    why: str
    name: str = ""
    cut: bool = False


Found = Call | Broken


@dataclass(frozen=True)
class Reading:
    """What an answer holds: the text before its calls, the calls in their order, and the text after and between them."""

    before: str
    calls: tuple[Found, ...] = ()
    after: str = ""


class Unreadable(ValueError):
    """A call that breaks the rules of its format. cut: the text ends before the call does."""

    def __init__(self, why: str, *, cut: bool = False, name: str = "") -> None:
        super().__init__(why)
        self.why, self.cut, self.name = why, cut, name


def _refuse(constant: str) -> NoReturn:
    raise Unreadable(f"{constant} is not allowed in JSON.")


_HALF_A_WORD = re.compile(r"\s*(?:-|t|tr|tru|f|fa|fal|fals|n|nu|nul)?\Z")
_DECODER = json.JSONDecoder(parse_constant=_refuse)


def json_at(text: str, place: int) -> tuple[Any, int]:
    """(the JSON value that begins here, where it ends). Braces and marks inside of its strings are part of it.

    Errors: Unreadable; `cut` where the text ends inside of the value.
    """
    try:
        value, end = _DECODER.raw_decode(text, place)
    except Unreadable:
        raise
    except RecursionError:
        raise Unreadable("the JSON is nested too deeply.") from None
    except json.JSONDecodeError as error:
        cut = _HALF_A_WORD.match(text, error.pos) is not None or error.msg.startswith("Unterminated string")
        raise Unreadable(f"the JSON is invalid at character {error.pos - place}: {error.msg}.", cut=cut) from None
    except ValueError:
        raise Unreadable("the JSON has a number with too many digits.") from None
    if depth_of(value) > MOST_DEPTH:
        raise Unreadable("the JSON is nested too deeply.")
    return value, end


def depth_of(value: object) -> int:
    """How deeply a JSON value is nested, up to a little more than `MOST_DEPTH`."""
    level, depth = [value], 0
    while level and depth <= MOST_DEPTH:
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))]
        level, depth = [item for each in inner for item in each], depth + 1
    return depth


def call_of_json(value: object, ident: str = "") -> Call:
    """The call in a JSON object with `name` and `arguments` (or `parameters`, as some families write).

    Arguments may be a text that spells an object, as in OpenAI's API. Errors: Unreadable.
    """
    if not isinstance(value, dict):
        raise Unreadable("a call is a JSON object with the keys name and arguments.")
    if isinstance(inner := value.get("function"), dict):
        value = inner
    name = value.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Unreadable("the key name is missing in the call.")
    stated = value.get("arguments", value.get("parameters", {}))
    return Call(name.strip(), arguments_of(stated, name), ident)


def arguments_of(stated: object, name: str) -> dict[str, Any]:
    """The arguments of a call: an object, or a text that spells one. Errors: Unreadable."""
    if isinstance(stated, str):
        text = stated.strip()
        if not text:
            return {}
        try:
            stated, end = json_at(text, 0)
        except Unreadable as error:
            raise Unreadable(error.why, cut=error.cut, name=name) from None
        if text[end:].strip():
            raise Unreadable("there is text after the JSON of the arguments.", name=name)
    if stated is None:
        return {}
    if not isinstance(stated, dict):
        raise Unreadable("the arguments must be a JSON object.", name=name)
    return stated


def as_json(value: object) -> str:
    """JSON as chat templates write it."""
    return json.dumps(value, ensure_ascii=False)


def hermes_text(name: str, arguments: Mapping[str, object]) -> str:
    """A call in the Hermes format, in which calls that a server gives apart are recorded."""
    return f"<tool_call>\n{as_json({'name': name, 'arguments': dict(arguments)})}\n</tool_call>"
