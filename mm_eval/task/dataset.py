"""Finds and reads a task's data: in a data root on disk, in the bundled sample data, or on the hub."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mm_eval.catalog.draws import Draws
from mm_eval.errors import ConfigError, DataError, NotHereError
from mm_eval.task.data_files import content_cache
from mm_eval.task.decode import reset_pillow
from mm_eval.task.docs import Docs, fingerprint_of
from mm_eval.task.media import Places

MOVED_OWNERS = (("lmms-lab", "lmms-lab-encoder"),)
"""Owners of hub datasets that were renamed on 2026-07-30. Both names are tried, since data roots and caches have either."""

LOCAL_FILES = frozenset({"json", "csv", "parquet", "text", "arrow", "imagefolder"})
"""Dataset paths for files of the user's own (`dataset_kwargs: {data_files: ...}`); they are read with `--sample` too."""

IGNORED_KWARGS = frozenset(
    {"token", "trust_remote_code", "video", "force_download", "force_unzip", "local_files_only", "create_link"}
)
"""Keys of `dataset_kwargs` that change no row: how the hub is accessed, and how lmms-eval downloads and unpacks.

No loading script is run, whatever `trust_remote_code` says: most datasets whose YAML states it have data files by now, and
`datasets` reports the script of one that has not.
"""


@dataclass(frozen=True)
class DataSource:
    """Where data may come from.

    data_root: `--data_root`, searched first, with datasets at data_root/org/name.
    sample: use the bundled sample data, not the hub.
    offline: use the hub's local cache, not the hub.
    url_media: pictures that rows name by URL may be fetched.
    """

    data_root: Path | None = None
    sample: bool = False
    offline: bool = False
    url_media: bool = False

    def folders(self, dataset_path: str) -> Iterator[Path]:
        """The folders on disk where this dataset may be, existing or not."""
        for root in (self.data_root, sample_root() if self.sample else None):
            if root is not None:
                yield from (root / name for name in hub_ids(dataset_path))

    def folder(self, dataset_path: str) -> Path | None:
        """The first of these folders that exists."""
        return next((folder for folder in self.folders(dataset_path) if folder.is_dir()), None)


def sample_root() -> Path:
    """The data root with the bundled sample data."""
    return Path(str(files("mm_eval.assets").joinpath("data")))


def hub_ids(dataset_path: str) -> list[str]:
    """All hub ids of a dataset, the given one first.

    >>> hub_ids("lmms-lab/MME")
    ['lmms-lab/MME', 'lmms-lab-encoder/MME']
    """
    owner, slash, name = dataset_path.partition("/")
    others = [new if owner == old else old for old, new in MOVED_OWNERS if slash and owner in (old, new)]
    return [dataset_path, *(f"{other}/{name}" for other in others)]


def load_docs(
    dataset_path: str,
    dataset_name: str | None,
    split: str,
    source: DataSource,
    *,
    where: str,
    task: str = "",
    kwargs: Mapping[str, Any] | None = None,
    process: Callable[[Any], Any] | None = None,
    draws: Draws | None = None,
) -> Docs:
    """The docs of a split, after the task's `process_docs`.

    where: file:line, for errors of the split. task: its path, for errors of a doc; by default `where`.
    kwargs: the task's `dataset_kwargs`. draws: the random stream of `process_docs`.
    Errors: NotHereError if the data is not found, ConfigError if it is empty or `process_docs` fails.
    """
    reset_pillow()
    kwargs = kwargs or {}
    rows = _load(dataset_path, dataset_name, split, source, kwargs, where)
    fingerprint = fingerprint_of(rows)
    if process is not None:
        from mm_eval.lmms_eval_compat import load_dataset_from

        try:
            with _no_progress_bar(), (draws or Draws()).used(), load_dataset_from(source):
                rows = process(rows)
        except Exception as error:  # the task's own code
            raise ConfigError(f"process_docs failed: {type(error).__name__}: {error}", where=where) from error
    if not len(rows):
        raise _no_docs(dataset_path, split, where)
    folder = source.folder(dataset_path)
    return Docs(
        rows,
        where=task or where,
        fingerprint=fingerprint,
        places=_places(dataset_path, source, kwargs),
        bundled=folder is not None and folder.is_relative_to(sample_root()),
    )


