"""Data that is replaced between two launches is noticed, whatever its name, size and time of modification say."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import datasets
import pytest
from PIL import Image

from mm_eval.config.functions import FunctionRef
from mm_eval.data import data_files
from mm_eval.data.data_files import file_digest
from mm_eval.data.dataset import docs_of, load_docs
from mm_eval.data.docs import Docs, picture_files
from mm_eval.data.places import Places
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.values.errors import DataError
from tests.sets import few

YAML = """task: stale
dataset_path: {path}
dataset_kwargs: {kwargs}
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
generation_kwargs: {{max_gen_toks: 4}}
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def write(path: Path, word: str) -> None:
    """Two rows that hold a word; files of words of equal length have equal sizes."""
    rows = datasets.Dataset.from_dict({"question": ["q1", "q2"], "answer": [word, word]})
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        {".csv": rows.to_csv, ".parquet": rows.to_parquet}[path.suffix](path)


def in_place(path: Path, word: str) -> None:
    write(path, word)


def by_rename(path: Path, word: str) -> None:
    write(path.with_name(f"new{path.suffix}"), word)
    path.with_name(f"new{path.suffix}").rename(path)


def replaced(path: Path, word: str, way: Callable[[Path, str], None]) -> None:
    """Another content with the same time of modification, as `cp -p` and `rsync -t` leave it."""
    about = path.stat()
    way(path, word)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (about.st_mtime_ns, about.st_size)


def answers(docs: Docs) -> list[str]:
    return [doc["answer"] for _, doc in docs.texts([0, 1])]


@pytest.mark.parametrize("way", [in_place, by_rename])
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
@pytest.mark.parametrize("readme", few([False, True], at=(0,)))
def test_a_folder_whose_file_was_replaced_gives_the_new_rows(tmp_path: Path, suffix: str, way, readme: bool) -> None:
    folder = tmp_path / "root" / "org" / "name"
    file = folder / f"test{suffix}"
    write(file, "old")
    if readme:
        (folder / "README.md").write_text(f"---\nconfigs:\n- config_name: default\n  data_files: test{suffix}\n---\n")
    split, source = "train" if readme else "test", DataSource(data_root=tmp_path / "root")
    before = load_docs("org/name", None, split, source, where="t")
    replaced(file, "new", way)
    after = load_docs("org/name", None, split, source, where="t")
    assert answers(before) == ["old"] * 2 and answers(after) == ["new"] * 2
    assert before.fingerprint != after.fingerprint
    replaced(file, "old", way)
    assert load_docs("org/name", None, split, source, where="t").fingerprint == before.fingerprint


@pytest.mark.parametrize("named", ["{folder}/test.jsonl", "{folder}/te*.jsonl", ["{folder}/test.jsonl"]])
@pytest.mark.parametrize("way", [in_place, by_rename])
def test_data_files_that_were_replaced_give_the_new_rows(tmp_path: Path, named, way) -> None:
    file = tmp_path / "test.jsonl"
    write(file, "old")
    files = (
        [each.format(folder=tmp_path) for each in named] if isinstance(named, list) else named.format(folder=tmp_path)
    )
    load = lambda: load_docs(  # noqa: E731
        "json", None, "test", DataSource(), where="t", kwargs={"data_files": {"test": files}, "num_proc": None}
    )
    before = load()
    replaced(file, "new", way)
    assert answers(before) == ["old"] * 2 and answers(load()) == ["new"] * 2


