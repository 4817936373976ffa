"""Files of the user's own: what is said where a task's file names them wrongly, and kinds of files that are read."""

import gzip
import io
import logging
import tarfile

import datasets
import pytest

from mm_eval.data import shards
from mm_eval.data.dataset import load_docs
from mm_eval.data.source import DataSource
from mm_eval.values.errors import ConfigError, DataError, MMEvalError


def load(path, **kwargs):
    return load_docs(str(path), None, "train", DataSource(offline=True), where="own.yaml:4", kwargs=kwargs)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"question": "a"}\n')
    (tmp_path / "broken.jsonl").write_text('{"question": "a"}\n{"question": \n')
    (tmp_path / "picture.csv").write_bytes(b"\xff\xd8\xff\xe0 no text")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "kwargs", "said"),
    [
        ("rows.jsonl", {}, "is a file. Write dataset_path: json, and dataset_kwargs: {data_files: rows.jsonl}."),
        ("./nowhere", {}, "there is no folder './nowhere'"),
        ("/nowhere/data", {}, "there is no folder '/nowhere/data'"),
        ("json", {}, "no files are named. Write dataset_kwargs: {data_files: FILE}."),
        ("imagefolder", {}, "no files are named. Write dataset_kwargs: {data_dir: FOLDER}."),
        ("jsonl", {"data_files": "rows.jsonl"}, "dataset_path is one of arrow, csv, imagefolder, json"),
        ("json", {"data_files": "none.jsonl"}, "Unable to find"),
        ("json", {"data_files": {"train": ["broken.jsonl"]}}, "Look at broken.jsonl"),
        ("csv", {"data_files": "picture.csv"}, "can't be read as csv"),
    ],
)
def test_what_is_named_wrongly_is_one_sentence(path, kwargs, said, capfd):
    """All of these asked the hub, printed lines of a library, or took whatever files lay in the working directory."""
    with pytest.raises(MMEvalError) as caught:
        load(path, **kwargs)
    assert said in str(caught.value) and "own.yaml:4" in str(caught.value)
    assert "Searched: json" not in str(caught.value)
    assert capfd.readouterr() == ("", ""), "no line of a library beside it"
    assert logging.getLogger("datasets").level != logging.CRITICAL


def test_files_of_the_working_directory_are_not_taken_where_none_are_named(folder):
    (folder / "broken.jsonl").unlink()
    (folder / "picture.csv").unlink()
    with pytest.raises(ConfigError, match="no files are named"):
        load("json")
    assert load("json", data_files="rows.jsonl").text(0)["question"] == "a"


def test_a_file_with_the_name_of_a_kind_of_files_is_not_meant(folder):
    (folder / "json").write_text("notes")
    assert load("json", data_files="rows.jsonl").text(0)["question"] == "a"


@pytest.mark.parametrize("path", ["./nowhere", "broken.jsonl"])
def test_a_mirror_has_what_is_not_at_the_path(path):
    source, own = DataSource(offline=True), {"data_files": "rows.jsonl"}
    with pytest.raises(MMEvalError, match="Searched: .*hub: org/data"):
        load_docs(path, None, "train", source, where="own.yaml:4", kwargs=own, mirrors=[{"path": "org/data"}])


def test_folders_that_datasets_saved_are_read(folder):
    rows = datasets.Dataset.from_list([{"question": f"q{n}"} for n in range(5)])
    rows.save_to_disk(folder / "one", num_shards=2)
    rows.save_to_disk(folder / "many" / "configuration")
    named = datasets.Dataset.from_list([{"question": "named"}], split="test")
    named.save_to_disk(folder / "named")
    datasets.DatasetDict({"hard.v2": rows, "dev": rows.select([1])}).save_to_disk(folder / "dict")

    def read(path, split, name=None):
        for process in (None, lambda rows: rows):
            docs = load_docs(path, name, split, DataSource(offline=True), where="own.yaml:4", process=process)
            found = [doc["question"] for _, doc in docs.texts(range(len(docs)))]
        return found

    assert read("./one", "train") == read("./one", "test") == [f"q{n}" for n in range(5)] == read("./dict", "hard.v2")
    assert read("./dict", "dev") == ["q1"] and read("./dict", "hard.v2[1:3]") == ["q1", "q2"] == read(
        "./one", "test[1:3]"
    )
    assert read("./many", "test", "configuration") == [f"q{n}" for n in range(5)]
    with pytest.raises(ConfigError, match=r'own.yaml:4: .*Unknown split "train". Should be one of'):
        read("./named", "train")
    assert read("./named", "test") == ["named"]


