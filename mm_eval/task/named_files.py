"""What the picture files hold that rows name: a row that names its picture stays as it is when the picture changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from mm_eval.errors import DataError
from mm_eval.task.docs import Docs

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")


def file_digests(docs: Docs, doc_ids: Sequence[int], chunk: int = 64) -> dict[str, str]:
    """{name: digest of the file} for each picture file below the data's folders that these docs name in any column.

    A name without a file there (it is missing, a URL, or relative to a folder that only the task's function knows) is left out.
    """
    rows, names = docs.rows.with_format("arrow"), set[str]()
    for start in range(0, len(doc_ids), chunk):
        for column in rows[list(doc_ids[start : start + chunk])].columns:
            names.update(_names(column.combine_chunks()))
    found = {}
    for name in sorted(name for name in names if "://" not in name):
        try:
            found[name] = hashlib.sha256(docs.places.read(name)).hexdigest()[:32]
        except (DataError, OSError):  # asking its doc tells what is wrong with it
            continue
    return found


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
