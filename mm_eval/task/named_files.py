"""What the picture files hold that rows name: a row that names its picture stays as it is when the picture changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mm_eval.errors import DataError
from mm_eval.task.docs import Docs

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")


class FileState(NamedTuple):
    """What a file holds (sha256), and its inode, size and time of change: while those are the same it need not be read."""

    digest: str
    stamp: str


def picture_files(
    docs: Docs, doc_ids: Sequence[int], known: Mapping[str, FileState], chunk: int = 64
) -> dict[str, FileState]:
    """{name: its state} for each picture file below the data's folders that these docs name in any column.

    A name without a file there (it is missing, a URL, or relative to a folder that only the task's function knows) is left out.
    """
    rows, names = docs.rows.with_format("arrow"), set[str]()
    for start in range(0, len(doc_ids), chunk):
        for column in rows[list(doc_ids[start : start + chunk])].columns:
            names.update(_names(column.combine_chunks()))
    found = {}
    for name in sorted(name for name in names if "://" not in name):
        try:
            found[name] = _state(docs.places.find(name), known.get(name))
        except (DataError, OSError):  # asking its doc tells what is wrong with it
            continue
    return found


def _state(path: Path, known: FileState | None) -> FileState:
    about = path.stat()
    stamp = f"{about.st_ino} {about.st_size} {about.st_ctime_ns}"
    if known is not None and known.stamp == stamp:
        return known
    return FileState(hashlib.sha256(path.read_bytes()).hexdigest()[:32], stamp)


def _names(values: Any) -> Iterator[str]:
    """The texts of an arrow array that end like a picture file, those in its lists and records too; none beside stored bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_struct(kind):
        fields = {kind.field(place).name: part for place, part in enumerate(values.flatten())}
        if {"bytes", "path"} <= fields.keys():
            fields = {"path": fields["path"].filter(pc.is_null(fields["bytes"]))}
        for part in fields.values():
            yield from _names(part)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        yield from _names(values.flatten())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        for suffix in SUFFIXES:
            yield from values.filter(pc.ends_with(values, suffix, ignore_case=True)).to_pylist()
