"""Copies the data sets of some tasks to a data root, for a machine without network: DIR/org/name and DIR/bundle.json.

Each data set is copied to a temporary folder and then renamed. Then its tasks are loaded from the new root alone, and
their fingerprints, the same as in run.json, are written to DIR/bundle.json.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mm_eval.config.task_config import TaskConfig
from mm_eval.data.manifest import advice_on_missing, hub_ids, known_data_set
from mm_eval.data.source import DataId, DataSource, hub_answers
from mm_eval.engine.folder import RunFolder
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prepare import load_configs, prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError, NotHereError, first_line
from mm_eval.values.words import counted

__all__ = ["Bundle", "Bundled", "DataSet"]


@dataclass(frozen=True)
class Bundled:
    """A task whose data is in the data root. docs: rows of its split. fingerprint: of their content."""

    task: str
    dataset: str
    docs: int
    fingerprint: str


@dataclass(frozen=True)
class DataSet:
    """A data set to be copied. folder: where it is on this machine; None: on the hub. size: in bytes, None if not known.

    done: it is in the data root already.
    """

    ids: tuple[DataId, ...]
    folder: Path | None
    path: str
    size: int | None
    done: bool

    @property
    def hub_ids(self) -> list[tuple[str, str | None]]:
        """The ids to be tried on the hub, with their revisions."""
        return [(hub_id, one.revision) for one in self.ids for hub_id in hub_ids(one.path)]


class Bundle:
    """The data sets that the tasks of a request need, to be copied to `root`.

    Errors: ConfigError for a task whose data is in its own files (json, csv), and for data that is not available.
    """

    def __init__(self, request: RunRequest, root: Path) -> None:
        self.request, self.root = request, root
        self.configs = {name: config.resolved(FOREIGN_CODE) for name, config in load_configs(request).tasks.items()}
        data_root = Path(request.data_root) if request.data_root else None
        self.source = DataSource(data_root, request.sample, request.offline, code=FOREIGN_CODE)
        for name, config in self.configs.items():
            path = config.dataset_path
            if path is None or "/" not in path or config.custom_dataset is not None or Path(path).is_dir():
                hint = "Copy its files by hand and leave this task out."
                raise ConfigError(f"{name}: its data is not a data set of the hub ({path!r}).", hint=hint)
        by_path = {config.dataset_path: _ids(config) for config in self.configs.values()}
        self.datasets = [self._dataset(by_path[path]) for path in sorted(by_path, key=str)]

    def __str__(self) -> str:
        """How much is to be copied."""
        left = [dataset for dataset in self.datasets if not dataset.done]
        there = len(self.datasets) - len(left)
        unknown = sum(dataset.size is None for dataset in left)
        sizes = [size_text(sum(dataset.size or 0 for dataset in left))] if unknown < len(left) else []
        sizes += [f"size of {unknown} not known" if sizes else "size not known"] if unknown else []
        said = ": ".join([f"{counted(len(left), 'data set')} to copy", *([", ".join(sizes)] if sizes else [])])
        return f"{said}; {counted(there, 'is', 'are')} in {self.root} already" if there else said

    def copied(self) -> Iterator[Bundled]:
        """Copies the missing data sets and yields each task once it loads from the root without network.

        At the end the tasks are added to bundle.json.
        """
        for dataset in self.datasets:
            if not dataset.done:
                self._copy(dataset)
        there = DataSource(self.root)
        from_root = replace(self.request, data_root=str(self.root), sample=False, offline=True)
        found = []
        for name, config in self.configs.items():
            docs = prepare_without_model(from_root, name).tasks[name].docs
            place = there.found(*_ids(config))
            path = place[0].path if place else str(config.dataset_path)
            found.append(Bundled(name, path, len(docs), docs.fingerprint))
            yield found[-1]
        folder = RunFolder(self.root)
        known = folder.read("bundle.json") or {"v": 1, "tasks": {}}
        for each in found:
            known["tasks"][each.task] = {"dataset": each.dataset, "docs": each.docs, "fingerprint": each.fingerprint}
        folder.write("bundle.json", json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False))

    def _dataset(self, ids: Sequence[DataId]) -> DataSet:
        """Where a data set is, and how large."""
        there = DataSource(self.root).found(*ids)
        found = there or self.source.found(*ids)
        if found is not None:
            one, folder = found
            return DataSet(tuple(ids), folder, one.path, 0 if there else folder_size(folder), there is not None)
        dataset = DataSet(tuple(ids), None, ids[0].path, None, False)
        if self.source.sample:
            return dataset
        known = known_data_set(dataset.path)
        if known is not None and not known.on_hub:
            task = next(name for name, config in self.configs.items() if config.dataset_path == dataset.path)
            hint = advice_on_missing(dataset.path, task)
            raise NotHereError(f"dataset {dataset.path!r} is not on the hub as a table.", where=task, hint=hint)
        size = _repository_size(dataset.hub_ids, self.source.offline)
        return replace(dataset, size=known.size if size is None and known is not None else size)

    def _copy(self, dataset: DataSet) -> None:
        """Copies one data set from its folder, else from the hub."""
        target, beside = self.root / dataset.path, self.root / f".{dataset.path.replace('/', '--')}.part"
        shutil.rmtree(beside, ignore_errors=True)
        self.root.mkdir(parents=True, exist_ok=True)
        if dataset.folder is not None:
            shutil.copytree(dataset.folder, beside)
        elif self.source.sample:
            raise NotHereError(f"there is no bundled sample of {dataset.path!r}.")
        else:
            target = self.root / _fetch_repository(dataset.hub_ids, beside, self.source.offline)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.rename(target)


def _ids(config: TaskConfig) -> list[DataId]:
    return DataId.all_of(str(config.dataset_path), config.dataset_name, config.dataset_mirrors, config.dataset_revision)


def folder_size(folder: Path) -> int:
    """The bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def size_text(size: int) -> str:
    """A size with a unit.

    >>> size_text(950), size_text(1_234_567), size_text(25_600_000_000)
    ('1 kB', '1.2 MB', '25.6 GB')
    """
    for unit, bytes_in_it in (("GB", 10**9), ("MB", 10**6)):
        if size >= bytes_in_it:
            return f"{size / bytes_in_it:.1f} {unit}"
    return f"{max(1, round(size / 1000))} kB"


