"""The docs of one split, seen in two ways: the text of a doc, which never decodes a picture, and the whole doc, decoded for
as long as a caller holds it. Rows are memory-mapped by `datasets`, so that nothing here grows with their number.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mm_eval.errors import DataError
from mm_eval.task.decode import PixelCount, decoding, open_picture, reset_pillow
from mm_eval.task.media import MEDIA, Places, decoded, inner_feature, only_pictures, without_media
from mm_eval.types import Doc


@dataclass
class Docs:
    """The docs of one split: `text(i)` without pictures, `full(i)` with them, decoded anew at each call."""

    rows: Any
    where: str = ""
    fingerprint: str = ""
    places: Places = field(default_factory=Places)
    bundled: bool = False  # sample data, and not what it stands for
    media_columns: tuple[str, ...] = field(init=False, default=())
    _records: tuple[str, ...] = field(init=False, default=(), repr=False)  # columns with pictures and texts together
    _texts: Any = field(init=False, default=None, repr=False)
    _stored: Any = field(init=False, default=None, repr=False)
    _decodes: bool = field(init=False, default=False, repr=False)
    _features: Any = field(init=False, default=None, repr=False)  # kept: `datasets` copies them at each access

    def __post_init__(self) -> None:
        self._features = features = getattr(self.rows, "features", None) or {}
        self.media_columns = tuple(name for name, feature in features.items() if _holds_media(feature))
        self._records = tuple(name for name, feature in features.items() if _records_media(feature))
        apart = [*self.media_columns, *self._records]
        self._texts = self.rows.remove_columns(apart) if apart else self.rows
        self._decodes = bool(apart) and all(only_pictures(features[name]) for name in apart)
        self._stored = self.rows.with_format("arrow") if apart else None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> list[str]:
        return list(self.rows.column_names)

    def text(self, doc_id: int) -> Doc:
        """The doc without its pictures."""
        doc = dict(self._texts[doc_id]) if self._texts.column_names else {}
        return {**doc, **self._undecoded([doc_id])[0]} if self._records else doc

    def texts(self, doc_ids: range | list[int], chunk: int = 256) -> Iterator[tuple[int, Doc]]:
        """(doc_id, doc without pictures) for many docs, read a chunk at a time: ten times faster than one by one."""
        for start in range(0, len(doc_ids), chunk):
            ids = list(doc_ids[start : start + chunk])
            columns = self._texts[ids] if self._texts.column_names else {}
            records = self._undecoded(ids) if self._records else []
            for row, doc_id in enumerate(ids):
                doc = {name: values[row] for name, values in columns.items()}
                yield doc_id, {**doc, **records[row]} if records else doc

    def _undecoded(self, doc_ids: list[int]) -> list[Doc]:
        """The columns that hold pictures and texts together, each picture as `{"path": ...}`: nothing is decoded."""
        rows = self._stored.select_columns(list(self._records))[doc_ids].to_pylist()
        return [{name: without_media(self._features[name], value) for name, value in row.items()} for row in rows]

    def picture_keys(self, doc_ids: list[int], chunk: int = 64) -> dict[int, str]:
        """For each doc with pictures the digest of their files, nothing decoded: docs with equal ones share their pictures."""
        keys: dict[int, str] = {}
        if not self.media_columns:
            return keys
        raw = self.rows.select_columns(list(self.media_columns)).with_format("arrow")
        for start in range(0, len(doc_ids), chunk):
            ids = list(doc_ids[start : start + chunk])
            for doc_id, row in zip(ids, raw[ids].to_pylist(), strict=True):
                digest = hashlib.sha256()
                if sum(_feed(digest, value) for value in row.values()):
                    keys[doc_id] = digest.hexdigest()
        return keys

    def full(self, doc_id: int) -> Doc:
        """The whole doc, pictures decoded; DataError when one can't be."""
        where = f"{self.where} doc {doc_id}"
        with decoding(where):
            if not self._decodes:
                reset_pillow()  # `datasets` decodes: video and audio may be among it
                return dict(self.rows[doc_id])
            [row] = self._stored[doc_id].to_pylist()
            count = PixelCount()
            try:
                return {name: decoded(self._features[name], value, self.places, count) for name, value in row.items()}
            except DataError as error:
                raise error.located(where) from error

    def stored(self, doc_ids: list[int]) -> Iterator[tuple[int, Doc]]:
        """(doc_id, doc with its pictures as they are stored, `{"bytes": ..., "path": ...}`), nothing decoded."""
        source = self.rows.with_format("arrow") if self._stored is None else self._stored
        yield from zip(doc_ids, source[doc_ids].to_pylist(), strict=True)

    def picture(self, name: str, where: str) -> Any:
        """The picture that a row names by its file, below the data's own folder."""
        with decoding(where):
            return open_picture(self.places.read(name))


def fingerprint_of(rows: Any) -> str:
    """sha256 of the rows' content, pictures included, whatever path or cache they were read from."""
    import pyarrow as pa

    class Hash(io.RawIOBase):
        """A file that only remembers the digest of what was written."""

        digest: Any = None

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.digest.update(data)
            return len(memoryview(data))

    sink = Hash()
    sink.digest = hashlib.sha256()
    table = rows.data.table if hasattr(rows.data, "table") else rows.data
    with pa.PythonFile(sink, mode="w") as file, pa.ipc.new_stream(file, table.schema.remove_metadata()) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch.replace_schema_metadata(None))
    return str(sink.digest.hexdigest())


def _feed(digest: Any, value: Any) -> int:
    """Puts the bytes and texts of a stored value into a digest; returns how many there were."""
    if isinstance(value, bytes | str):
        digest.update(value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass"))
        return 1
    if isinstance(value, Mapping):
        return _feed(digest, value["bytes"]) if value.get("bytes") else sum(_feed(digest, v) for v in value.values())
    return sum(_feed(digest, item) for item in value) if isinstance(value, list) else 0


def _holds_media(feature: Any) -> bool:
    """Whether a column holds pictures (or video, audio), alone or in a list."""
    inner = inner_feature(feature)
    return type(feature).__name__ in MEDIA or inner is not None and _holds_media(inner)


def _records_media(feature: Any) -> bool:
    """Whether a column holds records (or lists of them) with pictures among their fields."""
    if isinstance(feature, Mapping):
        return any(_holds_media(part) or _records_media(part) for part in feature.values())
    inner = inner_feature(feature)
    return inner is not None and _records_media(inner)


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
