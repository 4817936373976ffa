"""Cells of the data that a task can't do without: a null would be asked, or compared, as the word "None"."""

from collections.abc import Mapping
from typing import Any

from mm_eval.values.errors import DocError


def filled(doc: Mapping[str, Any], column: str) -> Any:
    """The cell of a column. Errors: DocError where it is null; a column that is missing raises KeyError.

    >>> filled({"answer": 0}, "answer")
    0
    """
    value = doc[column]
    if value is None:
        raise DocError(f"{column!r} is null: there is nothing to ask or to compare with.")
    return value


def filled_list(doc: Mapping[str, Any], column: str) -> list[Any]:
    """The elements of a column of lists. Errors: DocError where it is null, text (letters would be read) or a record."""
    value = filled(doc, column)
    if isinstance(value, str | bytes | Mapping):
        kind = "a record" if isinstance(value, Mapping) else "text"
        raise DocError(f"{column!r} is {kind}, {value!r:.60}, where a list is read.")
    return list(value)
