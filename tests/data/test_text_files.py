"""JSON, CSV and TSV files keep what they say, wherever they lie and whatever task code does with the rows.

datasets 5.2.0 (pyarrow 26.0.1, pandas 3.1.1) reads texts that look like dates as timestamps, 1 beside 2.5 as 1.0, 007 as 7, and
the cells None and NA as null; its `Json` makes the text "5" of a mixed column the number 5 in `map`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mm_eval.data import arrow_files, text_files
from mm_eval.data.as_dataset import load_from_hub
from mm_eval.data.dataset import docs_of, load_docs, load_further
from mm_eval.data.docs import Docs, picture_files
from mm_eval.data.source import DataSource
from mm_eval.values.errors import ConfigError, MMEvalError

SMALLEST, NULL = 0.1234567890123456, None
JSON_ROWS: list[dict[str, Any]] = [
    {
        "date": "2021-05-01",
        "instant": "1999-12-31T23:59:59Z",
        "number": 4,
        "mixed": "5",
        "options": ["2021-05-01", "null"],
        "keyed": {"A": "x", "B": "y"},
        "big": 12345678901234567890,
        "flag": True,
        "nested": {"when": "2020-01-01", "how many": 1, "parts": [{"n": 1}]},
        "none": NULL,
    },
    {
        "date": "1999-12-31",
        "instant": "2021-03-04T10:00:00Z",
        "number": 2.5,
        "mixed": 5,
        "options": ["1999-12-31", 7],
        "keyed": {"A": "x", "B": "y", "C": "z"},
        "big": 1,
        "flag": 1,
        "nested": {"when": "2020-01-02", "how many": SMALLEST, "parts": [{"n": 2.5}, {"n": 3}]},
        "none": "NA",
    },
    {
        "date": "2021-05-02",
        "instant": "2021-03-04T10:00:01Z",
        "number": 5,
        "mixed": ["true", None],
        "options": [],
        "keyed": {"B": "y", "A": "x"},
        "big": -1,
        "flag": False,
        "nested": None,
        "none": "",
    },
]
CELLS = (
    "code,share,count,name,none,mixed,when,yes\r\n"
    '007,0.5,3,None,,4,2021-05-01,True\r\n010,2.5,-1,NA,,2.5,2021-05-02,False\r\n1.10,,,"a\r\n""b""",,1e5,2021-05-03,True\r\n'
)
CSV_ROWS: list[dict[str, Any]] = [
    {
        "code": "007",
        "share": 0.5,
        "count": 3,
        "name": "None",
        "none": None,
        "mixed": "4",
        "when": "2021-05-01",
        "yes": "True",
    },
    {
        "code": "010",
        "share": 2.5,
        "count": -1,
        "name": "NA",
        "none": None,
        "mixed": "2.5",
        "when": "2021-05-02",
        "yes": "False",
    },
    {
        "code": "1.10",
        "share": None,
        "count": None,
        "name": 'a\r\n"b"',
        "none": None,
        "mixed": "1e5",
        "when": "2021-05-03",
        "yes": "True",
    },
]


def write_json_lines(path: Path) -> list[dict[str, Any]]:
    path.with_suffix(".jsonl").write_text("".join(json.dumps(row) + "\n" for row in JSON_ROWS))
    return JSON_ROWS


def write_json(path: Path) -> list[dict[str, Any]]:
    path.with_suffix(".json").write_text("\ufeff" + json.dumps(JSON_ROWS, indent=1))
    return JSON_ROWS


def write_csv(path: Path) -> list[dict[str, Any]]:
    path.with_suffix(".csv").write_bytes(b"\xef\xbb\xbf" + CELLS.encode())
    return CSV_ROWS


def write_tsv(path: Path) -> list[dict[str, Any]]:
    path.with_suffix(".tsv").write_bytes(CELLS.replace(",", "\t").encode())
    return CSV_ROWS


def rows_of(docs: Docs) -> list[dict[str, Any]]:
    """The docs by each of the ways in which they are read."""
    texts = [doc for _, doc in docs.texts(range(len(docs)))]
    assert (
        repr(texts) == repr([docs.full(n) for n in range(len(docs))]) == repr([docs.text(n) for n in range(len(docs))])
    )
    return texts


