"""Task code that runs in a process of its own: the little that the rest of mm-eval knows of it.

Code that was written for another suite, or that would change what the whole process shares (its random state, sockets, modules,
the working of os.path), does not run in this process. What runs it in another one is a value that is handed down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol


class Stream(Protocol):
    """Random numbers for the functions of one task, which continue from use to use, whatever else is drawn in between."""

    def used(self, *, goes_on: bool = True) -> AbstractContextManager[None]:
        """Around calls of the task's functions. goes_on: the next use continues where this one ends, else where it began."""
        ...


class NoStream:
    """For functions that draw from generators of their own alone."""

    def used(self, *, goes_on: bool = True) -> AbstractContextManager[None]:
        return nullcontext()


class ForeignCode(Protocol):
    """Runs functions of task files in a process of their own."""

    @property
    def takes_all(self) -> bool:
        """Whether code that could run in this process is to run there, too."""
        ...

    def together(self, seconds: float) -> AbstractContextManager[ForeignCode]:
        """Inside, the files of all tasks are imported there, in one process; each in these seconds, or it is ended."""
        ...

    def function(self, file: Path, name: str) -> tuple[Any, Sequence[str]]:
        """(what a name of a file is there: a function or class to be used like one of this process, None if there is no such
        name, something else if it can't be called; the names that can be).

        Raises what the import of the file raises.
        """
        ...

    def load_offline(self, path: str, name: str | None, options: Mapping[str, object]) -> object:
        """What `datasets.load_dataset` gives in a process without network. Raises what it raises there."""
        ...

    def stream(self, files: Sequence[Path]) -> Stream:
        """A new random stream for the functions of these files."""
        ...


LoadRows = Callable[..., Any]
FURTHER_DATA: ContextVar[LoadRows | None] = ContextVar("further data", default=None)
"""What loads further data for a task's function while it makes the docs: load(path, name, split=...) gives the rows."""

NO_CALLS: ContextVar[str] = ContextVar("no calls", default="")
"""Why the task's functions that are called now may open no connection; empty for the reason that holds for all."""


@contextmanager
def during(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    """Inside, and in this thread alone, the variable has this value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
