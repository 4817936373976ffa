"""Checks that shards of WebDataset are read whole.

`datasets` takes the columns of such shards, and the types of their JSON, from the first five samples. What a later sample has
beyond them it leaves out, and other values it converts ("007" to 7), without a word.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from mm_eval.values.errors import DataError

HINT = (
    "Give all samples the same files and JSON of the same keys and types, or store the rows as JSON lines or parquet."
)


_CHECKED = "mm-eval-checked-1"
"""Begins the name of the file that says which rows of its folder were checked. Another check gets another number."""


def check_shards(builder: object, found: Any) -> None:
    """Raises DataError if a sample has a file, or JSON of a value, that the rows don't have.

    That is checked once: `datasets` keeps the rows in a folder of its own for each content of the shards (`content_cache`), and
    a file beside them says so.
    builder: the one of `datasets` that read them. found: its rows, or its rows by split.
    """
    from datasets.packaged_modules.webdataset.webdataset import WebDataset

    if isinstance(builder, WebDataset):
        for rows in found.values() if isinstance(found, Mapping) else [found]:
            kept = [Path(file["filename"]).with_name(f"{_CHECKED}-{rows._fingerprint}") for file in rows.cache_files]
            if kept and kept[0].is_file():
                continue
            _check(rows)
            with suppress(OSError):  # a cache that can't be written is checked again
                for path in kept[:1]:
                    path.touch()


def _check(rows: Any) -> None:
    from datasets.packaged_modules.webdataset.webdataset import base_plus_ext

    of_json = [name for name in rows.column_names if _packing_of(name)[0].rpartition(".")[2].lower() == "json"]
    stored = rows.select_columns(["__url__", "__key__", *of_json])
    read = {(row["__url__"], row["__key__"]): row for row in stored}
    for shard in dict.fromkeys(url for url, _ in read):
        if not Path(shard).is_file():
            continue
        with tarfile.open(shard) as archive:
            for member in archive:
                key, name = base_plus_ext(member.name)
                row = read.get((shard, key))
                if row is None or not member.isfile():
                    continue
                if name not in rows.column_names:
                    what = f"the sample {key!r} has a file {'.' + name!r}, which the first five samples don't have."
                    raise DataError(f"{shard}: {what}", hint=HINT)
                opened = archive.extractfile(member) if name in of_json else None
                if opened is not None and _told(_json(opened, name)) != _told(row[name]):
                    what = (
                        f"the JSON of the sample {key!r} has other keys or types than that of the first five samples."
                    )
                    raise DataError(f"{shard}: {what}", hint=HINT)


def _packing_of(name: str) -> tuple[str, Any]:
    """(the name of what is inside, how `datasets` unpacks it) of a compressed file; (name, None) of another."""
    from datasets.packaged_modules.webdataset.webdataset import EXTENSION_TO_COMPRESSION_FS_FILE_CLS

    inside, _, ending = name.rpartition(".")
    unpack = EXTENSION_TO_COMPRESSION_FS_FILE_CLS.get(f".{ending.lower()}")
    return (name, None) if unpack is None else (inside, unpack)


def _json(file: IO[bytes], name: str) -> object:
    """The value in a file of a sample, as `datasets` reads it."""
    if (unpack := _packing_of(name)[1]) is None:
        return json.loads(file.read())
    with unpack(file, mode="rb") as unpacked:
        return json.loads(unpacked.read())


def _told(value: object) -> object:
    """A value with no keys of None, which `datasets` adds, where each number and text has its type. NaN is equal to NaN."""
    if isinstance(value, Mapping):
        return {key: _told(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_told(each) for each in value]
    if value != value:
        return (type(value).__name__, "nan")
    return (type(value).__name__, value) if isinstance(value, str | bool) else value
