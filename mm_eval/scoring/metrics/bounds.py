"""What a metric does with an answer that is too large to compare: its worst value, and a count that the reader sees.

A bound is a size or a number of steps, never seconds, so that a number does not depend on the machine. A metric that meets one
calls `too_large` and returns its worst value, or another that it names; the scorer counts the document and says so below the
table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOUND: ContextVar[list[str] | None] = ContextVar("too_large", default=None)


WORST = "the worst value"
_HAS = "; it has "


def too_large(what: str, *, has: str = WORST) -> None:
    """Reports that an answer is too large to compare. what: the comparison and its bound, as a reader should see them.

    has: what the answer has in place of the comparison's value.
    """
    found, said = _FOUND.get(), what if has == WORST else f"{what}{_HAS}{has}"
    if found is not None and said not in found:
        found.append(said)


def parts_of(said: str) -> tuple[str, str]:
    """(the comparison and its bound, what the answer has) of something that was reported."""
    what, _, has = said.partition(_HAS)
    return what, has or WORST


@contextmanager
def reports() -> Iterator[list[str]]:
    """The list of what is reported within the block.

    >>> with reports() as found:
    ...     too_large("two texts of more than 10 characters")
    >>> found
    ['two texts of more than 10 characters']
    """
    found: list[str] = []
    token = _FOUND.set(found)
    try:
        yield found
    finally:
        _FOUND.reset(token)
