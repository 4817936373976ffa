"""Copies the data sets of some tasks to a data root, for a machine without network: DIR/org/name and DIR/bundle.json.

Each data set is copied to a temporary folder and then renamed. Then its tasks are loaded from the new root alone, and
their fingerprints, the same as in run.json, are written to DIR/bundle.json.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mm_eval.engine.folder import RunFolder
from mm_eval.errors import ConfigError, NotHereError
from mm_eval.prepare import load_configs, prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.task.dataset import DataSource
from mm_eval.task.hub import fetch_repository, hub_ids

__all__ = ["Bundled", "bundle"]


@dataclass(frozen=True)
class Bundled:
    """A task whose data is in the data root. docs: rows of its split. fingerprint: of their content."""

    task: str
    dataset: str
    docs: int
    fingerprint: str


def bundle(request: RunRequest, root: Path) -> Iterator[Bundled]:
    """Copies the missing data sets and yields each task once it loads from `root` without network.

    Errors: ConfigError for a task whose data is in its own files (json, csv), and for data that is not available.
    """
    configs = {name: config.resolved() for name, config in load_configs(request).tasks.items()}
    source = DataSource(Path(request.data_root) if request.data_root else None, request.sample, request.offline)
    for name, config in configs.items():
        path = config.dataset_path
        if path is None or "/" not in path or config.custom_dataset is not None or Path(path).is_dir():
            hint = "Copy its files by hand and leave this task out."
            raise ConfigError(f"{name}: its data is not a data set of the hub ({path!r}).", hint=hint)
    for path in sorted({str(config.dataset_path) for config in configs.values()}):
        _copy(path, source, root)
    from_root = replace(request, data_root=str(root), sample=False, offline=True)
    found = []
    for name, config in configs.items():
        docs = prepare_without_model(from_root, name).tasks[name].docs
        found.append(Bundled(name, str(config.dataset_path), len(docs), docs.fingerprint))
        yield found[-1]
    _note(root, found)


def _copy(path: str, source: DataSource, root: Path) -> None:
    """Copies one data set from the first of the source's folders that has it, else from the hub."""
    if any((root / name).is_dir() for name in hub_ids(path)):
        return
    target, beside = root / path, root / f".{path.replace('/', '--')}.part"
    shutil.rmtree(beside, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    if found := source.found(path):
        shutil.copytree(found[1], beside)
    elif source.sample:
        raise NotHereError(f"there is no bundled sample of {path!r}.")
    else:
        fetch_repository(path, beside, source.offline)
    beside.rename(target)


def _note(root: Path, found: list[Bundled]) -> None:
    """Adds the tasks to DIR/bundle.json atomically."""
    folder = RunFolder(root)
    known = folder.read("bundle.json") or {"v": 1, "tasks": {}}
    for each in found:
        known["tasks"][each.task] = {"dataset": each.dataset, "docs": each.docs, "fingerprint": each.fingerprint}
    folder.write("bundle.json", json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False))