def test_what_a_tasks_function_loads_itself_is_not_stale_either(tmp_path: Path) -> None:
    file, code = tmp_path / "test.jsonl", tmp_path / "task" / "utils.py"
    write(file, "old")
    code.parent.mkdir()
    code.write_text(
        "import datasets\n\n\ndef rows(**_):\n"
        f"    return datasets.load_dataset('json', data_files={{'test': {str(file)!r}}})\n"
    )
    of_file = FunctionRef("utils.rows", code.with_name("t.yaml"), 1).resolve(FOREIGN_CODE)

    def load(load_dataset, **_: object) -> object:
        return load_dataset("json", data_files={"test": str(file)})

    for function in (of_file, load):
        assert answers(docs_of(function, {}, "test", "t")) == ["old"] * 2
    replaced(file, "new", in_place)
    for function in (of_file, load):
        assert answers(docs_of(function, {}, "test", "t")) == ["new"] * 2
    rows = {"test": str(file)}
    other = {"data_files": rows, "split": "test"}
    process = lambda _, load_dataset: load_dataset("json", **other)  # noqa: E731
    assert (
        answers(load_docs("json", None, "test", DataSource(), where="t", kwargs={"data_files": rows}, process=process))
        == ["new"] * 2
    )


def test_an_old_run_is_refused_and_a_new_one_asks_about_the_new_rows(cli, tmp_path: Path) -> None:
    file = tmp_path / "task" / "rows.jsonl"
    write(file, "old")
    yaml = YAML.format(path="json", kwargs="{data_files: {test: rows.jsonl}}")
    (tmp_path / "task" / "stale.yaml").write_text(yaml)
    command = ("--tasks", "stale", "--include_path", tmp_path / "task", "--model", "dummy")
    assert cli(*command).code == 0
    replaced(file, "new", in_place)
    again = cli(*command)
    assert again.code == 2 and "the data differs" in again.err
    scored = cli("score", again.folder)  # the question is the same: a corrected gold
    assert scored.code == 0 and "the data of stale has changed since the run, and none of its" in scored.out
    assert [row["target"] for row in scored.samples("stale")] == ["new", "new"]
    file.write_text(file.read_text().replace('"question": "', '"question": "another '))
    refused = cli("score", again.folder)
    assert refused.code == 2 and "The question of doc 0 is another one" in refused.err
    fresh = cli(*command, "--output_path", tmp_path / "other")
    assert [row["target"] for row in fresh.samples("stale")] == ["new", "new"]


def test_a_touched_copied_or_moved_file_is_the_same_data(tmp_path: Path, own_cache: Path) -> None:
    file = tmp_path / "root" / "org" / "name" / "test.parquet"
    file.parent.mkdir(parents=True)
    datasets.Dataset.from_list([{"question": "q", "answer": "old"}] * 2).to_parquet(file)
    source = DataSource(data_root=tmp_path / "root")
    before = load_docs("org/name", None, "test", source, where="t", process=lambda rows: rows)
    shutil.copy(file, tmp_path / "copy")
    (tmp_path / "copy").rename(file)
    os.utime(file, (1, 1))
    again = load_docs("org/name", None, "test", source, where="t", process=lambda rows: rows)
    assert again.fingerprint == before.fingerprint == load_docs("org/name", None, "test", source, where="t").fingerprint
    assert len(list(own_cache.glob("mm-eval-????????????????"))) == 1, "built once"


def test_a_file_is_read_again_only_when_its_state_has_changed(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("old")
    monkeypatch.setattr(data_files, "SETTLED_NS", -1)
    read: list[object] = []
    whole = data_files.hashlib.file_digest
    monkeypatch.setattr(data_files.hashlib, "file_digest", lambda *given: read.append(given) or whole(*given))
    first = file_digest(file)
    assert file_digest(file) == first and len(read) == 1
    replaced(file, "new", lambda path, word: path.write_text(word) and None)
    assert file_digest(file) != first and len(read) == 2
    for remembered in (tmp_path / "cache" / "mm-eval-digests").iterdir():
        remembered.write_text("{ torn")
    assert file_digest(file) == whole(file.open("rb"), "sha256").hexdigest() and len(read) == 3


def test_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path) -> None:
    """A second change within the clock's step would have the same stamp."""
    file = tmp_path / "a.jsonl"
    file.write_text("old")
    file_digest(file)
    assert not (tmp_path / "cache" / "mm-eval-digests").exists()


