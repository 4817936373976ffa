"""This process among those of its launch. Mostly it is the only one; a feature knows the programs that start several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING

from mm_eval.engine.folder import RunFolder, folder_error

if TYPE_CHECKING:
    from mm_eval.engine.journal import JournalState
    from mm_eval.prompt.task import Task


@dataclass(frozen=True)
class Processes:
    """This process among those of a launch. local: its number on this machine, which is the number of its device."""

    rank: int = 0
    count: int = 1
    local: int = 0

    @property
    def leads(self) -> bool:
        return self.rank == 0


@dataclass
class Launch:
    """What a process knows of the others of its launch: here of one process, so nothing."""

    own: Processes

    def docs_of(self, task: Task, doc_ids: list[int], state: JournalState) -> list[int]:
        """Those of some docs of a task that this process requests. state: of the journal, as all have read it."""
        return doc_ids

    def all_have_read(self) -> None:
        """Returns when every process has read the journal, so that all deal out the same docs."""

    def failed_elsewhere(self, counts: Mapping[str, int]) -> int:
        """The failed requests of the others. counts: those of this one, which the others get."""
        return 0

    def others(self, counts: Mapping[str, int], stopped: Callable[[], bool]) -> list[dict[str, int]]:
        """Says that this process is done. On rank 0: the counts of the others, for which it waits until `stopped`."""
        return []


def _launcher() -> ModuleType:
    """What knows several processes; imported where there are some."""
    from mm_eval.engine import launch

    return launch


@lru_cache(maxsize=1)
def processes() -> Processes:
    """The processes of this launch. A single one unless a launcher started several. Errors: as of the launcher's `place`."""
    count = int(os.environ.get("WORLD_SIZE") or 1)
    return Processes() if count < 2 else _launcher().place(count)


@contextmanager
def launched(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[Launch]:
    """Locks the run folder for the launch, and claims it."""
    if own.count > 1:
        with _launcher().launched(own, folder, claim) as launch:
            yield launch
    else:
        with claimed(folder, claim):
            yield Launch(own)


@contextmanager
def claimed(folder: RunFolder, claim: Callable[[], object]) -> Iterator[None]:
    """Locks and claims a run folder."""
    with ExitStack() as stack:
        try:
            stack.enter_context(folder.locked())
            claim()
        except OSError as error:
            raise folder_error("the run folder can't be used", folder.path, error) from error
        yield


def all_together() -> AbstractContextManager[None]:
    """An evaluation that all processes of a training make together: none leaves before all have ended."""
    return nullcontext() if processes().count == 1 else _launcher().all_together()
