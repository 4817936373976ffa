"""What an operation of a template would cost, in characters or items, before it runs. Prices are upper bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_LEAF = 24
"""The characters that a value is taken for that is neither text nor a container: a number, a date."""

_CONVERSION = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?")


_CONTAINERS = (list, tuple, dict, set, frozenset)


def count(value: Any, limit: float = float("inf")) -> int:
    """How many values a value holds, all depths together; the count ends soon after `limit`."""
    total, waiting = 1, [value]
    while waiting and total <= limit:
        item = waiting.pop()
        if isinstance(item, _CONTAINERS):
            total += len(item)
            inside = item.values() if isinstance(item, dict) else item
            waiting += [below for below in inside if isinstance(below, _CONTAINERS)]
    return total


def length(value: Any, limit: float = float("inf")) -> int:
    """About how many characters a value has as text; the count ends soon after `limit`."""
    total, waiting = 0, [value]
    while waiting and total <= limit:
        item = waiting.pop()
        if isinstance(item, (str, bytes)):
            total += len(item)
        elif isinstance(item, _CONTAINERS):
            total += 2 + 2 * len(item)
            waiting += [*item.keys(), *item.values()] if isinstance(item, dict) else item
        else:
            total += _digits(item)
    return total


def _digits(leaf: Any) -> int:
    return leaf.bit_length() // 3 + 2 if isinstance(leaf, int) else _LEAF


def _number(value: Any) -> int | float:
    """A width or a count as given; 0 for what is no number, on which the operation itself fails."""
    return abs(value) if isinstance(value, (int, float)) else 0


def percent(template: Any, values: Any, limit: float = float("inf")) -> float:
    """`'%10d' % 3`: the widths that are written, those that stand among the values, and the values as often as they are shown."""
    text = template.decode("latin-1") if isinstance(template, bytes) else str(template)
    found = _CONVERSION.findall(text)
    given = list(values.values()) if isinstance(values, Mapping) else values if isinstance(values, tuple) else [values]
    stars: float = sum(part == "*" for parts in found for part in parts)
    largest: float = max((_number(value) for value in given), default=0)
    widths: float = sum(float(part) for parts in found for part in parts if part.isdigit()) + stars * largest
    shown = length(values, limit) + 400  # a float may have 309 digits before its point
    return len(text) + widths + shown * (len(found) if isinstance(values, Mapping) else 1) + 400 * len(found)


def _lines(value: Any) -> int:
    return str(value).count("\n") + 1


def _replaced(text: Any, old: Any, new: Any, times: Any = None, **_: Any) -> float:
    return (text.count(old) + 1) * len(new) if isinstance(old, (str, bytes)) and isinstance(new, (str, bytes)) else 0


def _joined(items: Iterable[Any], between: Any) -> float:
    return length(items) + len(items) * len(between) if isinstance(items, (list, tuple, str, dict)) else 0


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [
        below
        for item in level
        if isinstance(item, (Mapping, list, tuple))
        for below in (item.values() if isinstance(item, Mapping) else item)
    ]:
        depth += 1
    return depth


def _as_json(value: Any, indent: Any = None) -> float:
    return 6 * length(value) + count(value) * (_number(indent) or len(indent or "")) * _depth(value)


def _summed(items: Any, attribute: Any = None, start: Any = 0) -> float:
    return 0 if isinstance(start, (int, float)) else count(items) ** 2


READ_AS_TEXT = frozenset(
    [
        "string",
        "upper",
        "lower",
        "title",
        "capitalize",
        "trim",
        "escape",
        "e",
        "forceescape",
        "urlencode",
        "striptags",
        "center",
        "indent",
        "truncate",
        "wordwrap",
        "wordcount",
        "replace",
        "format",
        "urlize",
        "pprint",
        "tojson",
        "xmlattr",
        "regex_replace",
        "filesizeformat",
    ]
)
"""Filters that make a text of their value first, a list's too."""

FILTERS: dict[str, Callable[..., float]] = {
    "center": lambda value, width=80: _number(width),
    "indent": lambda s, width=4, *_, **__: _lines(s) * (len(width) if isinstance(width, str) else _number(width)),
    "batch": lambda value, linecount, fill_with=None: _number(linecount),
    "slice": lambda value, slices, fill_with=None: _number(slices),
    "wordwrap": lambda s, *args, **kwargs: len(str(s)) * (1 + length([args, kwargs])),
    "urlize": lambda value, *args, **kwargs: len(str(value)) * (1 + length([args, kwargs])),
    "replace": lambda s, old, new, count=None: _replaced(str(s), str(old), str(new)),
    "join": lambda value, d="", attribute=None: _joined(value, str(d)),
    "format": lambda value, *args, **kwargs: percent(value, kwargs or args),
    "tojson": _as_json,
    "pprint": lambda value: length(value) + count(value) * _depth(value),
    "round": lambda value, precision=0, method="common": 1000 * _number(precision) ** 2,
    "sum": _summed,
}
"""The price of a filter, by the filter's own arguments; the others make no more than they get."""

METHODS: dict[str, Callable[..., float]] = {
    "center": lambda text, width, *_: _number(width),
    "ljust": lambda text, width, *_: _number(width),
    "rjust": lambda text, width, *_: _number(width),
    "zfill": lambda text, width: _number(width),
    "expandtabs": lambda text, tabsize=8: text.count("\t" if isinstance(text, str) else b"\t") * _number(tabsize),
    "replace": _replaced,
    "join": lambda text, items: _joined(items, text),
    "translate": lambda text, table, **_: (
        len(text) * max((length(value) for value in table.values()), default=1) if isinstance(table, Mapping) else 0
    ),
    "to_bytes": lambda number, length=1, *_, **__: _number(length),
}
"""The price of a method of a text, of bytes or of a number; the others make no more than a few times what they get."""
