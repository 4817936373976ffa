"""What runs task code in a process of its own. Nothing else of it is loaded until a task needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.config.foreign_code import ForeignCode, Stream

if TYPE_CHECKING:
    from mm_eval.foreign_code.process import TaskProcess


@dataclass(frozen=True)
class ForeignProcess:
    """Runs the functions of task files that must not run in this process (`ForeignCode`).

    takes_all: code that could run here runs there, too.
    """

    takes_all: bool = False

    @contextmanager
    def together(self, seconds: float) -> Iterator[ForeignCode]:
        from mm_eval.foreign_code.process import one_for_all

        with one_for_all(seconds):
            yield ForeignProcess(takes_all=True)

    def function(self, file: Path, name: str) -> tuple[Any, Sequence[str]]:
        from mm_eval.foreign_code.remote import function

        return function(file, name, _class_of)

    def load_offline(self, path: str, name: str | None, options: Mapping[str, object]) -> object:
        from mm_eval.foreign_code.remote import load_offline

        return load_offline(path, name, options)

    def stream(self, files: Sequence[Path]) -> Stream:
        from mm_eval.foreign_code.remote import RemoteStream

        return RemoteStream(files)


def _class_of(process: TaskProcess, file: Path, name: str) -> type:
    from mm_eval.foreign_code.class_tasks import class_of

    return class_of(process, file, name)


FOREIGN_CODE: ForeignCode = ForeignProcess()
"""For this process: a child for each folder of tasks, started by the first function that needs it."""
