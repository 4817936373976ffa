"""The rows of a table that pyarrow has read, with the part of a `datasets.Dataset`'s interface that `Docs` needs.

`datasets` takes 0.8 CPU seconds to import. What `arrow_files.py` reads needs none of it. `undeclared_media` finds the columns
of pictures and sounds in such a table, or in one of `datasets`, that the file does not declare as such.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from mm_eval.data.sound.forms import form_of


@dataclass(frozen=True)
class Value:
    """A column of numbers, texts, or bytes. dtype: as `datasets` names it."""

    dtype: str


@dataclass(frozen=True)
class ClassLabel:
    """A column of indices of `names`."""

    names: tuple[str, ...]
    dtype: str = "int64"


@dataclass(frozen=True)
class Image:
    """A column of pictures. mode: that of Pillow to which each is converted. decode: False leaves the bytes."""

    mode: str | None = None
    decode: bool = True


@dataclass(frozen=True)
class Audio:
    """A column of sounds. decode: False leaves the bytes. The rate that `datasets` would convert them to changes nothing here."""

    decode: bool = True


@dataclass(frozen=True)
class List:
    """A column of lists."""

    feature: object


@dataclass(frozen=True)
class AnyValue:
    """A column of values of several types, or of objects with several keys, each stored as JSON text."""


@dataclass(frozen=True)
class Rows:
    """Record batches, and what their columns mean.

    features: {column: Value, ClassLabel, Image, Audio, List, AnyValue, or a mapping of them}.
    batches: in memory, or mapped from `file`, an arrow stream. All have the columns of `schema`, and perhaps others.
    is_arrow: rows are given as arrow tables, in which an AnyValue is its JSON text, otherwise as Python values.
    """

    schema: Any
    batches: Sequence[Any]
    features: Mapping[str, object]
    is_arrow: bool = False
    file: Path | None = None
    _ends: Sequence[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ends", list(accumulate(batch.num_rows for batch in self.batches)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def column_names(self) -> list[str]:
        return list(self.schema.names)

    @property
    def data(self) -> Any:
        """All rows as one arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self._of_columns, self.schema)

    def with_format(self, _: str) -> Rows:
        """The same rows, given as arrow tables."""
        return replace(self, is_arrow=True)

    def select_columns(self, names: Sequence[str]) -> Rows:
        """The same rows with these columns only."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in names])
        return replace(self, schema=schema, features={name: self.features[name] for name in names}, file=None)

    def remove_columns(self, names: Sequence[str]) -> Rows:
        """The same rows without these columns."""
        return self.select_columns([name for name in self.schema.names if name not in names])

    def __getitem__(self, place: int | str | Sequence[int]) -> Any:
        """A row, some rows, or a whole column as a list."""
        if isinstance(place, str):
            return self.select_columns([place])[list(range(len(self)))][place]
        import pyarrow as pa

        slices = self._slices([place] if isinstance(place, int) else place)
        table = pa.Table.from_batches(list(slices), self.schema)
        table = with_short_floats(table) if self._has_narrow_floats else table
        if self.is_arrow:
            return table
        values = {name: self._values(name, column) for name, column in table.to_pydict().items()}
        return {name: column[0] for name, column in values.items()} if isinstance(place, int) else values

    @cached_property
    def _of_columns(self) -> list[Any]:
        """The batches with the columns of these rows alone."""
        return [batch.select(self.schema.names) for batch in self.batches]

    @cached_property
    def _has_narrow_floats(self) -> bool:
        return any(wide_type(column.type) != column.type for column in self.schema)

    def _values(self, name: str, column: list[object]) -> list[Any]:
        feature = self.features[name]
        return [plain_value(feature, value) for value in column] if has_any_value(feature) else column

    def _slices(self, places: Sequence[int]) -> Iterator[Any]:
        """Slices of the batches, one for each run of consecutive places in one batch."""
        batches, at = self._of_columns, 0
        while at < len(places):
            number = bisect_right(self._ends, places[at])
            batch, start = batches[number], places[at]
            first = self._ends[number] - batch.num_rows
            count = 1
            while at + count < len(places) and places[at + count] == start + count < self._ends[number]:
                count += 1
            yield batch.slice(start - first, count)
            at += count


def has_any_value(feature: object) -> bool:
    """Whether values of this feature, of ours or of `datasets`, hold some that are stored as JSON text."""
    if isinstance(feature, Mapping):
        return any(map(has_any_value, feature.values()))
    inner = getattr(feature, "feature", None)
    return type(feature).__name__ == "AnyValue" if inner is None else has_any_value(inner)


def plain_value(feature: Any, value: Any) -> object:
    """A stored value with what its JSON texts say in their place."""
    if value is None:
        return None
    if isinstance(feature, Mapping):
        return {name: plain_value(inner, value[name]) for name, inner in feature.items()}
    inner = getattr(feature, "feature", None)
    if inner is not None:
        return [plain_value(inner, item) for item in value]
    return json.loads(value) if type(feature).__name__ == "AnyValue" else value


def with_short_floats(table: Any) -> Any:
    """A table whose float32 and float16 columns are float64, with the shortest text that gives the same narrow float.

    0.1 as float32 is the double 0.10000000149011612, digits that nobody wrote.
    """
    for place, column in enumerate(table.schema):
        if (wide := wide_type(column.type)) != column.type:
            table = table.set_column(place, table.schema.field(place).with_type(wide), _wide(table.column(place), wide))
    return table


def wide_type(stored: Any) -> object:
    """An arrow type with float64 for float32 and float16, also in lists and records."""
    import pyarrow as pa

    if pa.types.is_float32(stored) or pa.types.is_float16(stored):
        return pa.float64()
    if pa.types.is_struct(stored):
        return pa.struct([stored.field(n).with_type(wide_type(stored.field(n).type)) for n in range(stored.num_fields)])
    for is_kind, make in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_kind(stored):
            return make(stored.value_field.with_type(wide_type(stored.value_type)))
    if pa.types.is_fixed_size_list(stored):
        return pa.list_(stored.value_field.with_type(wide_type(stored.value_type)), stored.list_size)
    return stored


def _wide(column: Any, wide: Any) -> object:
    import pyarrow as pa

    if pa.types.is_float32(column.type):
        return column.cast(pa.string()).cast(wide)
    return pa.chunked_array([pa.array(_short(column.to_pylist(), column.type), wide)])


def _short(values: list[Any], stored: Any) -> list[object]:
    """Values of an arrow type with the narrow floats shortened."""
    import numpy
    import pyarrow as pa

    if pa.types.is_float32(stored) or pa.types.is_float16(stored):
        narrow = numpy.float32 if pa.types.is_float32(stored) else numpy.float16
        return [None if value is None else float(str(narrow(value))) for value in values]
    if pa.types.is_struct(stored):
        fields = [stored.field(number) for number in range(stored.num_fields)]
        columns = [_short([value and value[part.name] for value in values], part.type) for part in fields]
        names = [part.name for part in fields]
        rows = zip(*columns, strict=True) if columns else ((),) * len(values)
        return [
            None if value is None else dict(zip(names, row, strict=True))
            for value, row in zip(values, rows, strict=True)
        ]
    if wide_type(stored) == stored:
        return values
    return [None if value is None else _short(value, stored.value_type) for value in values]


# A parquet file that `datasets` wrote says which columns are pictures or sounds; one of pandas or pyarrow does not. Without that,
# the same bytes would reach a task as plain mappings, `{"bytes": ..., "path": ...}`, or as bytes.

_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"P5", b"P6", b"\x00\x00\x00\x0cjP")
"""The first bytes of PNG, JPEG, GIF, BMP, TIFF, PPM and JPEG 2000 files."""
_SOUNDS = (b"RIFF", b"fLaC", b"OggS", b"ID3")
"""The first bytes of files of sound that bytes of other kinds do not begin with by chance."""
_LEAST_SOUND = 44
"""No file of sound has as few bytes: the head of a WAV has so many."""
_MOST_ROWS = 10_000
"""The rows in which a first picture is looked for."""


def with_pictures_declared(rows: Any) -> object:
    """The rows of a `datasets.Dataset`, in which each column with the bytes of pictures or sounds, or lists of them, is one of
    those."""
    import datasets

    for name, is_list, kind in undeclared_media(rows) if isinstance(rows, datasets.Dataset) else ():
        medium: object = datasets.Audio() if kind == "Audio" else datasets.Image()
        rows = rows.cast_column(name, datasets.Sequence(medium) if is_list else medium)
    return rows


def undeclared_media(rows: Any) -> list[tuple[str, bool, str]]:
    """The columns of pictures and sounds that are not declared as such, each with whether it holds lists, and "Image" or
    "Audio". rows: a Dataset or `Rows`."""
    import pyarrow as pa

    found, data, features = [], rows.data, rows.features
    for stated in data.schema:
        is_list = pa.types.is_list(stated.type) or pa.types.is_large_list(stated.type)
        inner = stated.type.value_type if is_list else stated.type
        declared = repr(features[stated.name])
        if "Image(" in declared or "Audio(" in declared or not _may_be_picture(inner):
            continue
        column = data.column(stated.name)
        empty = not is_list and column.null_count == len(column)  # as image_7 of MMMU, which other configurations fill
        first = _first(column)
        if empty or _is_picture(first):
            found.append((stated.name, is_list, "Image"))
        elif first is not None and _is_sound(first, pa.types.is_struct(inner)):
            found.append((stated.name, is_list, "Audio"))
    return found


def _may_be_picture(stored: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_struct(stored):
        return {stored.field(place).name for place in range(stored.num_fields)} == {"bytes", "path"}
    return bool(pa.types.is_binary(stored) or pa.types.is_large_binary(stored))


def _first(column: Any) -> bytes | None:
    """The bytes of the first value that has some, in a list too."""
    for place in range(min(len(column), _MOST_ROWS)):
        value = column[place]
        if not value.is_valid:
            continue
        held = value.as_py()
        for each in held if isinstance(held, list) else [held]:
            content = each.get("bytes") if isinstance(each, dict) else each
            if isinstance(content, bytes):
                return content
    return None


def _is_sound(content: bytes, is_record: bool) -> bool:
    """Whether a value is a file of sound. is_record: it is part of a record of bytes and path."""
    known = is_record or content.startswith(_SOUNDS)
    return known and len(content) > _LEAST_SOUND and bool(form_of(content[:16]))


def _is_picture(content: bytes | None) -> bool:
    is_webp = content is not None and content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    is_avif = content is not None and content[4:12] in (b"ftypavif", b"ftypavis")
    return content is not None and (content.startswith(_STARTS) or is_webp or is_avif)