def _places(path: str, source: DataSource, kwargs: Mapping[str, Any]) -> Places:
    """Where rows may name files: the dataset's folder, the folders of its data files, and the caches of the hub."""
    import datasets
    import huggingface_hub

    own = [folder for folder in (*source.folders(path), Path(path)) if folder.is_dir()][:1]
    named = kwargs.get("data_files") or ()
    files = named.values() if isinstance(named, Mapping) else [named]
    flat = [name for item in files for name in ([item] if isinstance(item, str) else item)]
    own += [Path(name).parent for name in flat if "://" not in name and "*" not in name]
    own += [Path(str(kwargs["data_dir"]))] if kwargs.get("data_dir") else []
    caches = [Path(huggingface_hub.constants.HF_HUB_CACHE), Path(datasets.config.HF_DATASETS_CACHE)]
    return Places(tuple(own + caches), source.url_media)


def beside(files: Any, folder: Path) -> Any:
    """`data_files` with the files that exist in the YAML's folder named by their path there, as in lmms-eval.

    Other relative names stay relative to the working directory, as in lmms-eval and lm-eval.
    """
    if isinstance(files, Mapping):
        return {split: beside(names, folder) for split, names in files.items()}
    if isinstance(files, list):
        return [beside(name, folder) for name in files]
    return str(folder / files) if isinstance(files, str) and (folder / files).is_file() else files


def docs_of(
    custom_dataset: Callable[..., Any],
    arguments: Mapping[str, Any],
    split: str,
    where: str,
    process: Callable[[Any], Any] | None = None,
    source: DataSource | None = None,
    draws: Draws | None = None,
) -> Docs:
    """The docs of a task's own function: `custom_dataset(**arguments)` returns {split: rows}.

    arguments: the task's `metadata` and `dataset_kwargs`. rows: a `datasets.Dataset`, or a list of mappings.
    """
    import datasets

    from mm_eval.lmms_eval_compat import load_dataset_from

    reset_pillow()
    try:
        with (draws or Draws()).used(), load_dataset_from(source or DataSource()):
            splits = custom_dataset(**arguments)
            rows = splits[split]
            if not isinstance(rows, datasets.Dataset):
                rows = datasets.Dataset.from_list(list(rows))
            rows = process(rows) if process is not None else rows
    except Exception as error:  # the task's own code
        raise ConfigError(f"custom_dataset failed: {type(error).__name__}: {error}", where=where) from error
    if not len(rows):
        raise _no_docs("custom_dataset", split, where)
    return Docs(rows, where=where, fingerprint=fingerprint_of(rows))


def sample_configs(dataset_path: str, source: DataSource) -> list[str]:
    """The subsets of a dataset on disk; empty if it is not there."""
    import datasets

    folder = source.folder(dataset_path)
    return [] if folder is None else list(datasets.get_dataset_config_names(str(folder)))


def _load(path: str, name: str | None, split: str, source: DataSource, kwargs: Mapping[str, Any], where: str) -> Any:
    """The rows of a split, from the first place that has the dataset."""
    options = {key: value for key, value in kwargs.items() if key not in IGNORED_KWARGS}
    if kwargs.get("video"):
        raise ConfigError("dataset_kwargs requests video, which is not supported.", where=where)
    if (folder := source.folder(path)) is not None:
        return _read(str(folder), name, split, options, where, [str(folder)], local=True)
    if Path(path).is_dir() or path in LOCAL_FILES:
        return _read(path, name, split, options, where, [path], local=True)
    if source.sample:
        raise ConfigError(
            f"there is no bundled sample of {path!r}.",
            where=where,
            hint="Give --model a model of your own, or --data_root.",
        )
    searched = [*map(str, source.folders(path)), *(f"hub: {hub_id}" for hub_id in hub_ids(path))]
    failures = []
    reachable = not source.offline and hub_answers()
    with nullcontext() if reachable else hub_cache_only():
        for hub_id in hub_ids(path):
            try:
                return _read(hub_id, name, split, {**options, **_token(kwargs)}, where, searched)
            except DataError as error:
                failures.append(error.what)
    why = failures[0] if reachable else "the hub can't be reached, and its local cache does not contain it."
    raise NotHereError(
        f"dataset {path!r}{f' ({name})' if name else ''} can't be loaded: {why} Searched: {', '.join(searched)}.",
        where=where,
        hint="Use --sample for the bundled sample data, or --data_root DIR with the data at DIR/org/name.",
    )


