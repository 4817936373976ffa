"""Where data comes from: the ids of a data set, a data root, the bundled sample, and the hub with its repositories."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mm_eval.config.foreign_code import ForeignCode
from mm_eval.data.manifest import hub_ids
from mm_eval.values.errors import NotHereError, first_line
from mm_eval.values.types import Fields

LOCAL_FILES = frozenset({"json", "csv", "parquet", "text", "arrow", "imagefolder", "webdataset"})
"""Dataset paths for files of the user's own (`dataset_kwargs: {data_files: ...}`); they are read with `--sample` too."""


@lru_cache(maxsize=1)
def sample_root() -> Path:
    """The data root with the bundled sample data."""
    return Path(str(files("mm_eval.assets").joinpath("data")))


@dataclass(frozen=True)
class DataId:
    """One id of a data set. names: the configurations whose rows follow one another; None is the only one."""

    path: str
    names: tuple[str | None, ...] = (None,)
    revision: str | None = None

    @classmethod
    def all_of(
        cls, path: str, name: object = None, mirrors: Sequence[Fields] = (), revision: str | None = None
    ) -> list[DataId]:
        """The id of a task and its `dataset_mirrors`, in the order in which they are tried.

        name: `dataset_name`, a text or a list; a mirror without `name` has the same. revision: that of the first id.
        """
        first = cls(path, _names(name), revision)
        others = [cls(m["path"], _names(m.get("name", name)), m.get("revision")) for m in mirrors]
        return [first, *others]

    def __str__(self) -> str:
        names = ", ".join(name for name in self.names if name)
        return f"{self.path!r}{f' ({names})' if names else ''}"


def _names(stated: Any) -> tuple[str | None, ...]:
    return tuple(stated) or (None,) if isinstance(stated, list) else (stated,)


@dataclass(frozen=True)
class DataSource:
    """Where data may come from.

    data_root: `--data_root`, searched first, with datasets at data_root/org/name.
    sample: use the bundled sample data, not the hub.
    offline: use the hub's local cache, not the hub.
    url_media: pictures that rows name by URL may be fetched.
    code: what reads the hub's caches in a process without network.
    """

    data_root: Path | None = None
    sample: bool = False
    offline: bool = False
    url_media: bool = False
    code: ForeignCode | None = None

    def folders(self, *ids: DataId | str) -> Iterator[tuple[DataId, Path]]:
        """The folders on disk where a dataset with these ids may be, existing or not, in the order of the search."""
        each = [DataId(one) if isinstance(one, str) else one for one in ids]
        for root in (self.data_root, sample_root() if self.sample else None):
            if root is None:
                continue
            for one in each:
                yield one, root / one.path  # mostly it is there, and where it has moved to need not be read
                yield from ((one, root / name) for name in hub_ids(one.path)[1:])

    def found(self, *ids: DataId | str) -> tuple[DataId, Path] | None:
        """The first of these folders that exists, with the id that it belongs to."""
        return next(((one, folder) for one, folder in self.folders(*ids) if folder.is_dir()), None)


def repository(ids: Sequence[tuple[str, str | None]], offline: bool, where: str = "") -> list[Path]:
    """The folder in the hub's cache with all files of a dataset, which are downloaded if they are not there, in a list.

    ids: (id, revision) in the order in which they are tried.
    Errors: NotHereError, located at `where`, if it is neither there nor on the hub.
    """
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    reachable = not offline and hub_answers()
    failures = []
    for hub_id, revision in ids:
        try:
            got = huggingface_hub.snapshot_download(
                hub_id, repo_type="dataset", revision=revision, local_files_only=not reachable
            )
            return [Path(got)]
        except (LocalEntryNotFoundError, HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
            failures.append(f"{hub_id}: {first_line(error)}")
    raise NotHereError(
        f"the files of the dataset {ids[0][0]!r} are not on this machine: {'; '.join(failures)}",
        where=where,
        hint="mm-eval bundle copies data sets with their files, on a machine with network.",
    )


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


def may_be_cached(hub_id: str, cache_dir: str | None = None) -> bool:
    """Whether the local caches hold anything of a dataset of the hub. Its name is compared by letters and digits alone.

    cache_dir: a further cache of `datasets`. That nothing is there is known without the import of `datasets`.
    """
    from huggingface_hub.constants import HF_HOME, HF_HUB_CACHE

    from mm_eval.data.data_files import datasets_cache

    modules = Path(os.environ.get("HF_MODULES_CACHE") or os.path.join(HF_HOME, "modules"), "datasets_modules/datasets")
    wanted = _letters(hub_id)
    for folder in (Path(HF_HUB_CACHE), datasets_cache(), modules, *([Path(cache_dir)] if cache_dir else [])):
        with suppress(OSError):
            if any(wanted in _letters(name) for name in os.listdir(folder)):
                return True
    return False


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


LOADING = threading.RLock()
"""Held while `datasets` loads: its threads share a lock of tqdm that the first one to end removes, also for other loads."""


@dataclass(frozen=True)
class Hub:
    """The hub as a run finds it. code: what reads its caches where it is not reachable."""

    reachable: bool
    code: ForeignCode | None


def load_from_hub(path: str, name: str | None, hub: Hub, **options: Any) -> object:
    """As `datasets.load_dataset` for an id of the hub. Unless it is reachable, only the local caches are read: nothing connects.

    That is a switch of the hub's client for its whole process, so another process reads them.
    """
    if hub.reachable:
        from mm_eval.data import as_dataset

        with LOADING:
            return as_dataset.load_from_hub(path, name, **options)
    if hub.code is None:
        raise NotHereError(
            f"dataset {path!r} can't be read from the hub's caches: nothing was given that runs code apart."
        )
    return hub.code.load_offline(path, name, options)


def token_of(kwargs: Mapping[str, object]) -> dict[str, object]:
    """The token for the hub: `token: True` in a YAML uses the user's token if there is one, and does not fail without."""
    token = kwargs.get("token")
    if token is True:
        import huggingface_hub

        token = huggingface_hub.get_token()
    return {"token": token} if token else {}
