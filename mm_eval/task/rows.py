"""The rows of a table that pyarrow has read, with the part of a `datasets.Dataset`'s interface that `Docs` needs.

`datasets` takes 0.8 CPU seconds to import. What `arrow_files.py` reads needs none of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any


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
class List:
    """A column of lists."""

    feature: Any


@dataclass(frozen=True)
class Rows:
    """Record batches, and what their columns mean.

    features: {column: Value, ClassLabel, Image, List, or a mapping of them}.
    batches: in memory, or mapped from a file. All have the columns of `schema`, and perhaps others.
    is_arrow: rows are given as arrow tables, otherwise as Python values.
    """

    schema: Any
    batches: Sequence[Any]
    features: Mapping[str, Any]
    is_arrow: bool = False
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

        return pa.Table.from_batches([batch.select(self.schema.names) for batch in self.batches], self.schema)

    def with_format(self, _: str) -> Rows:
        """The same rows, given as arrow tables."""
        return replace(self, is_arrow=True)

    def select_columns(self, names: Sequence[str]) -> Rows:
        """The same rows with these columns only."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in names])
        return replace(self, schema=schema, features={name: self.features[name] for name in names})

    def remove_columns(self, names: Sequence[str]) -> Rows:
        """The same rows without these columns."""
        return self.select_columns([name for name in self.schema.names if name not in names])

    def __getitem__(self, place: int | str | Sequence[int]) -> Any:
        """A row, some rows, or a whole column as a list."""
        if isinstance(place, str):
            return self.data.column(place).to_pylist()
        table = self._table([place] if isinstance(place, int) else place)
        if self.is_arrow:
            return table
        return table.to_pylist()[0] if isinstance(place, int) else table.to_pydict()

    def _table(self, places: Sequence[int]) -> Any:
        import pyarrow as pa

        parts = [batch.select(self.schema.names) for batch in self._slices(places)]
        return pa.Table.from_batches(parts, self.schema)

    def _slices(self, places: Sequence[int]) -> Iterator[Any]:
        """Slices of the batches, one for each run of consecutive places in one batch."""
        at = 0
        while at < len(places):
            number = bisect_right(self._ends, places[at])
            batch, start = self.batches[number], places[at]
            first = self._ends[number] - batch.num_rows
            count = 1
            while at + count < len(places) and places[at + count] == start + count < self._ends[number]:
                count += 1
            yield batch.slice(start - first, count)
            at += count
