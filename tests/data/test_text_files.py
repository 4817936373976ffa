"""JSON, CSV and TSV files keep what they say, wherever they lie and whatever task code does with the rows.

datasets 5.2.0 (pyarrow 26.0.1, pandas 3.1.1) reads texts that look like dates as timestamps, 1 beside 2.5 as 1.0, 007 as 7, and
the cells None and NA as null; its `Json` makes the text "5" of a mixed column the number 5 in `map`.
"""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as Picture

from mm_eval.data import arrow_files, text_files
from mm_eval.data.as_dataset import load_from_hub
from mm_eval.data.dataset import docs_of, load_docs, load_further
from mm_eval.data.docs import Docs, picture_files
from mm_eval.data.source import DataSource
from mm_eval.values.errors import ConfigError, MMEvalError
from tests.sets import few

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


@pytest.mark.parametrize("write", few(WRITERS, at=[1]))
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


@pytest.mark.parametrize("write", few([write_json_lines, write_csv], at=[1]))
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


MIXED: list[dict[str, Any]] = [{"g": 10, "t": "007"}, {"g": 9.5, "t": "None"}, {"g": 9, "t": "1.10"}]


@pytest.mark.parametrize(
    ("process", "rows"),
    [
        (
            lambda rows: rows.map(lambda row: {"c": [row["g"], row["t"]], "k": {"g": row["g"]}}),
            [{**row, "c": [row["g"], row["t"]], "k": {"g": row["g"]}} for row in MIXED],
        ),
        (
            lambda rows: rows.map(lambda row: {"gold": row["g"]}, remove_columns=["g", "t"]),
            [{"gold": row["g"]} for row in MIXED],
        ),
        (
            lambda rows: rows.map(lambda cells, n: {"t": n if n else cells}, input_columns="g", with_indices=True),
            [{"g": 10, "t": 10}, {"g": 9.5, "t": 1}, {"g": 9, "t": 2}],
        ),
        (
            lambda rows: rows.map(
                lambda part: {"c": [part["g"][0], part["t"][0]]}, batched=True, batch_size=2, remove_columns=["g", "t"]
            ),
            [{"c": 10}, {"c": "007"}, {"c": 9}, {"c": "1.10"}],
        ),
        (lambda rows: rows.sort("g"), [MIXED[2], MIXED[1], MIXED[0]]),
        (lambda rows: rows.sort(["g"], reverse=True), MIXED),
        (
            lambda rows: rows.add_column("n", [1, 2, 3]).map(lambda row: {"n": row["g"]}),
            [{**r, "n": r["g"]} for r in MIXED],
        ),
        (lambda rows: rows.to_list(), MIXED),
        (lambda rows: rows.to_pandas().to_dict("records"), MIXED),
        (
            lambda rows: [
                dict(zip(rows.to_dict(), row, strict=True)) for row in zip(*rows.to_dict().values(), strict=True)
            ],
            MIXED,
        ),
        (lambda rows: [{"g": it} for it in rows.unique("g")], [{"g": row["g"]} for row in MIXED]),
        (
            lambda rows: rows.cast_column("g", datasets.Value("string")),
            [{**row, "g": str(row["g"])} for row in MIXED],
        ),
        (
            lambda rows: rows.cast(datasets.Features({"g": datasets.Value("float64"), "t": datasets.Value("string")})),
            [{**row, "g": float(row["g"])} for row in MIXED],
        ),
        (lambda rows: rows.map(lambda row: None), MIXED),
    ],
)
def test_task_code_gets_and_keeps_the_values(
    process: Callable[[Any], Any], rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    """`datasets` makes options that are collected from columns, 10 and "007", the numbers 10 and 7, and 10 beside 9.5 10.0."""
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in MIXED))
    assert repr(load(tmp_path / "t.jsonl", process)) == repr(rows)


def test_options_from_columns_of_a_csv_file_keep_their_types(tmp_path: Path) -> None:
    """No column of the file holds values of several types; the list that task code makes of them does."""
    (tmp_path / "t.csv").write_text("a,b,c\n1,007,1.5\n2,1.10,2.5\n")

    def options(rows: Any) -> Any:
        return rows.map(lambda row: {"options": [row["a"], row["b"], row["c"]]}, num_proc=2)

    assert [row["options"] for row in load(tmp_path / "t.csv", options)] == [[1, "007", 1.5], [2, "1.10", 2.5]]


