"""What the files hold that rows name: a row that names its picture by a path stays as it is when the picture changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from mm_eval.errors import DataError
from mm_eval.task.docs import Docs
from mm_eval.task.stored_media import Places

LONGEST_NAME = 4096
"""Bytes of a path at most; a longer text names no file."""
IN_MEMORY = 64 * 2**20
"""Bytes up to which a file is read as a whole."""


class FileState(NamedTuple):
    """What a file holds (sha256), and its inode, size and time of change: while those are the same it need not be read."""

    digest: str
    stamp: str


def picture_files(
    docs: Docs, doc_ids: Sequence[int], known: Mapping[str, FileState], chunk: int = 64, places: Places | None = None
) -> dict[str, FileState]:
    """{name: its state} for each file below the data's folders that these docs name in any column.

    A picture's file may have any suffix or none, so each text is tried: one that names no file there costs a look-up.
    places: where names are looked up; by default where those of these docs are.
    A name without a file there (it is missing, a URL, or relative to a folder that only the task's function knows) is left out.
    """
    rows, places = docs.rows.with_format("arrow"), places or docs.places
    beginnings = _beginnings(places)
    found: dict[str, FileState] = {}
    for start in range(0, len(doc_ids), chunk):
        for column in rows[list(doc_ids[start : start + chunk])].columns:
            found.update(named_states(_names(column.combine_chunks()), places, known, found, beginnings))
    return {name: found[name] for name in sorted(found)}


def sample_files(docs: Iterable[Any], places: Places, known: Mapping[str, FileState]) -> dict[str, FileState]:
    """The same of docs that are mappings, as the few-shot `samples` of a YAML are."""
    return named_states((text for doc in docs for text in _texts(doc)), places, known, {}, _beginnings(places))


def named_states(
    names: Iterable[str],
    places: Places,
    known: Mapping[str, FileState],
    found: Mapping[str, FileState],
    beginnings: Set[str] | None,
) -> dict[str, FileState]:
    """The states of the files that some texts name, those found already left out. beginnings: see `_beginnings`."""
    states: dict[str, FileState] = {}
    for name in names:
        if beginnings is not None and name.partition("/")[0].casefold() not in beginnings:
            continue
        if "://" in name or name in found or name in states:
            continue
        try:
            states[name] = _state(places.find(name), known.get(name))
        except (DataError, OSError, RuntimeError, ValueError):  # asking its doc tells what is wrong with it
            continue
    return states


def _beginnings(places: Places) -> Set[str] | None:
    """What a name of a file in these places can begin with, in lower case; None where a folder can't be listed.

    20,000 docs with 6 texts take half a second with this, and 9 s when the system is asked about each text.
    """
    try:
        listed = {entry.casefold() for root in places.roots if root.is_dir() for entry in os.listdir(root)}
    except OSError:
        return None
    return listed | {"", ".", ".."}


def _texts(value: Any) -> Iterator[str]:
    """All texts of a doc, those in its lists and records too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _state(path: Path, known: FileState | None) -> FileState:
    about = path.stat()
    stamp = f"{about.st_ino} {about.st_size} {about.st_ctime_ns}"
    if known is not None and known.stamp == stamp:
        return known
    if about.st_size <= IN_MEMORY:
        return FileState(hashlib.sha256(path.read_bytes()).hexdigest()[:32], stamp)
    with path.open("rb") as file:  # a video
        return FileState(hashlib.file_digest(file, "sha256").hexdigest()[:32], stamp)


def _names(values: Any) -> Iterator[str]:
    """The texts of an arrow array that can be a file's name, those in its lists and records too; none beside stored bytes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_dictionary(kind):
        yield from _names(values.dictionary_decode())
    elif pa.types.is_struct(kind):
        fields = {kind.field(place).name: part for place, part in enumerate(values.flatten())}
        if {"bytes", "path"} <= fields.keys():
            fields = {"path": fields["path"].filter(pc.is_null(fields["bytes"]))}
        for part in fields.values():
            yield from _names(part)
    elif pa.types.is_map(kind):
        yield from _names(values.keys)
        yield from _names(values.items)
    elif any(is_kind(kind) for is_kind in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)):
        yield from _names(values.flatten())
    elif pa.types.is_string_view(kind):
        yield from _names(values.cast(pa.large_string()))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        yield from pc.unique(values.filter(pc.less_equal(pc.binary_length(values), LONGEST_NAME))).to_pylist()