def in_list(rows: Any) -> Any:
    return [dict(row) for row in rows]


def mapped(rows: Any) -> Any:
    return rows.map(lambda row: {"more": 1}).remove_columns("more")


def in_batches(rows: Any) -> Any:
    return rows.filter(lambda row: True).map(lambda batch: dict(batch), batched=True, batch_size=2)


def in_order(rows: Any) -> Any:
    return rows.select([1, 0, 2]).map(lambda row: dict(row)).select([1, 0, 2])


WAYS: list[Callable[[Any], Any] | None] = [None, lambda rows: rows, in_list, mapped, in_batches, in_order]
WRITERS = [
    write_json_lines,
    write_csv,
    pytest.param(write_json, marks=pytest.mark.full),
    pytest.param(write_tsv, marks=pytest.mark.full),
]


@pytest.mark.parametrize("write", WRITERS)
def test_a_file_keeps_what_it_says_wherever_it_lies(write: Callable[[Path], Any], tmp_path: Path) -> None:
    folder = tmp_path / "root" / "org" / "name"
    folder.mkdir(parents=True)
    rows = write(folder / "test")
    [file] = folder.iterdir()
    kind = "csv" if file.suffix in (".csv", ".tsv") else "json"
    source = DataSource(tmp_path / "root")
    for process in WAYS:
        for path, kwargs in (
            ("org/name", {}),
            (str(folder), {}),
            (kind, {"data_files": {"test": str(file)}}),
            (kind, {"data_files": {"test": str(folder / "t?st.*")}}),  # a pattern that `datasets` resolves
        ):
            docs = load_docs(path, None, "test", source, where="here", kwargs=kwargs, process=process)
            assert repr(rows_of(docs)) == repr(rows), (path, kwargs, process)
    further = load_further(source, "org/name", split="test")
    assert repr(list(further)) == repr(rows)
    assert repr(list(load_further(source, "org/name")["test"])) == repr(rows)
    assert repr(list(load_further(source, "org/name", split="test[1:]"))) == repr(rows[1:])
    own = docs_of(lambda **_: {"test": rows}, {}, "test", "here")
    assert repr(rows_of(own)) == repr(rows)


@pytest.mark.parametrize("write", [write_json_lines, write_csv])
def test_large_files_are_mapped_and_read_in_parts_that_decide_together(
    write: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(arrow_files, "IN_MEMORY", 0)
    monkeypatch.setattr(arrow_files, "CHUNK", 0)
    monkeypatch.setattr(text_files, "CHUNK", 1)
    monkeypatch.setattr(text_files, "CSV_ROWS", 1)
    folder = tmp_path / "root" / "org" / "name"
    folder.mkdir(parents=True)
    rows = write(folder / "test")
    for process in WAYS:
        docs = load_docs("org/name", None, "test", DataSource(tmp_path / "root"), where="here", process=process)
        assert repr(rows_of(docs)) == repr(rows)
    assert list((tmp_path / "cache").rglob("mm-eval-rows/*.arrow"))


def test_the_files_of_the_hub_are_read_by_the_same_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With network `datasets` names the files. Without, they are those of the hub's cache."""
    folder = tmp_path / "snapshot"
    folder.mkdir()
    write_csv(folder / "test")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    assert repr(list(load_from_hub(str(folder), None, "test"))) == repr(CSV_ROWS)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *args, **kwargs: str(folder))
    assert repr(list(load_from_hub(str(folder), None, "test", revision="main"))) == repr(CSV_ROWS)


