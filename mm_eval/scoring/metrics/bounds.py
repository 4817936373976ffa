"""What a metric does with an answer that is too large to compare: its worst value, and a count that the reader sees.

A bound is a size or a number of steps, never seconds, so that a number does not depend on the machine. A metric that meets one
calls `too_large` and returns its worst value, or another that it names; the scorer counts the document and says so below the
table.

A metric whose published rule has a slip that costs a document calls `remark`, which is counted and said in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_FOUND: ContextVar[list[str] | None] = ContextVar("too_large", default=None)
_REMARKS: ContextVar[list[str] | None] = ContextVar("remarks", default=None)


WORST = "the worst value"
_HAS = "; it has "


def too_large(what: str, *, has: str = WORST) -> None:
    """Reports that an answer is too large to compare. what: the comparison and its bound, as a reader should see them.

    has: what the answer has in place of the comparison's value.
    """
    _add(_FOUND, what if has == WORST else f"{what}{_HAS}{has}")


def parts_of(said: str) -> tuple[str, str]:
    """(the comparison and its bound, what the answer has) of something that was reported."""
    what, _, has = said.partition(_HAS)
    return what, has or WORST


def remark(what: str) -> None:
    """Reports what a reader should know of a document's score. what: a sentence that goes on after "in 3 of 9 docs "."""
    _add(_REMARKS, what)


def _add(found: ContextVar[list[str] | None], what: str) -> None:
    reported = found.get()
    if reported is not None and what not in reported:
        reported.append(what)


@contextmanager
def reports() -> Iterator[list[str]]:
    """The list of what is reported within the block.

    >>> with reports() as found:
    ...     too_large("two texts of more than 10 characters")
    >>> found
    ['two texts of more than 10 characters']
    """
    with _listed(_FOUND) as found:
        yield found


@contextmanager
def remarks() -> Iterator[list[str]]:
    """The list of what is remarked within the block."""
    with _listed(_REMARKS) as found:
        yield found


@contextmanager
def _listed(variable: ContextVar[list[str] | None]) -> Iterator[list[str]]:
    found: list[str] = []
    token = variable.set(found)
    try:
        yield found
    finally:
        variable.reset(token)
