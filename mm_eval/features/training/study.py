"""The evaluations of one training: a folder with one run folder for each step, named step-00000100."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from mm_eval.engine.folder import OtherRunError

T = TypeVar("T")
_STEP = re.compile(r"(?:step|checkpoint)-(\d+)(?:\.(\d+))?\Z")


def step_folder(study: Path, step: int) -> Path:
    """The run folder of a step."""
    return study / f"step-{step:08d}"


def step_of(folder: Path) -> int | None:
    """The step of a run folder, or of a checkpoint's; None for another name."""
    found = _STEP.match(folder.name)
    return int(found[1]) if found else None


def is_study(folder: Path) -> bool:
    """Whether a folder holds the evaluations of a training, and no other runs."""
    if not os.path.isdir(folder) or os.path.lexists(folder / "run.json") or not os.access(folder, os.R_OK | os.X_OK):
        return False
    runs = [path for path in folder.iterdir() if os.path.isfile(path / "run.json")]
    return bool(runs) and all(path.name.startswith("step-") and step_of(path) is not None for path in runs)


def recorded(study: Path) -> dict[int, Path]:
    """{step: its run folder} of the evaluations with results, by step. Of a step that was trained again, the last one."""
    folders: dict[int, Path] = {}
    for path in sorted(study.glob("step-*"), key=lambda path: (len(path.name), path.name)):
        if (step := step_of(path)) is not None and (path / "results.json").is_file():
            folders[step] = path
    return dict(sorted(folders.items()))


def is_done(study: Path, step: int) -> bool:
    """Whether the evaluation of a step has its results."""
    return step in recorded(study)


def in_own_folder(folder: Path, evaluate: Callable[[Path], T]) -> T:
    """What `evaluate` returns for a step's folder, or for step-00000100.2 ... where that holds the answers of other weights.

    A training that goes on from an older checkpoint comes to the same step again, with the same weights or with others.
    """
    for place in _places(folder):
        try:
            return evaluate(place)
        except OtherRunError:
            continue
    raise AssertionError("there is always another folder")


def _places(folder: Path) -> Iterator[Path]:
    yield folder
    number = 2
    while True:
        yield folder.with_name(f"{folder.name}.{number}")
        number += 1
