"""Columns of values by doc id read as dicts do, whatever they hold and in whatever order it comes."""

import math
import random
from typing import Any

import pytest

from mm_eval.values.columns import Clusters, Column, ReducedDocs
from tests.sets import each_of

VALUES: list[Any] = [1.0, -0.0, 0.5, 1, True, 2**70, "text", None, (1, 2), float("inf")]


@each_of("ascending", [True, False])
@each_of("values", [VALUES, [0.0, 1.0, -0.0], [3, 4, -5], [1, 1.0], [1.0, 1], [2**70, 1.0], [True, 1], [1, 2**70]])
def test_a_column_reads_as_a_dict(values: list[Any], ascending: bool) -> None:
    ids = list(range(0, 200, 3))
    if not ascending:
        random.Random(1).shuffle(ids)
        ids += ids[:9]  # a value that is replaced
    column, known = Column[Any](), dict[int, Any]()
    for place, doc_id in enumerate(ids):
        column.put(doc_id, values[place % len(values)])
        known[doc_id] = values[place % len(values)]
    assert list(map(repr, column.values())) == list(map(repr, known.values()))  # -0.0, True and 1 stay what they are
    assert repr(column) == repr(known) and column == known and list(column.items()) == list(known.items())
    assert all(doc_id in column and repr(column[doc_id]) == repr(known[doc_id]) for doc_id in known)
    assert 1 not in column and "3" not in list[object](column) and column.get("3") is None  # type: ignore[call-overload]
    assert 2 not in column and column.get(1) is None and len(column) == len(known)
    assert column.ascends is ascending
    with pytest.raises(KeyError):
        column[-4]


def test_a_float_that_is_no_number_stays_one() -> None:
    column = Column[float]()
    column.put(0, math.nan)
    assert math.isnan(column[0]) and math.isnan(next(iter(column.values())))


def test_reduced_docs_read_as_dicts_of_dicts() -> None:
    docs, known = ReducedDocs(), dict[int, dict[str, Any]]()
    rows: list[tuple[int, dict[str, Any]]] = [
        (4, {"acc": 1.0}),
        (9, {}),
        (7, {"f1": (1, 2), "acc": 0.0}),
        (8, {"f1": "x"}),
    ]
    for doc_id, values in rows:
        docs.put(doc_id, values)
        known[doc_id] = values
    assert docs == known and list(docs) == list(known) and 9 in docs and 5 not in docs and len(docs) == 4
    assert not docs.ascends and list(docs.columns) == ["acc", "f1"]
    with pytest.raises(KeyError):
        docs[5]


def test_docs_stand_alone_until_one_does_not() -> None:
    clusters = Clusters()
    clusters.update({0: 0, 1: 1})
    assert clusters.alone and dict(clusters) == {0: 0, 1: 1}
    clusters.update({2: 2, 3: 1, 4: "picture"})
    assert not clusters.alone and dict(clusters) == {0: 0, 1: 1, 2: 2, 3: 1, 4: "picture"}
    assert clusters.get(9, "none") == "none" and len(clusters) == 5