def fetch_repository(path: str, folder: Path, source: DataSource) -> None:
    """Downloads the repository of a dataset into a folder, under the first of its ids that the hub has."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if source.offline or not hub_answers():
        raise NotHereError(f"dataset {path!r} is not on this machine, and the hub can't be reached.")
    failures = []
    for hub_id in hub_ids(path):
        try:
            huggingface_hub.snapshot_download(hub_id, repo_type="dataset", local_dir=folder)
            return
        except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
            failures.append(f"{hub_id}: {str(error).strip().splitlines()[0]}")
    raise NotHereError(f"dataset {path!r} can't be downloaded: {'; '.join(failures)}")


@lru_cache(maxsize=1)
def hub_answers() -> bool:
    """Whether a connection to the hub opens within 3 s; assumed if a proxy is set.

    Checked once a process: without a network the hub's own client fails only after 25 s for each id.
    """
    if any(os.environ.get(name) for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")):
        return True
    endpoint = urlsplit(os.environ.get("HF_ENDPOINT") or "https://huggingface.co")
    try:
        socket.create_connection((endpoint.hostname or "", endpoint.port or 443), timeout=3).close()
    except OSError:
        return False
    return True


@contextmanager
def hub_cache_only() -> Iterator[None]:
    """Inside, the hub's client opens no connection and reads its local cache only."""
    import datasets
    import huggingface_hub

    switches = [(huggingface_hub.constants, "HF_HUB_OFFLINE"), (datasets.config, "HF_HUB_OFFLINE")]
    before = [getattr(module, name) for module, name in switches]
    for module, name in switches:
        setattr(module, name, True)
    try:
        yield
    finally:
        for (module, name), value in zip(switches, before, strict=True):
            setattr(module, name, value)


def _read(
    path: str,
    name: str | None,
    split: str,
    options: dict[str, Any],
    where: str,
    searched: list[str],
    local: bool = False,
) -> Any:
    """The rows of a split. local: from files on this machine, whose content selects the cache and which need no progress bar."""
    import datasets

    try:
        with _no_progress_bar() if local else nullcontext():
            if local:
                options = {**options, **content_cache(datasets.load_dataset_builder, path, name, options)}
            return datasets.load_dataset(path, name, split=split, **options)
    except (OSError, ValueError, KeyError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        message = str(error).strip().split("\n")[0]
        if "corresponds to no data" in message:
            raise _no_docs(path, split, where) from error
        if "Unknown split" in message or "BuilderConfig" in message and "not found" in message:
            raise ConfigError(f"{path!r}: {message}", where=where) from error
        raise DataError(
            f"{type(error).__name__}: {message}.", where=where, hint=f"Searched: {', '.join(searched)}."
        ) from error


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Inside, `datasets` shows no progress bars."""
    import datasets

    hidden = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not hidden:
            datasets.enable_progress_bars()


def _no_docs(path: str, split: str, where: str) -> ConfigError:
    return ConfigError(f"split {split!r} of {path!r} has no docs.", where=where, hint="Name another split.")


def _token(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The token for the hub: `token: True` in a YAML uses the user's token if there is one, and does not fail without."""
    token = kwargs.get("token")
    if token is True:
        import huggingface_hub

        token = huggingface_hub.get_token()
    return {"token": token} if token else {}
