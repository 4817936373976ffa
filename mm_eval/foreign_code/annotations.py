"""The types of a function's parameters, carried over from the process of a task's own code.

A type is a text: its name, or what its annotation says where it can't be read. One that is made of others is a list that begins
with its name. Types that mean nothing outside of that process arrive as classes of their name.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

PLAIN: dict[str, object] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, dict, list, tuple, set, object, type(None))},
    "Any": Any,
}
ORIGINS: dict[str, Any] = {"list": list, "dict": dict, "tuple": tuple, "Sequence": Sequence, "Mapping": Mapping}


def annotations_of(function: Callable[..., object]) -> dict[str, object]:
    """{parameter: its type} in a form that a message can hold."""
    try:
        return {name: _to_wire(hint) for name, hint in get_type_hints(function).items()}
    except Exception:  # a name that is not defined: the one who reads the types gets it as it is written
        stated = getattr(function, "__annotations__", {})
        return {name: ["unread", hint if isinstance(hint, str) else _name(hint)] for name, hint in stated.items()}


def annotations_from(stated: Mapping[str, object]) -> dict[str, object]:
    """The same as `__annotations__` of a function of this process."""
    return {name: _from_wire(hint) for name, hint in stated.items()}


def _to_wire(hint: object) -> object:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal and all(each is None or isinstance(each, (str, int, float, bool)) for each in inner):
        return ["Literal", *inner]
    if origin is Union or isinstance(hint, types.UnionType):
        return ["Union", *map(_to_wire, inner)]
    if origin is not None and ORIGINS.get(_name(origin)) is origin and Ellipsis not in inner:
        return [_name(origin), *map(_to_wire, inner)]
    return _name(hint)


def _name(hint: object) -> str:
    return str(getattr(hint, "__name__", None) or hint)


def _from_wire(stated: Any) -> object:
    if isinstance(stated, str):
        return PLAIN.get(stated) or ORIGINS.get(stated) or type(stated, (), {})
    name, *inner = stated
    if name == "unread":
        return str(inner[0])
    if name == "Literal":
        return Literal[tuple(inner)]
    made = tuple(map(_from_wire, inner))
    return reduce(or_, made) if name == "Union" else ORIGINS[name][made]
