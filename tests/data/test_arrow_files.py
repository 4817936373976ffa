"""Data files on this machine are read without `datasets`, and exactly as `datasets` reads them but for what is stated here.

Two differences are on purpose. JSON, CSV and TSV files keep what they say (`test_text_files.py`), and narrow floats print the
digits that somebody wrote (`with_short_floats`): the stored rows, and so the fingerprint, are those of `datasets` all the same.
"""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from mm_eval.data import arrow_files, data_files, docs
from mm_eval.data.arrow_files import read_rows
from mm_eval.data.as_dataset import short_floats
from mm_eval.data.dataset import load_docs
from mm_eval.data.docs import Docs, fingerprint_of
from mm_eval.data.rows import Audio, Rows, with_pictures_declared
from mm_eval.data.source import DataSource
from mm_eval.data.splits import readme_header
from mm_eval.values.errors import ConfigError, DataError
from tests.conftest import ROOT
from tests.sets import few

BUNDLED = ROOT / "assets" / "data"


def splits() -> Iterator[tuple[Path, str, str]]:
    for readme in sorted(BUNDLED.rglob("README.md")):
        for config in readme_header(readme)["configs"]:
            for stated in config["data_files"]:
                yield readme.parent, config["config_name"], stated["split"]


def as_of_datasets(path: Path | str, name: str | None, split: str, options: dict[str, Any]) -> Any:
    return with_pictures_declared(datasets.load_dataset(str(path), name, split=split, **options))


def assert_equal(ours: Rows, theirs: Any) -> None:
    assert ours.column_names == theirs.column_names and len(ours) == len(theirs)
    assert fingerprint_of(ours) == fingerprint_of(theirs)
    theirs = short_floats(theirs)
    places = list(range(len(ours)))
    assert ours.with_format("arrow")[places].to_pylist() == theirs.with_format("arrow")[places].to_pylist()
    one, other = Docs(ours), Docs(theirs)
    assert one.media_columns == other.media_columns and one._records == other._records
    assert [repr(doc) for doc in one.texts(places)] == [repr(doc) for doc in other.texts(places)]
    assert one.text(len(ours) - 1) == other.text(len(ours) - 1) and one.stored_media(places) == other.stored_media(
        places
    )


@pytest.mark.parametrize("stated", ["audio", {"audio": {"sampling_rate": 16000}}])
def test_sounds_that_a_card_declares_are_read_without_datasets(tmp_path: Path, stated: object) -> None:
    fleurs = BUNDLED / "google" / "fleurs"
    shutil.copytree(fleurs / "en_us", tmp_path / "en_us")
    header = readme_header(fleurs / "README.md")
    configs = [each for each in header["configs"] if each["config_name"] == "en_us"]
    [info] = [each for each in header["dataset_info"] if each["config_name"] == "en_us"]
    for column in info["features"]:
        column["dtype"] = stated if column["name"] == "audio" else column["dtype"]
    card = {"configs": configs, "dataset_info": [info]}
    (tmp_path / "README.md").write_text(f"---\n{json.dumps(card)}\n---\n")
    ours = read_rows(str(tmp_path), ["en_us"], "test", {})
    assert ours is not None and ours.features["audio"] == Audio()


@pytest.mark.full
def test_all_bundled_data_is_read_without_datasets_and_as_datasets_reads_it() -> None:
    found = list(splits())
    assert len(found) > 90
    for folder, name, split in found:
        ours = read_rows(str(folder), [name], split, {})
        if folder.name == "ChartQAPro":  # its pictures are plain bytes, which `datasets` casts
            assert ours is None
            continue
        assert ours is not None, f"{folder} {name} {split}"
        assert_equal(ours, as_of_datasets(folder, name, split, {}))