@pytest.mark.parametrize(
    ("file", "package"),
    [("test.lance", "pylance"), ("test.h5", "h5py"), ("test.hdf5", "h5py"), ("test.tsfile", "tsfile")],
)
def test_a_kind_of_files_whose_package_is_missing_names_it(file, package, folder):
    """A traceback before: datasets 5.2.0 imports it when it reads the first file."""
    (folder / "data").mkdir()
    (folder / "data" / file).write_bytes(b"x")
    with pytest.raises(
        ConfigError, match=f"own.yaml:4: the files of './data' need the package '{package}', which is not installed"
    ):
        load("./data")
    with pytest.raises(ConfigError, match="is a file. Write its folder, dataset_path: data"):
        load(f"data/{file}")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.csv.gz", gzip.compress(b"a\n1\n", mtime=0)[:-6]),
        ("a.zip", b"PK"),
        ("a.tar", b"x"),
        ("a.eval", b"PK"),
        ("a.parquet", b"PAR1"),
    ],
)
def test_a_broken_archive_is_one_sentence(file, content, folder):
    (folder / "data").mkdir()
    (folder / "data" / file).write_bytes(content)
    with pytest.raises(DataError, match="own.yaml:4: "):
        load("./data")


def write_shard(path, samples):
    """samples: the content by the ending of each one's files."""
    with tarfile.open(path, "w") as shard:
        for number, files in enumerate(samples):
            for ending, content in files.items():
                member = tarfile.TarInfo(f"{number:04}.{ending}")
                member.size = len(content)
                shard.addfile(member, io.BytesIO(content))


def test_shards_of_webdataset_are_read(folder):
    write_shard(folder / "shard-000.tar", [{"json": b'{"question": "q%d"}' % n, "txt": b"Yes"} for n in range(2)])
    docs = load("webdataset", data_files="shard-*.tar")
    assert [(doc["json"]["question"], doc["txt"]) for doc in map(docs.text, range(2))] == [("q0", "Yes"), ("q1", "Yes")]


@pytest.mark.parametrize(
    ("usual", "last", "said"),
    [
        ({"txt": b"Yes"}, {"txt": b"Yes", "second.txt": b"No"}, "has a file '.second.txt'"),
        ({"json": b'{"q": "x"}'}, {"json": b'{"q": "x", "hint": "y"}'}, "the JSON of the sample '0005'"),
        ({"json": b'{"q": "x"}'}, {"json": b'{"q": 5}'}, "the JSON of the sample '0005'"),
        ({"json": b'{"q": 5}'}, {"json": b'{"q": "007"}'}, "the JSON of the sample '0005'"),
        (
            {"json.gz": gzip.compress(b'{"q": 5}')},
            {"json.gz": gzip.compress(b'{"q": "007"}')},
            "the JSON of the sample '0005'",
        ),
    ],
    ids=["a file", "a key", "a number", "a text", "a compressed text"],
)
def test_a_late_sample_that_datasets_would_not_read_whole_is_an_error(folder, usual, last, said):
    """`datasets` 5.2.0 leaves out what the first five samples don't have, and converts to their types."""
    write_shard(folder / "x.tar", [*[usual] * 5, last])
    with pytest.raises(DataError) as error:
        load("webdataset", data_files="x.tar")
    assert "x.tar" in str(error.value) and said in str(error.value)
    with pytest.raises(DataError, match="x.tar"):  # and again, now that `datasets` has the rows in its cache
        load("webdataset", data_files="x.tar")


def test_early_samples_of_several_types_are_an_error_with_a_way_out(folder):
    """`datasets` joins the first five and fails in the words of Arrow."""
    write_shard(folder / "x.tar", [{"json": b'{"q": 4}'}, {"json": b'{"q": 2.5}'}])
    with pytest.raises(
        DataError, match=r"x\.tar: the JSON of the first five samples has keys of several types\..*JSON lines"
    ):
        load("webdataset", data_files="x.tar")


def test_shards_are_checked_once_for_each_content(folder, monkeypatch):
    """All headers and all JSON were read at each start: 15 CPU seconds for 100,000 samples."""
    checked = []
    monkeypatch.setattr(shards, "_check", lambda rows: checked.append(len(rows)))
    for last in (b'{"q": 6}', b'{"q": 77}'):
        write_shard(folder / "x.tar", [*[{"json": b'{"q": 5}'}] * 5, {"json": last}])
        load("webdataset", data_files="x.tar")
        load("webdataset", data_files="x.tar")
    assert checked == [6, 6]


def test_a_part_of_the_rows_that_was_checked_vouches_for_no_other(folder):
    write_shard(folder / "x.tar", [*[{"json": b'{"q": 5}'}] * 5, {"json": b'{"q": "007"}'}])
    source, kwargs = DataSource(offline=True), {"data_files": "x.tar"}
    assert len(load_docs("webdataset", None, "train[:5]", source, where="own.yaml:4", kwargs=kwargs)) == 5
    with pytest.raises(DataError, match="'0005'"):
        load("webdataset", data_files="x.tar")


def test_not_a_number_in_a_sample_is_equal_to_itself(folder):
    write_shard(folder / "x.tar", [{"json": b'{"q": NaN}'}] * 6)
    assert str(load("webdataset", data_files="x.tar").text(5)["json"]["q"]) == "nan"


def test_samples_of_a_shard_may_lack_a_file_or_a_value(folder):
    usual = {"txt": b"Yes", "json": b'{"q": "x", "n": [1, 2.5], "o": {"a": true}}'}
    write_shard(folder / "x.tar", [*[usual] * 5, {"json": b'{"q": "y", "n": null}'}])
    docs = load("webdataset", data_files="x.tar")
    assert docs.text(5)["txt"] is None and docs.text(5)["json"]["q"] == "y"
