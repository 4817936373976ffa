"""Reads the runs that a command names, and turns errors of writing into sentences."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import MMEvalError, StoreError
from mm_eval.values.run_files import OtherFormatError

log = logging.getLogger(__name__)


def read_runs(folders: list[str], include_path: str | None) -> tuple[list[RecordedRun], dict[str, MMEvalError]]:
    """The runs with numbers, and {folder name: why} of begun runs without. A single run must have numbers."""
    runs, holes = [], dict[str, MMEvalError]()
    for folder in folders:
        try:
            runs.append(RecordedRun.read(folder, include_path=include_path))
        except OtherFormatError:
            raise
        except MMEvalError as error:
            if not os.path.isfile(Path(folder) / "run.json") or folder == folders[-1] and not runs:
                raise
            holes[Path(folder).name] = error
    return runs, holes


def say_holes(holes: Mapping[str, MMEvalError]) -> int:
    """Says which runs have no numbers, since a page or file may leave them out.

    Returns the exit code: 2 if the files of one are damaged, 3 if all of them just did not finish.
    """
    for name, reason in holes.items():
        log.warning("%s has no scores: %s", name, reason)
    if any(isinstance(error, StoreError) for error in holes.values()):
        return 2
    return 3 if holes else 0


@contextmanager
def writing(what: str, where: str) -> Iterator[None]:
    """StoreError for an OSError inside."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{what} can't be written: {error.strerror}.", where=where) from error