def _fetch_repository(ids: Sequence[tuple[str, str | None]], folder: Path, offline: bool) -> str:
    """Downloads the repository of a dataset into a folder, under the first of its ids that the hub has, and returns that id.

    ids: (id, revision) in the order in which they are tried.
    """
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    path = ids[0][0]
    if offline or not hub_answers():
        hint = "Run this where the hub answers, or give --data_root DIR with the data at DIR/org/name."
        raise NotHereError(f"dataset {path!r} is not on this machine, and the hub can't be reached.", hint=hint)
    failures = []
    for hub_id, revision in ids:
        try:
            huggingface_hub.snapshot_download(hub_id, repo_type="dataset", local_dir=folder, revision=revision)
            return hub_id
        except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
            failures.append(f"{hub_id}: {first_line(error)}")
    raise NotHereError(f"dataset {path!r} can't be downloaded: {'; '.join(failures)}")


def _repository_size(ids: Sequence[tuple[str, str | None]], offline: bool) -> int | None:
    """The bytes of all files of the repository; None if the hub doesn't say."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if offline or not hub_answers():
        return None
    for hub_id, revision in ids:
        try:
            api = huggingface_hub.HfApi()
            about = api.dataset_info(hub_id, revision=revision, timeout=10, files_metadata=True)
            return sum(file.size or 0 for file in about.siblings or ())
        except (HfHubHTTPError, HFValidationError, OSError, ValueError):
            continue
    return None
