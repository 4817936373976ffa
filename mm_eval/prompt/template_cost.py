"""The budget of a template's rendering, and upper bounds for the cost of its operations, computed before they run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

from mm_eval.values.types import Doc

UNITS = 10_000_000
"""The budget of a rendering, beside `UNITS_A_CHARACTER` for each character of the doc."""

UNITS_A_CHARACTER = 20
STEP, CALL, ITEM = 10, 50, 5
"""The cost of an iteration (also of a filter or operator), of a call, and of a list's item; a character costs 1."""

SECONDS = 5.0
MAX_BITS = 100_000
"""The largest whole number that an operator may make; Python itself prints at most 4,300 digits."""

CONTAINERS = (list, tuple, dict, set, frozenset)

_LEAF = 24
"""The characters assumed for a value that is neither text, container nor whole number: a float, a date."""

_CONVERSION = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?")


class TooMuch(Exception):
    """A rendering exceeds a bound. The message says which one."""


class Meter:
    """The budget of one rendering."""

    def __init__(self, doc: Doc) -> None:
        self.left, self._doc, self._steps = UNITS, doc, 0
        self._extended = False
        self._ends = time.thread_time() + SECONDS

    def step(self, units: int = STEP) -> None:
        """One loop iteration, call, filter or operator."""
        self.spend(units)
        self._steps += 1
        if not self._steps & 0xFF:
            self.check_time()

    def check_time(self) -> None:
        if time.thread_time() > self._ends:
            raise TooMuch(f"it runs for more than {SECONDS:.0f} s")

    def spend(self, units: float) -> None:
        self.require(units)
        self.left -= int(units)

    def require(self, units: float) -> None:
        """Raises TooMuch if fewer units are left."""
        if units > self.left and units > self.room():
            raise TooMuch(f"it takes more than {UNITS:,} units of work (a character costs 1, an iteration {STEP})")

    def room(self) -> int:
        """The units that are left. Those for the size of the doc are added when they are first needed."""
        if not self._extended:
            self._extended = True
            self.left += UNITS_A_CHARACTER * length(self._doc)
        return self.left

    def size(self, value: Any) -> int:
        """The characters of a value as text, counted up to the units that are left."""
        return length(value, self.room() + 1)

    def made(self, value: Any) -> Any:
        """The value, after spending its size."""
        if isinstance(value, (str, bytes)):
            self.spend(len(value))
        elif isinstance(value, CONTAINERS):
            self.spend(ITEM * count(value, self.room() + 1))
        elif isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise TooMuch(f"it makes a number of more than {MAX_BITS:,} bits")
        return value


METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


def meter() -> Meter:
    """The meter of the current rendering, or a new one."""
    return METER.get() or Meter({})


def count(value: Any, limit: float = float("inf")) -> int:
    """The number of values in a value, at all depths. Counting stops soon after `limit`."""
    total, pending = 1, [value]
    while pending and total <= limit:
        item = pending.pop()
        if isinstance(item, CONTAINERS):
            total += len(item)
            inside = item.values() if isinstance(item, dict) else item
            pending += [below for below in inside if isinstance(below, CONTAINERS)]
    return total


def length(value: Any, limit: float = float("inf")) -> int:
    """The approximate number of characters of a value as text. Counting stops soon after `limit`."""
    total, pending = 0, [value]
    while pending and total <= limit:
        item = pending.pop()
        if isinstance(item, (str, bytes)):
            total += len(item)
        elif isinstance(item, CONTAINERS):
            total += 2 + 2 * len(item)
            pending += [*item.keys(), *item.values()] if isinstance(item, dict) else item
        else:
            total += item.bit_length() // 3 + 2 if isinstance(item, int) else _LEAF
    return total


def percent(template: Any, values: Any, limit: float = float("inf")) -> float:
    """`'%10d' % 3`: the widths in the text, the widths among the values, and each value as often as it is shown."""
    text = template.decode("latin-1") if isinstance(template, bytes) else str(template)
    found = _CONVERSION.findall(text)
    given = list(values.values()) if isinstance(values, Mapping) else values if isinstance(values, tuple) else [values]
    stars: float = sum(part == "*" for parts in found for part in parts)
    largest: float = max((_number(value) for value in given), default=0)
    widths: float = sum(float(part) for parts in found for part in parts if part.isdigit()) + stars * largest
    shown = length(values, limit) + 400  # a float may have 309 digits before its point
    return len(text) + widths + shown * (len(found) if isinstance(values, Mapping) else 1) + 400 * len(found)


def _number(value: Any) -> int | float:
    """A width or a count; 0 for other values, for which the operation itself fails."""
    return abs(value) if isinstance(value, (int, float)) else 0


def _length_of_replace(text: Any, old: Any, new: Any, times: Any = None, **_: Any) -> float:
    return (text.count(old) + 1) * len(new) if isinstance(old, (str, bytes)) and isinstance(new, (str, bytes)) else 0


def _length_of_join(items: Iterable[Any], between: Any) -> float:
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


_TEXT_FILTERS = """string upper lower title capitalize trim escape e forceescape urlencode striptags center indent truncate
wordwrap wordcount replace format urlize pprint tojson xmlattr regex_replace filesizeformat"""
READ_AS_TEXT = frozenset(_TEXT_FILTERS.split())
"""Filters that convert their value to text first, also a list."""

FILTERS: dict[str, Callable[..., float]] = {
    "center": lambda value, width=80: _number(width),
    "indent": lambda s, width=4, *_, **__: (
        (str(s).count("\n") + 1) * (len(width) if isinstance(width, str) else _number(width))
    ),
    "batch": lambda value, linecount, fill_with=None: _number(linecount),
    "slice": lambda value, slices, fill_with=None: _number(slices),
    "wordwrap": lambda s, *args, **kwargs: len(str(s)) * (1 + length([args, kwargs])),
    "urlize": lambda value, *args, **kwargs: len(str(value)) * (1 + length([args, kwargs])),
    "replace": lambda s, old, new, count=None: _length_of_replace(str(s), str(old), str(new)),
    "join": lambda value, d="", attribute=None: _length_of_join(value, str(d)),
    "format": lambda value, *args, **kwargs: percent(value, kwargs or args),
    "tojson": _as_json,
    "pprint": lambda value: length(value) + count(value) * _depth(value),
    "round": lambda value, precision=0, method="common": 1000 * _number(precision) ** 2,
    "sum": lambda items, attribute=None, start=0: 0 if isinstance(start, (int, float)) else count(items) ** 2,
}
"""The cost of a filter, from the filter's own arguments. The result of any other filter is at most as large as its value."""

METHODS: dict[str, Callable[..., float]] = {
    **dict.fromkeys(("center", "ljust", "rjust"), lambda text, width, *_: _number(width)),
    "zfill": lambda text, width: _number(width),
    "expandtabs": lambda text, tabsize=8: text.count("\t" if isinstance(text, str) else b"\t") * _number(tabsize),
    "replace": _length_of_replace,
    "join": lambda text, items: _length_of_join(items, text),
    "translate": lambda text, table, **_: (
        len(text) * max((length(value) for value in table.values()), default=1) if isinstance(table, Mapping) else 0
    ),
    "to_bytes": lambda number, length=1, *_, **__: _number(length),
}
"""The cost of a method of a text, bytes or number. The result of any other method is at most a few times its arguments."""
