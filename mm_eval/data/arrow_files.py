"""Reads parquet files as `datasets` would, and JSON, CSV and TSV files as `text_files.py` says, without an import of `datasets`.

`read_rows` gives None for whatever would need more of `datasets` than is written here: other formats, options and file patterns,
a card that does not fit its files, and parquet files whose columns differ, hold other media or dates, or can't be read.
`datasets` reads those, or says what is wrong with them.

Small data is held in memory. Larger data becomes one arrow file in the cache of `datasets`, and is mapped from there, so that
memory does not grow with the number of rows. Fields batches are those of `datasets`: the fingerprint of the data depends on them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from mm_eval.data.data_files import datasets_cache, file_digest
from mm_eval.data.rows import AnyValue, Audio, ClassLabel, Image, List, Rows, Value, undeclared_media
from mm_eval.data.splits import SUFFIXES, SplitFiles, split_files
from mm_eval.data.text_files import (
    CHUNK,
    NULL,
    TEXT,
    Columns,
    TextFormat,
    columns_of,
    declared,
    features_of,
    numbers_of,
    stored,
)
from mm_eval.values.errors import DataError, first_line
from mm_eval.values.files import replacing
from mm_eval.values.types import Options
from mm_eval.values.words import listed

IN_MEMORY = 64 * 2**20
"""Bytes of rows up to which they are held in memory."""
VERSION = 2
"""Of the arrow files in the cache; to be raised when the same files would give other record batches."""
BATCH, PICTURE_BATCH = 1000, 100
"""The rows of a record batch of `datasets`; the second is that of tables with a column of pictures or bytes."""
INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
DTYPES = {*INTEGERS, "float16", "float32", "float64", "bool", "string", "large_string", "binary", "null"}


class Unreadable(Exception):
    """It is not what this module reads; `datasets` may."""


def read_rows(
    path: str, names: Sequence[str | None], split: str, options: Options, only_text: bool = False
) -> Rows | None:
    """The rows of a split, of all configurations one after another; None if `datasets` must read them.

    path: a folder, "parquet", "json" or "csv". options: those of `datasets.load_dataset`. only_text: None for parquet files.
    Errors: DataError, with the line, if a text file can't be read.
    """
    import pyarrow as pa

    try:
        parts = []
        for name in names:
            files = split_files(path, name, split, options)
            if files is None or only_text and files.suffix == ".parquet":
                return None
            parts.append(_read(files))
        if any(part.schema != parts[0].schema or part.features != parts[0].features for part in parts[1:]):
            return None
        batches = [batch for part in parts for batch in part.batches]
        return Rows(parts[0].schema, batches, parts[0].features, file=parts[0].file if len(parts) == 1 else None)
    except (Unreadable, pa.ArrowException, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _read(files: SplitFiles) -> Rows:
    if files.suffix == ".parquet":
        source: _Parquet | TextFiles = _Parquet(files)
    else:
        source = TextFiles(files.paths, format_of(files.suffix), files.features, files.first)
    rows = rows_of(source, files.paths)
    if files.rows is not None and len(rows) != files.rows:
        raise Unreadable("the card states another number of rows")
    features = dict(rows.features)
    for name, is_list, kind in undeclared_media(rows):
        medium = Audio() if kind == "Audio" else Image()
        if source.schema.field(name).type != _arrow_type(List(medium) if is_list else medium):
            raise Unreadable(f"{name} must be cast to media")
        features[name] = List(medium) if is_list else medium
    return replace(rows, features=features)


def format_of(suffix: str) -> TextFormat:
    """How a file with this ending is read where nothing else is stated."""
    kind = SUFFIXES[suffix]
    return TextFormat(kind, {"sep": "\t"} if suffix == ".tsv" else {})


def rows_of(source: _Parquet | TextFiles, paths: Sequence[Path]) -> Rows:
    """The rows of some files, in memory or mapped from the cache."""
    if source.size > IN_MEMORY:
        file, batches = _mapped(source, paths)
        return Rows(source.schema, batches, source.features, file=file)
    return Rows(source.schema, list(source.batches()), source.features)


def _mapped(source: _Parquet | TextFiles, paths: Sequence[Path]) -> tuple[Path, list[object]]:
    """The arrow file in the cache with the rows, which the first process writes, and its record batches."""
    import pyarrow as pa

    state = hashlib.sha256(f"{VERSION} {source.schema.to_string(show_schema_metadata=False)}".encode())
    state.update(source.rule.encode())
    for path in paths:
        state.update(file_digest(path).encode())
    file = datasets_cache() / "mm-eval-rows" / f"{state.hexdigest()[:32]}-{source.rows_a_batch}.arrow"
    if file.exists():
        with suppress(pa.ArrowException, OSError):  # else it is spoilt, and written again
            return file, list(pa.ipc.open_stream(pa.memory_map(str(file))))
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with (
            replacing(file) as beside,
            pa.OSFile(str(beside), "wb") as sink,
            pa.ipc.new_stream(sink, source.schema) as writer,
        ):
            for batch in source.batches():
                writer.write_batch(batch)
    pa.default_memory_pool().release_unused()  # what row groups of a hundred clips took stays there otherwise
    return file, list(pa.ipc.open_stream(pa.memory_map(str(file))))


class _Parquet:
    """The record batches of parquet files with equal columns."""

    rule = ""

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
                raise Unreadable("the columns differ")
        self.rows_a_batch = PICTURE_BATCH if any(map(_has_bytes, self.features.values())) else BATCH
        metadata = [file.metadata for file in self._files]
        self.size = sum(
            each.row_group(number).total_byte_size for each in metadata for number in range(each.num_row_groups)
        )

    def batches(self) -> Iterator[object]:
        return _divide(self._tables(), self.schema, self.rows_a_batch)

    def _tables(self) -> Iterator[object]:
        for file in self._files:
            groups = file.metadata.num_row_groups
            most = file.metadata.row_group(0).num_rows if groups else 1
            for number in range(groups):
                table = file.read_row_group(number, use_threads=False)
                yield from (table.slice(start, most) for start in range(0, len(table), most))


class TextFiles:
    """The record batches of JSON, CSV or TSV files, with the types that their values have, or with declared ones.

    first: a file of another split, whose columns are null here where these files lack them.
    Errors: DataError, with the line, if a file can't be read.
    """

    def __init__(
        self, paths: Sequence[Path], form: TextFormat, stated: Options | None, first: Path | None = None
    ) -> None:
        import pyarrow as pa

        self._paths, self._form, self._stated = paths, form, stated
        self.size = sum(path.stat().st_size for path in paths)
        self._kept = list(self._parts()) if self.size <= CHUNK else None
        if stated is not None:
            self.features = _features(None, stated)
        else:
            found = features_of(self._parts(), form.kind)
            shared = [] if first is None or first in paths else list(next(columns_of(first, form), {}))
            self.features = {**{name: found.get(name, NULL) for name in shared}, **found}
        if not self.features or _is_log_of_agent(self.features):
            raise Unreadable("there are no rows, or logs of an agent")
        self.schema = pa.schema([(name, _arrow_type(feature)) for name, feature in self.features.items()])
        self.rows_a_batch = PICTURE_BATCH if any(map(_has_bytes, self.features.values())) else BATCH
        self.rule = f"{self.features} {form}"

    def _parts(self) -> Iterator[Columns]:
        if getattr(self, "_kept", None) is not None:
            return iter(self._kept or ())
        return (columns for path in self._paths for columns in columns_of(path, self._form))

    def _tables(self) -> Iterator[object]:
        for columns in self._parts():
            if extra := [name for name in columns if name not in self.features]:
                raise DataError(f"{self._said()}: the declared features lack the column {extra[0]!r}.")
            rows = len(next(iter(columns.values()), ()))
            whole = {name: columns.get(name) or [None] * rows for name in self.schema.names}
            yield self._of_json(whole) if self._form.kind == "json" and self._stated is None else self._of_values(whole)

    def _of_json(self, columns: Columns) -> object:
        """A table without an import of pandas, which `pyarrow.array` does."""
        import pyarrow.json

        values = [stored(column, self.features[name]) for name, column in columns.items()]
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True))
        try:
            encode = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` makes an encoder for each row
            text = "\n".join(map(encode, rows)).encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{self._said()}: there is half a surrogate pair, {error.object[error.start]!r}."
            ) from error
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        types = pyarrow.json.ParseOptions(explicit_schema=self.schema)
        return pyarrow.json.read_json(BytesIO(text), read_options=options, parse_options=types)

    def _of_values(self, columns: Columns) -> object:
        import pyarrow as pa

        arrays = [self._array(name, values) for name, values in columns.items()]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _array(self, name: str, values: list[object]) -> object:
        import pyarrow as pa

        feature, kind = self.features[name], self.schema.field(name).type
        try:
            if self._stated is None:
                return pa.array(numbers_of(values, feature), kind)
            values = [declared(value, feature) for value in values]
            return pa.array(values, kind) if _is_plain(feature) else pa.array(values).cast(kind)
        except (ValueError, TypeError, KeyError, AttributeError, pa.ArrowException) as error:
            what = f"{self._said()}: the column {name!r} can't be read as {_in_words(feature)}: {first_line(error)}."
            raise DataError(what) from error

    def _said(self) -> str:
        return listed([str(path) for path in self._paths], 3)

    def batches(self) -> Iterator[object]:
        return _divide(self._tables(), self.schema, self.rows_a_batch)


def _is_log_of_agent(features: Mapping[str, object]) -> bool:
    """Whether `datasets` takes a file with these columns for a log of an agent, which it reads in another way."""
    texts = {name for name, feature in features.items() if feature == TEXT}
    has_messages = isinstance(features.get("messages"), List | AnyValue)
    return (texts >= {"id", "source", "model", "system_prompt"} and has_messages) or (
        texts >= {"type", "id", "cwd"} and features.get("version") == Value("int64")
    )


def _is_plain(feature: object) -> bool:
    """Whether pyarrow takes Python values of this type as they are."""
    return not isinstance(feature, Value) or feature.dtype in DTYPES


def _in_words(feature: object) -> str:
    return getattr(feature, "dtype", "") or type(feature).__name__


def _divide(tables: Iterator[Any], schema: Any, most: int) -> Iterator[object]:
    """The record batches that `datasets` makes of some tables: at most so many rows each; single rows in sequence are joined."""
    import pyarrow as pa

    def batches_of(part: Any) -> Iterator[object]:
        columns = [part.column(name).combine_chunks() for name in schema.names]
        yield from pa.Table.from_arrays(columns, schema=schema).combine_chunks().to_batches(max_chunksize=most)

    singles: list[object] = []
    for table in tables:
        if {each.name: each.type for each in table.schema} != {each.name: each.type for each in schema}:
            raise Unreadable("the columns differ")
        singles += [table] * (len(table) == 1)
        if singles and (len(table) != 1 or len(singles) == most):
            yield from batches_of(pa.concat_tables(singles))
            singles = []
        if len(table) > 1:
            yield from batches_of(table)
    if singles:
        yield from batches_of(pa.concat_tables(singles))


def declared_features(stated: Options) -> dict[str, object]:
    """Features as `datasets` writes them to JSON, for the values of text files. Unreadable if one is of another kind."""
    return _features(None, stated)


def _features(schema: Any, of_card: Mapping[str, object] | None) -> dict[str, object]:
    """{column: feature}: of the card, else of the file's own metadata where its type fits, else by the type of the column."""
    if of_card is not None:
        return {name: _declared(feature, of_text=schema is None) for name, feature in of_card.items()}
    stored = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    declared = (stored.get("info") or {}).get("features") or {}
    features = {}
    for column in schema:
        feature = _declared(declared[column.name]) if column.name in declared else None
        fits = feature is not None and column.nullable and _arrow_type(feature) == column.type
        features[column.name] = feature if fits else _of_type(column.type)
    return features