def test_a_cache_that_cannot_be_written_costs_no_run(tmp_path: Path, own_cache: Path) -> None:
    (tmp_path / "a").write_text("x")
    os.utime(tmp_path / "a", (1, 1))
    own_cache.write_text("a file where the folder should be")
    assert len(file_digest(tmp_path / "a")) == 64


def test_a_pipe_is_no_data_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "test.jsonl")
    with pytest.raises(DataError, match="Unable to find"):
        load_docs(
            "json", None, "test", DataSource(), where="t", kwargs={"data_files": {"test": str(tmp_path / "test.jsonl")}}
        )


@pytest.mark.parametrize("name", ["img/p001", "a.jfif", "b.PNG", "./img/../img/p001", "img/no suffix.", "{absolute}"])
def test_a_picture_is_watched_under_any_name(tmp_path: Path, name: str) -> None:
    name = name.format(absolute=tmp_path / "img" / "p001")
    path = Path(os.path.normpath(tmp_path / name))
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", (4, 4), "red").save(path, "PNG")
    rows = datasets.Dataset.from_dict({"image": [name, "missing"], "question": [f"What is {name}?", "img"]})
    docs = Docs(rows, places=Places((tmp_path,)))
    before = picture_files(docs, [0, 1], {})
    assert list(before) == [name]
    Image.new("RGB", (4, 4), "blue").save(path, "PNG")
    assert picture_files(docs, [0, 1], before)[name].digest != before[name].digest


def test_names_in_every_kind_of_column_are_found(tmp_path: Path) -> None:
    import pyarrow as pa

    for name in "abcdef":
        (tmp_path / name).write_text(name)
    table = pa.table(
        {
            "texts": pa.array([["a"]], pa.large_list(pa.string())),
            "fixed": pa.array([["b"]], pa.list_(pa.string(), 1)),
            "records": pa.array([[{"x": {"y": "c"}}]]),
            "large": pa.array(["d"], pa.large_string()),
            "stored": pa.array([{"bytes": b"x", "path": "e"}]),
            "long": ["f" * 5000],
        }
    )
    docs = Docs(datasets.Dataset(table), places=Places((tmp_path,)))
    assert sorted(picture_files(docs, [0], {})) == ["a", "b", "c", "d"]


def test_names_are_found_where_a_folder_cannot_be_listed(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "p001").write_text("x")

    def refuse(_: object) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", refuse)
    docs = Docs(datasets.Dataset.from_dict({"image": ["p001"]}), places=Places((tmp_path,)))
    assert list(picture_files(docs, [0], {})) == ["p001"]


EXAMPLES = """task: shots
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/test.jsonl, train: {folder}/train.jsonl}}}}
test_split: test
fewshot_split: train
num_fewshot: 1
doc_to_visual: image
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
generation_kwargs: {{max_gen_toks: 4}}
metric_list: [{{metric: exact_match}}]
{more}
"""
SAMPLES = """fewshot_config: {samples: [{image: shot, question: e, answer: b}]}
"""


@pytest.mark.parametrize("more", ["", SAMPLES])
def test_changed_pictures_of_few_shot_examples_are_noticed(cli, tmp_path: Path, more: str) -> None:
    folder = tmp_path / "task"
    folder.mkdir()
    for split, image in (("test", "asked"), ("train", "shot")):
        Image.new("RGB", (4, 4), "red").save(folder / image, "PNG")
        (folder / f"{split}.jsonl").write_text(json.dumps({"image": image, "question": "q", "answer": split}) + "\n")
    text = EXAMPLES.format(folder=folder, more=more)
    (folder / "shots.yaml").write_text(text.replace("fewshot_split: train\n", "") if more else text)
    command = ("--tasks", "shots", "--include_path", folder, "--model", "dummy")
    first = cli(*command)
    assert first.code == 0, first.err
    Image.new("RGB", (4, 4), "blue").save(folder / "shot", "PNG")
    again = cli(*command)
    assert again.code == 2 and "1 picture file has changed since the requests: shot" in again.err
