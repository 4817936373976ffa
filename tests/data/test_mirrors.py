"""The same rows under several ids, and several configurations as one data set."""

from pathlib import Path
from typing import Any

import datasets
import pytest

from mm_eval.data.dataset import load_docs
from mm_eval.data.source import DataSource
from mm_eval.values.errors import ConfigError, DataError, NotHereError

MIRRORS = [{"path": "second/data", "name": "All"}, {"path": "third/data", "name": ["x", "y"], "revision": "abc"}]


def put(root: Path, name: str, configs: dict[str, list[dict[str, Any]]]) -> None:
    """A data set on disk with some configurations of one split, test."""
    folder, lines = root / name, ""
    folder.mkdir(parents=True)
    for config, rows in configs.items():
        datasets.Dataset.from_list(rows).to_parquet(folder / f"{config}.parquet")
        lines += f"- config_name: {config}\n  data_files: [{{split: test, path: {config}.parquet}}]\n"
    (folder / "README.md").write_text(f"---\nconfigs:\n{lines}---\n")


def questions(root: Path, name: Any = None, mirrors: Any = MIRRORS, path: str = "first/data") -> list[str]:
    docs = load_docs(path, name, "test", DataSource(root), where="t.yaml:3", mirrors=mirrors)
    return [docs.text(doc_id)["q"] for doc_id in range(len(docs))]


def test_the_configurations_of_a_list_follow_one_another(tmp_path: Path) -> None:
    put(tmp_path, "first/data", {"b": [{"q": "1"}, {"q": "2"}], "a": [{"q": "3"}]})
    assert questions(tmp_path, ["a", "b"]) == ["3", "1", "2"]
    assert questions(tmp_path, ["b"]) == ["1", "2"]
    with pytest.raises(ConfigError, match="nothere"):
        questions(tmp_path, ["a", "nothere"])


def test_mirrors_are_tried_in_their_order_each_with_its_own_configurations(tmp_path: Path) -> None:
    put(tmp_path, "third/data", {"y": [{"q": "3y"}], "x": [{"q": "3x"}]})
    assert questions(tmp_path, "main") == ["3x", "3y"]
    put(tmp_path, "second/data", {"All": [{"q": "2"}]})
    assert questions(tmp_path, "main") == ["2"]
    put(tmp_path, "first/data", {"main": [{"q": "1"}]})
    assert questions(tmp_path, "main") == ["1"]


def test_a_mirror_without_a_name_has_the_same_configuration(tmp_path: Path) -> None:
    put(tmp_path, "lmms-lab-encoder/data", {"a": [{"q": "1"}], "b": [{"q": "2"}]})
    assert questions(tmp_path, "b", [{"path": "lmms-lab/data"}]) == ["2"]


def test_other_columns_or_types_are_an_error_that_names_them(tmp_path: Path) -> None:
    put(tmp_path, "first/data", {"a": [{"q": "1"}], "b": [{"q": "1", "z": 1}], "c": [{"q": 3}], "n": [{"q": None}]})
    with pytest.raises(DataError, match="t.yaml:3: the configurations 'a' and 'b' .* differ in their columns: z"):
        questions(tmp_path, ["a", "b"])
    with pytest.raises(DataError, match="can't follow one another"):
        questions(tmp_path, ["a", "c"])
    assert questions(tmp_path, ["a", "n"]) == ["1", None]


def test_where_none_is_there_all_places_are_named(tmp_path: Path) -> None:
    with pytest.raises(NotHereError) as caught:
        load_docs("first/data", "main", "test", DataSource(tmp_path, offline=True), where="t", mirrors=MIRRORS)
    said = str(caught.value)
    places = [f"{tmp_path}/{one}/data" for one in ("first", "second", "third")]
    places += [f"hub: {one}/data" for one in ("first", "second", "third")]
    assert ", ".join(places) in said and "'first/data' (main)" in said
    twice = [MIRRORS[0], MIRRORS[0]]
    with pytest.raises(NotHereError) as caught:
        load_docs("first/data", "main", "test", DataSource(tmp_path, offline=True), where="t", mirrors=twice)
    assert str(caught.value).count("hub: second/data") == 1
    with pytest.raises(ConfigError, match="no bundled sample of 'first/data' or 'second/data' or 'third/data'"):
        load_docs("first/data", "main", "test", DataSource(sample=True), where="t", mirrors=MIRRORS)


@pytest.mark.parametrize(
    ("stated", "said"),
    [("[{name: a}]", "needs a `path`"), ("[{path: a, split: b}]", "unknown key 'split'"), ("x", "a list of mappings")],
)
def test_a_wrong_mirror_is_reported_with_its_line(cli: Any, tmp_path: Path, stated: str, said: str) -> None:
    head = "task: t\ndataset_path: o/d\ntest_split: test\ndoc_to_text: q\n"
    (tmp_path / "t.yaml").write_text(f"{head}dataset_mirrors: {stated}\n")
    done = cli("validate", "t", "--include_path", tmp_path)
    assert done.code == 2 and said in done.out + done.err and "t.yaml:5" in done.out + done.err
