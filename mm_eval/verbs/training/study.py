"""The evaluations of one training: a folder with one run folder for each step, named step-00000100.

A training that begins at a step makes all later steps again. Those that an earlier training has left in the folder are named in
`training.json`: they stay on disk, and are in no curve until this training comes to the same weights.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from mm_eval.engine.folder import OtherRunError, RunFolder
from mm_eval.values.errors import MMEvalError
from mm_eval.values.files import write_atomic
from mm_eval.values.run_files import read_json

MARKS = "training.json"
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


def step_folders(study: Path) -> list[Path]:
    """The run folders of this training's steps, the last one of a step last."""
    earlier = _earlier(study)
    found = (path for path in study.glob("step-*") if path.name not in earlier)
    return sorted(found, key=lambda path: (len(path.name), path.name))


def begin_at(study: Path, step: int) -> list[str]:
    """Leaves out what an earlier training has evaluated after a step. Returns the folders that this call leaves out."""
    return _leave_out(study, lambda of: of > step)


def leave_out_before(study: Path, step: int, own: Container[int]) -> list[str]:
    """Leaves out what another training has evaluated before a step. own: steps of this one. Returns as `begin_at`."""
    return _leave_out(study, lambda of: of < step and of not in own)


def _leave_out(study: Path, others: Callable[[int], bool]) -> list[str]:
    earlier = _earlier(study)
    left = [path.name for path in step_folders(study) if (of := step_of(path)) is not None and others(of)]
    if left:
        _write(study, {*earlier, *left})
    return left


def have_other_weights(one: Path, other: Path) -> bool:
    """Whether two run folders state different weights of their models."""
    stated = [RunFolder(folder).entry("constants").get("files") for folder in (one, other)]
    weights = [files.get("weights") if isinstance(files, dict) else None for files in stated]
    return None not in weights and weights[0] != weights[1]


def _earlier(study: Path) -> set[str]:
    """The folders of an earlier training."""
    try:
        return set(map(str, read_json(study, MARKS)["earlier"]))
    except (OSError, MMEvalError, KeyError, TypeError):
        return set()


def _write(study: Path, earlier: Iterable[str]) -> None:
    write_atomic(study / MARKS, json.dumps({"v": 1, "earlier": sorted(earlier)}), durable=False)


def recorded(study: Path) -> dict[int, Path]:
    """{step: its run folder} of the evaluations with results, by step. Of a step that was trained again, the last one."""
    folders: dict[int, Path] = {}
    for path in step_folders(study):
        if (step := step_of(path)) is not None and (path / "results.json").is_file():
            folders[step] = path
    return dict(sorted(folders.items()))


def in_own_folder(folder: Path, evaluate: Callable[[Path], T]) -> T:
    """What `evaluate` returns for a step's folder, or for step-00000100.2 ... where that holds the answers of other weights.

    A training that goes on from an older checkpoint comes to the same step again, with the same weights or with others.
    """
    for place in _places(folder):
        try:
            found = evaluate(place)
        except OtherRunError:
            continue
        earlier, places = _earlier(folder.parent), [folder, *folder.parent.glob(f"{folder.name}.*")]
        others = {each.name for each in places if each != place and each.is_dir()}  # the step with other weights
        if place.name in earlier or others - earlier:
            _write(folder.parent, (earlier | others) - {place.name})
        return found
    raise AssertionError("there is always another folder")


def _places(folder: Path) -> Iterator[Path]:
    yield folder
    number = 2
    while True:
        yield folder.with_name(f"{folder.name}.{number}")
        number += 1
