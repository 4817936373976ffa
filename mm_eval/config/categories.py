"""The key `categories` of a task file: the columns by whose values the task's numbers are given again.

    categories:
      - {column: question_type_id, name: question type, names: {1: Scene Understanding}}
      - {column: metadata.skills}

Each entry is a level. A doc is in the category of its value, in several if the value is a list, and in none if it is null.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import located, where_item
from mm_eval.config.schema import ANYTHING, check_keys, is_function
from mm_eval.values.errors import ConfigError, DataError, check_all, did_you_mean, kind_and_text
from mm_eval.values.types import Doc, plain

KEYS = dict.fromkeys(("column", "name", "names"), ANYTHING)


@dataclass(frozen=True)
class CategoryLevel:
    """One way to divide the docs of a task into categories.

    column: a column, a dotted path into a struct, or a function of the doc. names: {value as text: shown name}; several values
    may share a name. where: file:line.
    """

    name: str
    column: Any
    names: Mapping[str, str]
    where: str

    def of(self, doc: Doc) -> list[str]:
        """The shown names of the doc's categories, each once.

        Errors: DataError at the entry's line if the column is missing, if its value is a struct, or if the function fails.
        """
        value = self._call(doc) if callable(self.column) else self._read(doc)
        return list(dict.fromkeys(self.names.get(text, text) for text in self._texts(value)))

    def in_order(self, found: Iterable[str]) -> list[str]:
        """Categories in the order of `names`, the others after them: numbers by size, texts with the numbers in them by size."""
        found = list(found)
        others = [name for name in found if name not in self._places]
        by_size = all(map(_is_number, others))
        key: Callable[[str], object] = float if by_size else _natural
        listed = sorted((name for name in found if name in self._places), key=lambda name: self._places[name])
        return listed + sorted(others, key=lambda name: (key(name), name))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(dict.fromkeys(self.names.values()))}

    def _call(self, doc: Doc) -> object:
        try:
            return self.column(dict(doc))
        except Exception as error:  # the task's own code
            what = f"the function of the categories {self.name!r} raised {kind_and_text(error)}."
            raise DataError(what, where=self.where) from error

    def _read(self, doc: Doc) -> object:
        if self.column in doc:
            return doc[self.column]
        return self._below(doc, str(self.column).split("."))

    def _below(self, value: object, path: list[str]) -> object:
        """The value at a path into structs; for a list of structs the list of their values."""
        if not path or value is None:
            return value
        if isinstance(value, (list, tuple)):
            return [self._below(item, path) for item in value]
        if not isinstance(value, Mapping) or path[0] not in value:
            known = list(value) if isinstance(value, Mapping) else []
            what = f"categories name the column {self.column!r}, which the documents lack."
            raise DataError(what, where=self.where, hint=did_you_mean(path[0], known) if known else "")
        return self._below(value[path[0]], path[1:])

    def _texts(self, value: object) -> Iterable[str]:
        value = plain(value)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
            return [text for item in items for text in self._texts(item)]
        if isinstance(value, Mapping):
            what = f"the value of the categories {self.name!r} is a struct, not a text, a number or a list of them."
            parts = ", ".join(repr(f"{self.column}.{key}") for key in list(value)[:5])
            raise DataError(
                what, where=self.where, hint=f"Name a part of it: {parts}." if isinstance(self.column, str) else ""
            )
        text = _text(value)
        return [text] if text else []


def levels_of(entries: Any, where: str = "") -> list[CategoryLevel]:
    """The levels of a task's `categories`. where: file:line of the key.

    Errors: ConfigError with file, line and a suggestion for every wrong entry.
    """
    levels: list[CategoryLevel] = []

    def add(index: int) -> None:
        place = where_item(entries, index, where)
        level = _level(entries[index], place)
        if level.name in {other.name for other in levels}:
            hint = "Give one of them another `name`."
            raise ConfigError(f"two levels of categories are named {level.name!r}.", where=place, hint=hint)
        levels.append(level)

    check_all(partial(add, index) for index in range(len(entries or ())))
    return levels


def _level(entry: Mapping[object, object], where: str) -> CategoryLevel:
    check_keys(located(entry), KEYS, "an entry of categories")
    column, name, names = entry.get("column"), entry.get("name"), entry.get("names")
    is_text = isinstance(column, str) and bool(column.strip())
    if not is_text and not is_function(column):
        what = f"each entry of categories needs a `column`: a column, a dotted path or a function (got {column!r:.80})."
        raise ConfigError(what, where=where)
    if name is None and isinstance(column, str):
        name = column.rpartition(".")[2]
    elif name is None:
        name = column.function if isinstance(column, FunctionRef) else getattr(column, "__name__", "category")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise ConfigError(f"the `name` of a level of categories must be a text, not {name!r:.80}.", where=where)
    if names is not None and not (isinstance(names, Mapping) and all(map(_is_plain, names.values()))):
        what = f"`names` of categories must map values to names, such as {{1: Scene Understanding}}, not {names!r:.80}."
        raise ConfigError(what, where=where)
    return CategoryLevel(name, column, {_text(key): str(shown) for key, shown in (names or {}).items()}, where)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool) and bool(_text(value))


def _text(value: object) -> str:
    """A value as text, 1.0 as "1"; empty for null, NaN and blank texts, which are not categories."""
    if value is None or isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _natural(text: str) -> list[object]:
    """Sorts "q2" before "q10", and letters without regard to case."""
    parts = re.split(r"([0-9]+)", text.casefold())
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]