def test_labels_and_pictures_stay_what_they_are_in_map(tmp_path: Path) -> None:
    Picture.new("RGB", (4, 3), "red").save(tmp_path / "a.png")
    line = {"i": str(tmp_path / "a.png"), "k": "yes", "n": "2021-05-01"}
    (tmp_path / "t.jsonl").write_text(json.dumps(line) + "\n" + json.dumps({**line, "k": "no"}) + "\n")
    features = {"i": {"_type": "Image"}, "k": {"_type": "ClassLabel", "names": ["no", "yes"]}, "n": "string"}
    docs = load_docs(
        "json",
        None,
        "train",
        DataSource(),
        where="here",
        kwargs={"data_files": str(tmp_path / "t.jsonl"), "features": features},
        process=lambda rows: rows.map(lambda row: {**row, "size": row["i"].size, "any": row["k"] or "none"}),
    )
    assert isinstance(docs.rows.features["k"], datasets.ClassLabel)
    assert [docs.text(n) for n in (0, 1)] == [
        {"k": 1, "n": "2021-05-01", "size": [4, 3], "any": 1},
        {"k": 0, "n": "2021-05-01", "size": [4, 3], "any": "none"},
    ]
    assert docs.full(1)["i"].getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_metadata_of_a_folder_of_pictures_is_kept_as_written(kind: str, tmp_path: Path) -> None:
    """`datasets` gives datetime(2021, 5, 1) or 7 and null."""
    rows: list[dict[str, Any]] = (
        [{"gold": "007", "n": "1.10", "na": "None"}, {"gold": "8", "n": "2", "na": None}]
        if kind == "csv"
        else [{"gold": "2021-05-01", "n": 4, "na": "5"}, {"gold": "2021-05-02", "n": 2.5, "na": 5}]
    )
    folder = tmp_path / "org" / "name"
    for place, (split, row) in enumerate(zip(("train", "test"), rows, strict=True)):
        (folder / split).mkdir(parents=True)
        Picture.new("RGB", (4 + place, 3)).save(folder / split / "a.png")
        cells = ["" if value is None else str(value) for value in row.values()]
        text = (
            "file_name,gold,n,na\na.png," + ",".join(cells)
            if kind == "csv"
            else json.dumps({"file_name": "a.png", **row})
        )
        (folder / split / f"metadata.{kind}").write_text(text + "\n")
    for place, split in enumerate(("train", "test")):
        for path, kwargs in (("org/name", {}), ("imagefolder", {"data_dir": str(folder)})):
            for process in (None, mapped):
                docs = load_docs(path, None, split, DataSource(tmp_path), where="here", kwargs=kwargs, process=process)
                assert repr(rows_of_text(docs)) == repr([rows[place]])
                assert docs.full(0)["image"].size == (4 + place, 3)
    features = {"image": {"_type": "Image"}, "gold": "string", "n": "float64", "na": "string"}
    kwargs = {"data_dir": str(folder), "features": features}
    docs = load_docs("imagefolder", None, "train", DataSource(), where="here", kwargs=kwargs)
    assert docs.text(0) == {**rows[0], "n": float(rows[0]["n"])}


def test_metadata_in_a_zip_of_pictures_is_kept_as_written(tmp_path: Path) -> None:
    Picture.new("RGB", (4, 3)).save(tmp_path / "a.png")
    (tmp_path / "org" / "name").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "org" / "name" / "train.zip", "w") as archive:
        archive.write(tmp_path / "a.png", "x/a.png")
        archive.writestr("x/metadata.csv", "file_name,gold,na\na.png,007,None\n")
    docs = load_docs("org/name", None, "train", DataSource(tmp_path), where="here")
    assert rows_of_text(docs) == [{"gold": "007", "na": "None"}]


def rows_of_text(docs: Docs) -> list[dict[str, Any]]:
    return [docs.text(n) for n in range(len(docs))]


def test_columns_as_in_logs_of_agents_and_packed_tables_are_read_by_the_same_rule(tmp_path: Path) -> None:
    row = {"id": "1", "source": "x", "model": "m", "system_prompt": "s", "messages": "2021-05-01", "gold": 4}
    (tmp_path / "t.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({**row, "gold": 2.5}) + "\n")
    assert repr(load(tmp_path / "t.jsonl")) == repr([row, {**row, "gold": 2.5}])
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.tsv", "gold\tn\n007\t1\n")
    docs = load_docs("csv", None, "train", DataSource(), where="here", kwargs={"data_files": str(tmp_path / "t.zip")})
    assert rows_of(docs) == [{"gold": "007", "n": 1}]


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
        ("t.jsonl", b'{"a": 1, "a": 2}\n', r"t.jsonl:1 can't be read: the key 'a' is twice in an object"),
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
    with pytest.raises(ConfigError, match="no documents"):
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
