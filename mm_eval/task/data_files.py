"""Which files a local data set is read from, and what they hold: the key of the cache in which `datasets` keeps its rows.

`datasets` takes a file of the same path and time of modification for the same file. A file replaced by `cp -p`, `rsync -t` or
a reproducible archive is another one with both equal, and the old rows would be served and fingerprinted. So each state of the
files gets a cache folder of its own, named by their content.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mm_eval.files import write_atomic

SETTLED_NS = 2 * 10**9
"""A file that changed less than 2 s before it was read is read again next time: its time of change may be too coarse."""
DESCRIPTIONS = ("README.md", "dataset_infos.json")
"""Files of a data set's folder that say how the others are read."""


def content_cache(build: Callable[..., Any], path: str, name: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """{"cache_dir": folder} for `datasets.load_dataset`, one for each content of the local files that it would read.

    build: `datasets.load_dataset_builder`, which resolves patterns and default file names and reads no row.
    options: those of `load_dataset`. Nothing when no local file is read.
    """
    import datasets

    loader_only = set(inspect.signature(datasets.load_dataset).parameters) - set(
        inspect.signature(datasets.load_dataset_builder).parameters
    )
    builder = build(path, name, **{key: value for key, value in options.items() if key not in loader_only})
    files = {str(file).rsplit("::", 1)[-1] for some in (builder.config.data_files or {}).values() for file in some}
    local = sorted(file for file in files if os.path.isfile(file))
    if not local:
        return {}
    folder = Path(path).resolve() if Path(path).is_dir() else None
    local += [str(folder / file) for file in DESCRIPTIONS if folder and (folder / file).is_file()]
    only_named = {
        suffix.lower() for suffix in getattr(builder, "EXTENSIONS", ())
    }  # an image folder's rows hold paths alone
    state = hashlib.sha256(f"{folder}\0{name}\n".encode("utf-8", "surrogateescape"))
    for file in local:
        digest = "" if Path(file).suffix.lower() in only_named else file_digest(Path(file))
        state.update(f"{file}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return {"cache_dir": str(Path(datasets.config.HF_DATASETS_CACHE) / f"mm-eval-{state.hexdigest()[:16]}")}


def file_digest(path: Path) -> str:
    """sha256 of a file's content.

    1 GB takes about a second, so the digest is remembered beside the cache for as long as the file's device, inode, size, time
    of modification and time of change stay the same. Copying and unpacking tools can set all but the time of change, which
    the system sets itself.
    """
    import datasets

    stamp = _stamp(path.stat())
    name = hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    known = Path(datasets.config.HF_DATASETS_CACHE) / "mm-eval-digests" / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        remembered = json.loads(known.read_text(encoding="utf-8"))
        if remembered["stamp"] == stamp:
            return str(remembered["digest"])
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        about = os.fstat(file.fileno())
    if _stamp(about) == stamp and time.time_ns() - about.st_ctime_ns > SETTLED_NS:
        with suppress(OSError):  # a cache that can't be written costs time alone
            write_atomic(known, json.dumps({"path": str(path), "stamp": stamp, "digest": digest}), durable=False)
    return digest


def _stamp(about: os.stat_result) -> list[int]:
    return [about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns]
