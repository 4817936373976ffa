"""Checks that shards of WebDataset are read whole.

`datasets` takes the columns of such shards, and the types of their JSON, from the first five samples. What a later sample has
beyond them it leaves out, and other values it converts ("007" to 7), without a word.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mm_eval.values.errors import DataError

HINT = (
    "Give all samples the same files and JSON of the same keys and types, or store the rows as JSON lines or parquet."
)


def check_shards(builder: Any, found: Any) -> None:
    """Raises DataError if a sample has a file, or JSON of a value, that the rows don't have.

    builder: the one of `datasets` that read them. found: its rows, or its rows by split.
    """
    from datasets.packaged_modules.webdataset.webdataset import WebDataset

    if isinstance(builder, WebDataset):
        for rows in found.values() if isinstance(found, Mapping) else [found]:
            _check(rows)


def _check(rows: Any) -> None:
    from datasets.packaged_modules.webdataset.webdataset import base_plus_ext

    of_json = [name for name in rows.column_names if name.rpartition(".")[2].lower() == "json"]
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
                if opened is not None and _told(json.loads(opened.read())) != _told(row[name]):
                    what = (
                        f"the JSON of the sample {key!r} has other keys or types than that of the first five samples."
                    )
                    raise DataError(f"{shard}: {what}", hint=HINT)


def _told(value: Any) -> Any:
    """A value with no keys of None, which `datasets` adds, where each number and text has its type."""
    if isinstance(value, Mapping):
        return {key: _told(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_told(each) for each in value]
    return (type(value).__name__, value) if isinstance(value, str | bool) else value
