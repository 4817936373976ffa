"""Values of documents by doc id, in 16 bytes each where they are numbers: a million documents have several such columns."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Hashable, ItemsView, Iterator, Mapping, ValuesView
from typing import Any, TypeVar, cast

from mm_eval.values.types import ReducedDoc

V = TypeVar("V")


class Column(Mapping[int, V]):
    """{doc id: value}, in the order in which they were added. It reads as a dict does; floats stay bit for bit.

    >>> column = Column[float]()
    >>> column.put(3, 1.0)
    >>> column.put(5, 0.5)
    >>> column[5], list(column), 4 in column
    (0.5, [3, 5], False)
    """

    def __init__(self) -> None:
        self._ids: array[int] = array("q")
        self._values: Any = []
        self._last, self._usual = -(2**63), cast(Any, None)
        """The last doc, and the type of values that the array takes, as long as the docs come in order."""
        self._places: dict[int, int] | None = None
        """Where each doc stands, once one came that is not behind all others."""

    def put(self, doc_id: int, value: V) -> None:
        """Adds a value, or replaces that of a doc."""
        if doc_id > self._last and type(value) is self._usual:  # nearly always
            try:
                self._values.append(value)
            except OverflowError:
                self._put(doc_id, value)
                return
            self._ids.append(doc_id)
            self._last = doc_id
            return
        self._put(doc_id, value)

    def _put(self, doc_id: int, value: V) -> None:
        """The same in all other cases."""
        ids = self._ids
        if self._places is None and ids and doc_id <= ids[-1]:
            self._places = {each: place for place, each in enumerate(ids)}
        place = len(ids) if self._places is None else self._places.setdefault(doc_id, len(ids))
        if not ids:
            self._values = array(code) if (code := _code(value)) else []
        elif type(self._values) is not list and _code(value) != self._values.typecode:
            self._values = list(self._values)
        if place < len(ids):
            self._values[place] = value
            return
        self._values.append(value)
        ids.append(doc_id)
        self._usual = None if type(self._values) is list else float if self._values.typecode == "d" else int
        self._last = doc_id if self._places is None else 2**63

    @property
    def ascends(self) -> bool:
        """Whether the docs are in the order of their ids."""
        return self._places is None

    def _place(self, doc_id: Any) -> int:
        """Where a doc stands; -1 if it is not there."""
        if self._places is not None:
            return self._places.get(doc_id, -1)
        place = bisect_left(self._ids, doc_id) if isinstance(doc_id, int) else len(self._ids)
        return place if place < len(self._ids) and self._ids[place] == doc_id else -1

    def __getitem__(self, doc_id: int) -> V:
        if (place := self._place(doc_id)) < 0:
            raise KeyError(doc_id)
        found: V = self._values[place]
        return found

    def __contains__(self, doc_id: object) -> bool:
        return self._place(doc_id) >= 0

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def items(self) -> ItemsView[int, V]:
        return _Items(self)

    def __repr__(self) -> str:
        return repr(dict(self))


def _code(value: object) -> str:
    """The kind of array that holds a value as it is; "" for none."""
    if type(value) is float:
        return "d"
    return "q" if type(value) is int and -(2**63) <= value < 2**63 else ""


class _Values(ValuesView[V]):
    """The values of a column, without a search for each."""

    _mapping: Column[V]

    def __iter__(self) -> Iterator[V]:
        return iter(self._mapping._values)


class _Items(ItemsView[int, V]):
    """The docs and values of a column, without a search for each."""

    _mapping: Column[V]

    def __iter__(self) -> Iterator[tuple[int, V]]:
        return zip(self._mapping._ids, self._mapping._values, strict=True)


class ReducedDocs(Mapping[int, ReducedDoc]):
    """{doc id: {metric: value}}, held as a column for each metric. A doc's mapping is made when it is looked up."""

    def __init__(self) -> None:
        self.columns: dict[str, Column[object]] = {}
        self._docs: Column[int] = Column()

    def put(self, doc_id: int, values: ReducedDoc) -> None:
        """Adds a doc, which was not there."""
        self._docs.put(doc_id, 0)
        for name, value in values.items():
            if (column := self.columns.get(name)) is None:
                column = self.columns[name] = Column()
            column.put(doc_id, value)

    @property
    def ascends(self) -> bool:
        """Whether the docs are in the order of their ids."""
        return self._docs.ascends

    def __getitem__(self, doc_id: int) -> ReducedDoc:
        if doc_id not in self._docs:
            raise KeyError(doc_id)
        return {name: column[doc_id] for name, column in self.columns.items() if doc_id in column}

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._docs

    def __iter__(self) -> Iterator[int]:
        return iter(self._docs)

    def __len__(self) -> int:
        return len(self._docs)


class Clusters(Column[Hashable]):
    """{doc id: which docs it belongs to}. alone: each doc belongs to itself, by its own id."""

    def __init__(self) -> None:
        super().__init__()
        self.alone = True

    def put(self, doc_id: int, value: Hashable) -> None:
        """Adds the cluster of a doc."""
        self.alone = self.alone and type(value) is int and value == doc_id
        super().put(doc_id, value)

    def update(self, found: Mapping[int, Hashable]) -> None:
        """Adds the clusters of some docs."""
        for doc_id, cluster in found.items():
            self.put(doc_id, cluster)