def _declared(stated: object, of_text: bool = False) -> object:
    """A feature as `datasets` writes it to JSON. of_text: of text files, whose values are converted, also to dates."""
    if not isinstance(stated, Mapping):
        raise Unreadable(f"the feature {stated!r:.80}")
    kind = stated.get("_type")
    if kind is None or isinstance(kind, Mapping):
        return {name: _declared(part, of_text) for name, part in stated.items()}
    if kind == "Value" and (stated["dtype"] in DTYPES or of_text):
        return Value(stated["dtype"])
    if kind == "Json" and of_text:
        return AnyValue()
    if kind == "Image":
        return Image(stated.get("mode"), stated.get("decode", True))
    if kind == "Audio":
        return Audio(stated.get("decode", True))
    if kind == "ClassLabel" and stated.get("names"):
        return ClassLabel(tuple(stated["names"]))
    if kind in ("List", "Sequence") and stated.get("length", -1) == -1:
        inner = _declared(stated["feature"], of_text)
        if kind == "Sequence" and isinstance(inner, Mapping):  # stored as a record of lists
            return {name: List(part) for name, part in inner.items()}
        return List(inner)
    raise Unreadable(f"the feature {stated!r:.80}")


def _of_type(stored: Any) -> object:
    """The feature of a column that no metadata describes."""
    import pyarrow as pa

    if pa.types.is_struct(stored):
        return {part.name: _of_type(part.type) for part in stored.fields}
    if pa.types.is_list(stored):
        return List(_of_type(stored.value_type))
    names = {"double": "float64", "float": "float32", "halffloat": "float16"}
    dtype = names.get(str(stored), str(stored))
    if dtype not in DTYPES:
        raise Unreadable(f"the type {dtype}")
    return Value(dtype)


def _arrow_type(feature: Any) -> object:
    import pyarrow as pa

    if isinstance(feature, Mapping):
        return pa.struct({name: _arrow_type(part) for name, part in feature.items()})
    if isinstance(feature, List):
        return pa.list_(_arrow_type(feature.feature))
    if isinstance(feature, (Image, Audio)):
        return pa.struct({"bytes": pa.binary(), "path": pa.string()})
    if isinstance(feature, AnyValue):
        return pa.string()
    if feature.dtype not in DTYPES:
        from datasets.features.features import string_to_arrow

        return string_to_arrow(feature.dtype)
    return pa.bool_() if feature.dtype == "bool" else getattr(pa, feature.dtype)()


def _has_bytes(feature: object) -> bool:
    if isinstance(feature, Mapping):
        return any(map(_has_bytes, feature.values()))
    return _has_bytes(feature.feature) if isinstance(feature, List) else getattr(feature, "dtype", "binary") == "binary"