@pytest.mark.full
def test_a_run_on_data_on_disk_imports_neither_datasets_nor_pandas(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "task: own\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: question\ndoc_to_target: answer\nmetric_list: [{metric: exact_match}]\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"question": "1?", "answer": "1"}\n{"question": "2?", "answer": "2"}\n')
    command = ["--tasks", "mme,gsm8k,seedbench,own", "--include_path", str(tmp_path), "--sample", "--limit", "2"]
    script = (
        "import sys\nfrom mm_eval.cli import main\n"
        f"code = main({[*command, '--model', 'dummy', '--output_path', str(tmp_path / 'run')]!r})\n"
        "print(code, [name for name in ('datasets', 'pandas') if name in sys.modules])"
    )
    environment = {**os.environ, "HF_HOME": str(tmp_path / "home")}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def picture(colour: int = 0) -> dict[str, Any]:
    file = io.BytesIO()
    Image.new("RGB", (4, 3), (colour, 0, 0)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


FEATURES = datasets.Features(
    {
        "picture": datasets.Image(),
        "pictures": datasets.Sequence(datasets.Image()),
        "label": datasets.ClassLabel(names=["no", "yes"]),
        "nested": {"text": datasets.Value("string"), "numbers": datasets.Sequence(datasets.Value("int8"))},
        "choices": datasets.Sequence({"text": datasets.Value("string"), "label": datasets.Value("string")}),
        "share": datasets.Value("float32"),
    }
)


def declared(folder: Path) -> None:
    rows = [
        {
            "picture": picture(number) if number % 3 else None,
            "pictures": [picture(1)] * (number % 3),
            "label": number % 2,
            "nested": {"text": f"{number}", "numbers": [number, None]} if number else None,
            "choices": {"text": ["a", "b"], "label": ["A", "B"]},
            "share": number / 3,
        }
        for number in range(7)
    ]
    datasets.Dataset.from_list(rows, features=FEATURES).to_parquet(folder / "test.parquet", batch_size=3)


def undeclared(folder: Path) -> None:
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = {"picture": pa.array([picture(1), None, picture(2)], kind), "n": [1, 2, 3]}
    pq.write_table(pa.table(columns), folder / "test.parquet")


def wide_texts(folder: Path) -> None:
    columns = {"text": pa.array(["a", None, "ü"], pa.large_string()), "big": pa.array([2**63, 0, 1], pa.uint64())}
    pq.write_table(pa.table({**columns, "some": [[1.5], [], None], "none": pa.nulls(3)}), folder / "test.parquet")


def single_rows(folder: Path) -> None:
    table = pa.table({"n": list(range(7)), "t": [str(n) for n in range(7)]})
    with pq.ParquetWriter(folder / "test.parquet", table.schema) as writer:
        for start, count in ((0, 1), (1, 1), (2, 3), (5, 1), (6, 1)):
            writer.write_table(table.slice(start, count))


def shards(folder: Path) -> None:
    (folder / "data").mkdir()
    for split, files in (("dev", 1), ("test", 2)):
        for number in range(files):
            table = pa.table({"n": [number] * 2001, "t": [f"{split} {number}"] * 2001})
            pq.write_table(table, folder / "data" / f"{split}-{number:05d}-of-{files:05d}.parquet", row_group_size=1500)


def carded(folder: Path) -> None:
    (folder / "own").mkdir()
    for part in ("b", "a"):
        table = pa.table({"idx": [part, part], "kind": pa.array([0, 1], pa.int64()), "some": [["x"], []]})
        pq.write_table(table, folder / "own" / f"test-{part}.parquet")
    (folder / "README.md").write_text(
        "---\nconfigs:\n- config_name: own\n  default: true\n  data_files:\n  - split: test\n    path: own/test-*\n"
        "- config_name: other\n  data_files: nothing/*\n"
        "dataset_info:\n- config_name: own\n  features:\n  - name: idx\n    dtype: string\n  - name: kind\n"
        "    dtype:\n      class_label:\n        names:\n          '0': few\n          '1': many\n"
        "  - name: some\n    sequence: string\n  splits:\n  - name: test\n    num_bytes: 9\n    num_examples: 4\n"
        "---\n# A card\n"
    )


def lines(folder: Path) -> None:
    rows = [{"id": n, "share": n / 7, "options": ["a", str(n)], "yes": n % 2 == 0, "none": None} for n in range(2500)]
    (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def objects(folder: Path) -> None:
    (folder / "test.jsonl").write_text('{"a": {"b": 1}, "c": [{"d": "x"}]}\n{"a": {"b": 2}, "c": []}\n')


def array(folder: Path) -> None:
    (folder / "test.json").write_text('[{"a": 1}, {"a": 2}]')


def cells(folder: Path) -> None:
    (folder / "test.csv").write_text("id,share,text\n" + "".join(f"{n},{n / 8 + 0.5},t {n}\n" for n in range(2500)))


def tabs(folder: Path) -> None:
    (folder / "test.tsv").write_text('id\ttext\n1\t"a\n""b"""\n2\tc\n')


ODD = [declared, undeclared, wide_texts, single_rows, shards, carded, lines, objects, array, cells, tabs]


@pytest.mark.parametrize("mapped", few([False, True], at=[1]))
@pytest.mark.parametrize("write", few(ODD, at=[1, 3, 4, 5, 7, 8, 10]))
def test_odd_data_is_read_as_datasets_reads_it(
    write: Callable[[Path], None], mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(arrow_files, "IN_MEMORY", 0 if mapped else 2**30)
    folder = tmp_path / "data set"
    folder.mkdir()
    write(folder)
    for _ in range(2):
        ours = read_rows(str(folder), [None], "test", {})
        assert ours is not None
    assert len(list((tmp_path / "cache").rglob("*.arrow"))) == mapped
    assert_equal(ours, as_of_datasets(folder, None, "test", {}))
    twice = read_rows(str(folder), [None, None], "test", {})
    assert twice is not None and len(twice) == 2 * len(ours)
    places = [len(ours) - 1, 0, 1, 2, len(ours), 0, 2 * len(ours) - 1]
    wanted = [twice[place] for place in places]
    assert twice.with_format("arrow")[places].to_pylist() == wanted


def plain_bytes(folder: Path) -> None:
    pq.write_table(pa.table({"picture": [picture(1)["bytes"], picture(2)["bytes"]]}), folder / "test.parquet")


def dictionaries(folder: Path) -> None:
    pq.write_table(pa.table({"a": pa.array(["x", "y"]).dictionary_encode()}), folder / "test.parquet")


def other_columns(folder: Path) -> None:
    (folder / "data").mkdir()
    for number in range(2):
        pq.write_table(
            pa.table({"a": [number], "bc"[number]: [1]}), folder / "data" / f"test-0000{number}-of-00002.parquet"
        )


def short_of_rows(folder: Path) -> None:
    carded(folder)
    (folder / "own" / "test-a.parquet").unlink()


def strange_names(folder: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), folder / "my_test_rows.parquet")


@pytest.mark.parametrize("write", [plain_bytes, dictionaries, other_columns, short_of_rows, strange_names])
def test_what_needs_more_is_left_to_datasets(write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path)
    assert read_rows(str(tmp_path), [None], "test", {}) is None
    assert read_rows(str(tmp_path), [None], "nothing", {}) is None


def test_options_and_splits_are_left_to_datasets_and_a_broken_file_is_named(tmp_path: Path) -> None:
    lines(tmp_path)
    file = str(tmp_path / "test.jsonl")
    assert read_rows("json", [None], "test", {"data_files": {"test": file}}) is not None
    assert read_rows("json", [None], "train", {"data_files": [file]}) is not None
    assert read_rows("json", [None], "test", {"data_files": {"train": file, "test": file}}) is not None
    assert read_rows("json", [None], "test", {"data_files": {"test": file}, "field": "x"}) is None
    assert read_rows("json", ["name"], "test", {"data_files": {"test": file}}) is None
    assert read_rows("parquet", [None], "test", {"data_files": {"test": file}}) is None
    assert read_rows(str(tmp_path), ["name"], "test", {}) is None
    (tmp_path / "test.jsonl").write_text('{"a": 1}\n{"a": \n')
    with pytest.raises(DataError, match=r"test.jsonl:2 is not JSON: Expecting value \(column 6\)"):
        read_rows(str(tmp_path), [None], "test", {})


def test_a_spoilt_cache_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(arrow_files, "IN_MEMORY", 0)
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    lines(tmp_path / "root" / "a" / "b")
    source = DataSource(tmp_path / "root")
    first = load_docs("a/b", None, "test", source, where="here")
    assert isinstance(first.rows, Rows)
    [file] = (tmp_path / "cache" / "mm-eval-rows").glob("*.arrow")
    file.write_bytes(b"ARROW1")
    again = load_docs("a/b", None, "test", source, where="here")
    assert isinstance(again.rows, Rows) and again.fingerprint == first.fingerprint


def test_the_fingerprint_of_a_mapped_file_is_computed_once_for_each_state_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(arrow_files, "IN_MEMORY", 0)
    monkeypatch.setattr(data_files, "SETTLED_NS", -1)
    computed, whole = [], docs._fingerprint
    monkeypatch.setattr(docs, "_fingerprint", lambda rows: computed.append(rows) or whole(rows))
    folder = tmp_path / "root" / "a" / "b"
    folder.mkdir(parents=True)
    lines(folder)

    def fingerprint() -> str:
        return load_docs("a/b", None, "test", DataSource(tmp_path / "root"), where="here").fingerprint

    first = fingerprint()
    assert fingerprint() == first and len(computed) == 1
    [file] = folder.glob("*.jsonl")
    file.write_text(file.read_text() * 2)
    assert fingerprint() != first and len(computed) == 2


def test_process_docs_gets_a_dataset_unless_it_says_that_it_only_reads_columns(tmp_path: Path) -> None:
    from mm_eval.values.types import reads_columns

    (tmp_path / "a" / "b").mkdir(parents=True)
    lines(tmp_path / "a" / "b")
    given: list[Any] = []

    def process(rows: Any) -> Any:
        given.append((isinstance(rows, datasets.Dataset), rows["id"][-1]))
        return rows

    load_docs("a/b", None, "test", DataSource(tmp_path), where="here", process=process)
    load_docs("a/b", None, "test", DataSource(tmp_path), where="here", process=reads_columns(process))
    assert given == [(True, 2499), (False, 2499)]


def test_process_docs_may_return_a_list_of_docs_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    lines(tmp_path / "a" / "b")

    def last_two(rows: Any) -> Any:
        return [{"id": rows[n]["id"], "n": n} for n in (2498, 2499)]

    docs = load_docs("a/b", None, "test", DataSource(tmp_path), where="here", process=last_two)
    assert [doc for _, doc in docs.texts(range(2))] == [{"id": 2498, "n": 2498}, {"id": 2499, "n": 2499}]
    with pytest.raises(
        ConfigError, match="process_docs returned NoneType; expected a data set, or a list of documents"
    ):
        load_docs("a/b", None, "test", DataSource(tmp_path), where="here", process=lambda rows: None)


def test_a_folder_that_datasets_saved_is_read_also_where_the_task_says_load_from_disk(tmp_path: Path) -> None:
    datasets.DatasetDict({"test": datasets.Dataset.from_list([{"q": "a"}, {"q": "b"}])}).save_to_disk(
        tmp_path / "saved"
    )
    saved, source = str(tmp_path / "saved"), DataSource(tmp_path / "root")
    docs = load_docs(saved, None, "test", source, where="here", kwargs={"load_from_disk": True})
    assert [doc for _, doc in docs.texts(range(2))] == [{"q": "a"}, {"q": "b"}]


def test_keys_of_dataset_kwargs_that_change_no_row_are_left_out_and_unknown_ones_named(tmp_path: Path) -> None:
    """groundcocoa of lm-eval streams; a key of another kind of file was a TypeError."""
    lines(tmp_path)
    file = str(tmp_path / "test.jsonl")
    read = partial(
        load_docs, "json", None, "test", DataSource(tmp_path / "root"), where="t.yaml", process=lambda rows: rows
    )
    streamed = read(kwargs={"streaming": True, "data_files": {"test": file}})
    assert len(streamed) == 2500 and isinstance(streamed.rows, datasets.Dataset)
    with pytest.raises(
        ConfigError, match="t.yaml: dataset_kwargs has the key 'column_names', which 'json' does not take"
    ):
        read(kwargs={"column_names": ["a"], "data_files": {"test": file}})
