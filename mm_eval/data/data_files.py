"""The files of a data set: what they hold, and the cache folder of their rows, which goes by it.

`datasets` identifies a file by path and modification time. `cp -p`, `rsync -t` and reproducible archives replace a file without
changing either, and `datasets` would then serve the old rows. So each state of the files gets a cache folder of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mm_eval.values.files import write_atomic

SETTLED_NS = 2 * 10**9
"""A file that changed less than 2 s before it was read is read again next time, since its change time may be too coarse."""

DESCRIPTIONS = ("README.md", "dataset_infos.json")
"""Files of a dataset's folder that say how the others are read."""


def may_have_data_files(folder: Path) -> bool:
    """Whether there is a file in a data set's folder that is not hidden, beside its descriptions; or one of these names files."""
    for at, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name[0] != "."]
        if any(name[0] != "." and (name not in DESCRIPTIONS or at != str(folder)) for name in names):
            return True
        if any(os.path.islink(os.path.join(at, name)) for name in folders):
            return True
    card = folder / DESCRIPTIONS[0]
    return card.is_file() and b"data_files" in card.read_bytes()


_OTHER_TABLES = (
    *((f"{at}{name}", "a zarr store") for at in ("", "*.zarr/") for name in ("zarr.json", ".zgroup", ".zarray")),
    ("_delta_log", "a Delta table"),
    (".hoodie", "a Hudi table"),
    ("metadata/*.metadata.json", "an Iceberg table"),
)
"""What a table has whose files are not its rows: some hold no rows, others rows that were deleted or replaced since."""


def other_table(folder: Path) -> tuple[str, Path] | None:
    """What kind of table a folder holds whose files can't be read on their own, and where; None if it holds none."""
    for pattern, kind in _OTHER_TABLES:
        for found in folder.glob(pattern):
            return kind, found.parent.parent if found.parent.name == "metadata" else found.parent
    return None


def content_cache(builder: Any, path: str, name: str | None) -> dict[str, object]:
    """{"cache_dir": folder} for `datasets.load_dataset`, by the content of the local files that it reads; {} if none.

    builder: of `datasets.load_dataset_builder`, which resolves patterns and default file names and reads no row.
    """
    files = {str(file).rsplit("::", 1)[-1] for some in (builder.config.data_files or {}).values() for file in some}
    local = sorted(file for file in files if os.path.isfile(file))
    if not local:
        return {}
    folder = Path(path).resolve() if Path(path).is_dir() else None
    local += [str(folder / file) for file in DESCRIPTIONS if folder and (folder / file).is_file()]
    # the rows of an image folder hold its files' paths, not their content
    only_named = {suffix.lower() for suffix in getattr(builder, "EXTENSIONS", ())}
    state = hashlib.sha256(f"{folder}\0{name}\n".encode("utf-8", "surrogateescape"))
    for file in local:
        digest = "" if Path(file).suffix.lower() in only_named else file_digest(Path(file))
        state.update(f"{file}\0{digest}\n".encode("utf-8", "surrogateescape"))
    return {"cache_dir": str(datasets_cache() / f"mm-eval-{state.hexdigest()[:16]}")}


def datasets_cache() -> Path:
    """The cache folder of `datasets`, which need not be imported."""
    if "datasets" in sys.modules:
        return Path(sys.modules["datasets"].config.HF_DATASETS_CACHE)
    from huggingface_hub.constants import HF_HOME

    return Path(os.environ.get("HF_DATASETS_CACHE") or os.path.join(HF_HOME, "datasets"))


def file_digest(path: Path) -> str:
    """sha256 of a file's content, remembered: hashing 1 GB takes about a second."""

    def digest() -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    return remembered(path, digest)


def remembered(path: Path, compute: Callable[[], str], of: str = "") -> str:
    """A digest that is computed from a file's content. of: tells it from others of the same file.

    It is stored beside the cache, and used again while the file's device, inode, size, modification time and change time are the
    same; copying and unpacking tools can set all of these but the change time.
    """
    stamp = list(state_of(path.stat()))
    name = hashlib.sha256(f"{path.resolve()}{of}".encode("utf-8", "surrogateescape")).hexdigest()[:32]
    known = datasets_cache() / "mm-eval-digests" / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored = json.loads(known.read_text(encoding="utf-8"))
        if stored["stamp"] == stamp:
            return str(stored["digest"])
    digest, about = compute(), path.stat()
    if list(state_of(about)) == stamp and time.time_ns() - about.st_ctime_ns > SETTLED_NS:
        with suppress(OSError):  # a cache that can't be written costs time alone
            write_atomic(known, json.dumps({"path": str(path), "stamp": stamp, "digest": digest}), durable=False)
    return digest


def state_of(about: os.stat_result) -> tuple[int, ...]:
    """What differs between two states of a file with other bytes."""
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns
