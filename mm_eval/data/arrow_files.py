"""Reads parquet and JSON lines files on this machine with pyarrow alone, as `datasets` would read them.

`read_rows` gives None for whatever would need more of `datasets` than is written here: other formats, options and file patterns,
columns of other media or dates, JSON objects in JSON lines, files whose columns differ, a card that does not fit its files, and
files that can't be read. `datasets` reads those, or says what is wrong with them.

Small data is held in memory. Larger data becomes one arrow file in the cache of `datasets`, and is mapped from there, so that
memory does not grow with the number of rows. Record batches are those of `datasets`: the fingerprint of the data depends on them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from mm_eval.data.data_files import datasets_cache, file_digest
from mm_eval.data.rows import ClassLabel, Image, List, Rows, Value, undeclared_pictures
from mm_eval.data.splits import SplitFiles, split_files
from mm_eval.values.files import replacing

IN_MEMORY = 64 * 2**20
"""Bytes of rows up to which they are held in memory."""
VERSION = 1
"""Of the arrow files in the cache; to be raised when the same files would give other record batches."""
BATCH, PICTURE_BATCH = 1000, 100
"""The rows of a record batch of `datasets`; the second is that of tables with a column of pictures or bytes."""
JSON_CHUNK = 10 * 2**20
"""The bytes that `datasets` parses at a time."""
INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
DTYPES = {*INTEGERS, "float16", "float32", "float64", "bool", "string", "large_string", "binary", "null"}
MARKS_OF_TRACES = ({"type", "id", "version", "cwd"}, {"id", "source", "model", "system_prompt", "messages"})
"""Columns by which `datasets` recognises a log of an agent, which it reads in another way."""


class _Other(Exception):
    """It is not what this module reads."""


def read_rows(path: str, names: Sequence[str | None], split: str, options: Mapping[str, Any]) -> Rows | None:
    """The rows of a split, of all configurations one after another; None if `datasets` must read them.

    path: a folder, "parquet" or "json". options: those of `datasets.load_dataset`.
    """
    import pyarrow as pa

    try:
        parts = []
        for name in names:
            files = split_files(path, name, split, options)
            if files is None:
                return None
            parts.append(_read(files))
        if any(part.schema != parts[0].schema or part.features != parts[0].features for part in parts[1:]):
            return None
        return Rows(parts[0].schema, [batch for part in parts for batch in part.batches], parts[0].features)
    except (_Other, pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _read(files: SplitFiles) -> Rows:
    source = _Parquet(files) if files.suffix == ".parquet" else _JsonLines(files)
    batches = _map_batches(source, files.paths) if source.size > IN_MEMORY else list(source.batches())
    features = {name: source.features[name] for name in source.schema.names}
    if files.rows is not None and sum(batch.num_rows for batch in batches) != files.rows:
        raise _Other("the card states another number of rows")
    rows = Rows(source.schema, batches, features)
    for name, is_list in undeclared_pictures(rows):
        if source.schema.field(name).type != _arrow_type(List(Image()) if is_list else Image()):
            raise _Other(f"{name} must be cast to pictures")
        features[name] = List(Image()) if is_list else Image()
    return rows


def _map_batches(source: _Parquet | _JsonLines, paths: Sequence[Path]) -> list[Any]:
    """The record batches, mapped from an arrow file in the cache, which the first process writes."""
    import pyarrow as pa

    state = hashlib.sha256(f"{VERSION} {source.schema.to_string(show_schema_metadata=False)}".encode())
    for path in paths:
        state.update(file_digest(path).encode())
    file = datasets_cache() / "mm-eval-rows" / f"{state.hexdigest()[:32]}-{source.rows_a_batch}.arrow"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                with (
                    replacing(file) as beside,
                    pa.OSFile(str(beside), "wb") as sink,
                    pa.ipc.new_file(sink, source.schema) as writer,
                ):
                    for batch in source.batches():
                        writer.write_batch(batch)
    reader = pa.ipc.open_file(pa.memory_map(str(file)))
    return [reader.get_batch(number) for number in range(reader.num_record_batches)]


class _Parquet:
    """The record batches of parquet files with equal columns."""

    def __init__(self, files: SplitFiles) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._files = [pq.ParquetFile(path, memory_map=True) for path in files.paths]
        stored = (pq.ParquetFile(files.first) if files.first not in files.paths else self._files[0]).schema_arrow
        self.features = _features(stored, files.features)
        self.schema = pa.schema([(name, _arrow_type(feature)) for name, feature in self.features.items()])
        for file in self._files:
            own = file.schema_arrow
            same = {each.name: (each.type, each.nullable) for each in own}
            if same != {each.name: (each.type, True) for each in self.schema} or len(own) != len(same):
                raise _Other("the columns differ")
        self.rows_a_batch = PICTURE_BATCH if any(map(_has_bytes, self.features.values())) else BATCH
        metadata = [file.metadata for file in self._files]
        self.size = sum(
            each.row_group(number).total_byte_size for each in metadata for number in range(each.num_row_groups)
        )

    def batches(self) -> Iterator[Any]:
        return _divide(self._tables(), self.schema, self.rows_a_batch)

    def _tables(self) -> Iterator[Any]:
        for file in self._files:
            groups = file.metadata.num_row_groups
            most = file.metadata.row_group(0).num_rows if groups else 1
            for number in range(groups):
                table = file.read_row_group(number, use_threads=False)
                yield from (table.slice(start, most) for start in range(0, len(table), most))


class _JsonLines:
    """The record batches of JSON lines files with equal columns."""

    def __init__(self, files: SplitFiles) -> None:
        import pyarrow as pa

        if files.first not in files.paths:
            raise _Other("another split decides what the columns are")
        self._paths = files.paths
        self._first = next(self._tables(), None)
        if self._first is None or any(marks <= set(self._first.column_names) for marks in MARKS_OF_TRACES):
            raise _Other("there are no rows, or logs of an agent")
        self.features = _features(self._first.schema.remove_metadata(), files.features)
        if any(map(_has_object, self.features.values())):
            raise _Other("there are JSON objects")
        self.schema = pa.schema([(name, _arrow_type(feature)) for name, feature in self.features.items()])
        self.rows_a_batch = BATCH
        self.size = sum(path.stat().st_size for path in self._paths)

    def _tables(self) -> Iterator[Any]:
        import pyarrow.json

        for path in self._paths:
            with path.open("rb") as file:
                while chunk := file.read(JSON_CHUNK):
                    chunk += file.readline()
                    if chunk.startswith((b"[", b"\xef\xbb\xbf")):
                        raise _Other("not JSON lines")
                    block = JSON_CHUNK // 32
                    block = len(chunk) if len(chunk) // 8 > block else block
                    options = pyarrow.json.ReadOptions(use_threads=False, block_size=block)
                    yield pyarrow.json.read_json(BytesIO(chunk), read_options=options)

    def batches(self) -> Iterator[Any]:
        return _divide(self._tables(), self.schema, self.rows_a_batch)


def _divide(tables: Iterator[Any], schema: Any, most: int) -> Iterator[Any]:
    """The record batches that `datasets` makes of some tables: at most so many rows each; single rows in sequence are joined."""
    import pyarrow as pa

    def batches_of(part: Any) -> Iterator[Any]:
        columns = [part.column(name).combine_chunks() for name in schema.names]
        yield from pa.Table.from_arrays(columns, schema=schema).combine_chunks().to_batches(max_chunksize=most)

    singles: list[Any] = []
    for table in tables:
        if {each.name: each.type for each in table.schema} != {each.name: each.type for each in schema}:
            raise _Other("the columns differ")
        singles += [table] * (len(table) == 1)
        if singles and (len(table) != 1 or len(singles) == most):
            yield from batches_of(pa.concat_tables(singles))
            singles = []
        if len(table) > 1:
            yield from batches_of(table)
    if singles:
        yield from batches_of(pa.concat_tables(singles))


def _features(schema: Any, of_card: Mapping[str, Any] | None) -> dict[str, Any]:
    """{column: feature}: of the card, else of the file's own metadata where its type fits, else by the type of the column."""
    if of_card is not None:
        return {name: _declared(feature) for name, feature in of_card.items()}
    stored = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    declared = (stored.get("info") or {}).get("features") or {}
    features = {}
    for column in schema:
        feature = _declared(declared[column.name]) if column.name in declared else None
        fits = feature is not None and column.nullable and _arrow_type(feature) == column.type
        features[column.name] = feature if fits else _of_type(column.type)
    return features


def _declared(stated: Any) -> Any:
    """A feature as `datasets` writes it to JSON."""
    if not isinstance(stated, Mapping):
        raise _Other(f"the feature {stated!r:.80}")
    kind = stated.get("_type")
    if kind is None or isinstance(kind, Mapping):
        return {name: _declared(part) for name, part in stated.items()}
    if kind == "Value" and stated["dtype"] in DTYPES:
        return Value(stated["dtype"])
    if kind == "Image":
        return Image(stated.get("mode"), stated.get("decode", True))
    if kind == "ClassLabel" and stated.get("names"):
        return ClassLabel(tuple(stated["names"]))
    if kind in ("List", "Sequence") and stated.get("length", -1) == -1:
        inner = _declared(stated["feature"])
        if kind == "Sequence" and isinstance(inner, Mapping):  # stored as a record of lists
            return {name: List(part) for name, part in inner.items()}
        return List(inner)
    raise _Other(f"the feature {stated!r:.80}")


def _of_type(stored: Any) -> Any:
    """The feature of a column that no metadata describes."""
    import pyarrow as pa

    if pa.types.is_struct(stored):
        return {part.name: _of_type(part.type) for part in stored.fields}
    if pa.types.is_list(stored):
        return List(_of_type(stored.value_type))
    names = {"double": "float64", "float": "float32", "halffloat": "float16"}
    dtype = names.get(str(stored), str(stored))
    if dtype not in DTYPES:
        raise _Other(f"the type {dtype}")
    return Value(dtype)


def _arrow_type(feature: Any) -> Any:
    import pyarrow as pa

    if isinstance(feature, Mapping):
        return pa.struct({name: _arrow_type(part) for name, part in feature.items()})
    if isinstance(feature, List):
        return pa.list_(_arrow_type(feature.feature))
    if isinstance(feature, Image):
        return pa.struct({"bytes": pa.binary(), "path": pa.string()})
    return pa.bool_() if feature.dtype == "bool" else getattr(pa, feature.dtype)()


def _has_bytes(feature: Any) -> bool:
    if isinstance(feature, Mapping):
        return any(map(_has_bytes, feature.values()))
    return _has_bytes(feature.feature) if isinstance(feature, List) else getattr(feature, "dtype", "binary") == "binary"


def _has_object(feature: Any) -> bool:
    return isinstance(feature, Mapping) or isinstance(feature, List) and _has_object(feature.feature)
