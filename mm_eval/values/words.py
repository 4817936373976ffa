"""Counts and lists of names in sentences: "1 doc", "3 of 60 docs have", "A, B and 31 more"."""

from __future__ import annotations

from collections.abc import Iterable


def counted(count: int, one: str, many: str = "") -> str:
    """A count with its noun, or with a phrase that agrees with it. many: the plural, if it is not `one` with an s.

    >>> counted(1, "doc"), counted(4800, "doc"), counted(1, "answer was", "answers were")
    ('1 doc', '4,800 docs', '1 answer was')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def of_all(some: int, every: int, noun: str, one: str = "", many: str = "") -> str:
    """A part of a count, with the verb that agrees with the part.

    >>> of_all(1, 60, "doc", "has", "have"), of_all(3, 60, "doc", "has", "have"), of_all(0, 1, "doc")
    ('1 of 60 docs has', '3 of 60 docs have', '0 of 1 doc')
    """
    verb = one if some == 1 else many
    return f"{some:,} of {counted(every, noun)}{f' {verb}' if verb else ''}"


def listed(names: Iterable[str], most: int) -> str:
    """The first names of a list, and how many more there are.

    >>> listed(["a", "b", "c", "d"], 2), listed(["a", "b"], 2)
    ('a, b and 2 more', 'a, b')
    """
    every = list(names)
    more = f" and {len(every) - most:,} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