def load(path: Path, process: Callable[[Any], Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
    kind = "csv" if path.suffix in (".csv", ".tsv") else "json"
    kwargs = {"data_files": str(path), **kwargs}
    return rows_of(load_docs(kind, None, "train", DataSource(), where="t.yaml:3", kwargs=kwargs, process=process))


def test_declared_types_are_used(tmp_path: Path) -> None:
    """Texts beside them are not changed: `datasets` parses 2021-05-01 as a date and casts that to a text."""
    lines, cells = tmp_path / "t.jsonl", tmp_path / "t.csv"
    lines.write_text('{"a": "2021-05-01", "n": 4, "l": ["1", "2"]}\n{"a": "2021-05-02", "n": 2.5, "l": []}\n')
    cells.write_text("a,n\n07,1\n,2\n")
    features = {"a": "string", "n": "string", "l": ["int32"]}
    for process in (None, mapped):
        wanted = [{"a": "2021-05-01", "n": "4", "l": [1, 2]}, {"a": "2021-05-02", "n": "2.5", "l": []}]
        assert load(lines, process, features=features) == wanted
        stamps = load(lines, process, features={"a": "timestamp[s]", "n": "float32", "l": ["string"]})
        assert [str(row["a"]) for row in stamps] == ["2021-05-01 00:00:00", "2021-05-02 00:00:00"]
        assert load(cells, process, features={"a": "string", "n": "float64"}) == [
            {"a": "07", "n": 1.0},
            {"a": None, "n": 2.0},
        ]
    with pytest.raises(
        MMEvalError, match=r"t.yaml:3: .*t.jsonl: the column 'a' can't be read as int64: .*'2021-05-01'"
    ):
        load(lines, features={"a": "int64", "n": "string", "l": ["string"]})


def test_a_card_declares_types(tmp_path: Path) -> None:
    folder = tmp_path / "org" / "name"
    folder.mkdir(parents=True)
    (folder / "test.csv").write_text("code,kind\n007,few\n10,many\n")
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: test\n    path: test.csv\ndataset_info:\n  features:\n"
        "  - name: code\n    dtype: int64\n  - name: kind\n    dtype:\n      class_label:\n        names:\n          '0': few\n"
        "          '1': many\n---\n"
    )
    for process in WAYS[:4]:
        docs = load_docs("org/name", None, "test", DataSource(tmp_path), where="here", process=process)
        assert rows_of(docs) == [{"code": 7, "kind": 0}, {"code": 10, "kind": 1}]


def test_options_of_the_reader_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("# made by hand\n01;NA;-\n")
    assert load(file, sep=";", column_names=["x", "y", "z"], skiprows=1, na_values=["-"]) == [
        {"x": "01", "y": "NA", "z": None}
    ]
    (tmp_path / "t.json").write_text(
        '{"version": 1, "data": [{"d": "2021-05-01", "n": 1}, {"d": "2021-05-02", "n": 2.5}]}'
    )
    assert load(tmp_path / "t.json", field="data") == [{"d": "2021-05-01", "n": 1}, {"d": "2021-05-02", "n": 2.5}]
    (tmp_path / "l.jsonl").write_bytes('{"a": "é"}\n'.encode("latin-1"))
    assert load(tmp_path / "l.jsonl", encoding="latin-1") == [{"a": "é"}]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a": 1}\n\n{"a": 2, "b": "x"}\r\n', [{"a": 1, "b": None}, {"a": 2, "b": "x"}]),
        ('{\n "a": 1\n}\n{\n "a": "x"\n}', [{"a": 1}, {"a": "x"}]),
        ('["a", "b"]', [{"text": "a"}, {"text": "b"}]),
        ('{"a": "x\u2028y"}\n{"a": {}}', [{"a": "x\u2028y"}, {"a": {}}]),
    ],
)
def test_forms_of_json(text: str, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    assert load(tmp_path / "t.json") == rows == load(tmp_path / "t.json", mapped)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.jsonl", b'{"a": 1}\n{"a": \n', r"t.jsonl:2 is not JSON: Expecting value \(column 6\)"),
        ("t.jsonl", b'{"a": 1}\n5\n', r"t.jsonl:2 holds '5'; expected an object"),
        ("t.jsonl", b'{"a": 1, "a": 2}\n', r"t.jsonl:1 can't be read: the key 'a' stands twice in an object"),
        ("t.jsonl", b'{"a": "\\ud800"}\n', r"t.jsonl: there is half a surrogate pair"),
        (
            "t.jsonl",
            b'{"a": "x"}\n{"a": "\xe9"}\n',
            r"t.jsonl:2 can't be read as json: it is not UTF-8 text. Save",
        ),
        ("t.csv", b"a\nx\n\xe9\n", r"t.csv:3 can't be read as csv: it is not UTF-8 text"),
        ("t.csv", b"a,b\nx,1,2\n", r"t.csv: the rows have more cells than the header names"),
        ("t.csv", b"a,b\nx,1\ny,2,3\n", r"t.csv can't be read as csv: Expected 2 fields in line 3, saw 3"),
    ],
)
def test_what_can_not_be_read_is_one_sentence_with_its_place(
    name: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    for process in (None, mapped):
        with pytest.raises(MMEvalError, match=rf"^t.yaml:3: .*{said}"):
            load(tmp_path / name, process)


def test_a_split_has_the_columns_of_the_first_one(tmp_path: Path) -> None:
    """As in `datasets`: what these rows lack is null."""
    (tmp_path / "train.jsonl").write_text('{"q": "a", "hint": "h"}\n')
    (tmp_path / "test.jsonl").write_text('{"q": "2021-01-01"}\n')
    files = {"train": str(tmp_path / "train.jsonl"), "test": str(tmp_path / "test.jsonl")}
    docs = load_docs("json", None, "test", DataSource(), where="here", kwargs={"data_files": files})
    assert rows_of(docs) == [{"q": "2021-01-01", "hint": None}]
    with pytest.raises(ConfigError, match="no docs"):
        (tmp_path / "test.jsonl").write_text("")
        load_docs("json", None, "test", DataSource(), where="here", kwargs={"data_files": files})


def test_a_picture_that_a_mixed_column_names_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "org" / "name"
    folder.mkdir(parents=True)
    (folder / "a.png").write_bytes(b"a")
    (folder / "test.jsonl").write_text('{"shown": ["a.png", 1]}\n{"shown": "none"}\n')
    docs = load_docs("org/name", None, "test", DataSource(tmp_path), where="here")
    assert list(picture_files(docs, [0, 1], {})) == ["a.png"]


def test_narrow_floats_print_the_shortest_text_that_gives_the_same_float(tmp_path: Path) -> None:
    """0.1 as float32 is the double 0.10000000149011612."""
    numbers = [0.1, 1 / 3, 1e-5, 16777216.0, 1e20, None]
    table = pa.table(
        {
            "single": pa.array(numbers, pa.float32()),
            "half": pa.array(np.array([0.1, 1 / 3, 2.5, 65504, 0.25, 1], np.float16)),
            "list": pa.array([[0.1, None], [], None, [2.5], [1e-5], [0.7]], pa.list_(pa.float32())),
            "record": pa.array(
                [{"x": 0.1, "t": "a"}, None, *[{"x": 0.3, "t": None}] * 4],
                pa.struct([("x", pa.float32()), ("t", pa.string())]),
            ),
            "double": [0.1, 0.10000000149011612, 1.0, 2.0, 3.0, 4.0],
        }
    )
    (tmp_path / "org" / "name").mkdir(parents=True)
    pq.write_table(table, tmp_path / "org" / "name" / "test.parquet")
    for process in WAYS[:-1]:
        docs = load_docs("org/name", None, "test", DataSource(tmp_path), where="here", process=process)
        rows = rows_of(docs)
        assert [row["single"] for row in rows] == [0.1, 0.33333334, 1e-05, 16777216.0, 1e20, None]
        assert [row["half"] for row in rows] == [0.1, 0.3333, 2.5, 65500.0, 0.25, 1.0]
        assert [row["list"] for row in rows] == [[0.1, None], [], None, [2.5], [1e-05], [0.7]]
        assert [row["record"] for row in rows][:3] == [{"x": 0.1, "t": "a"}, None, {"x": 0.3, "t": None}]
        assert [row["double"] for row in rows] == [0.1, 0.10000000149011612, 1.0, 2.0, 3.0, 4.0]
