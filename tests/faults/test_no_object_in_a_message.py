"""What Python calls an object (`<_io.BytesIO object at 0x...>`) says nothing to a user, and differs from run to run."""

import json
from pathlib import Path

import pytest

from mm_eval.values.errors import ConfigError, without_objects
from tests.cli.test_bad_input import data_root, picture
from tests.sets import each_of

UTILS = """
class Doc:
    pass

def text(doc):
    if doc["n"] == 1:
        raise ValueError(f"no text for {Doc()} from {text} of {type(doc)}")
    return "?"

def score(doc, results):
    if doc["n"] == 2:
        raise ValueError(f"no score for {Doc()} by {Doc} and {score}")
    return {"acc": 1.0}

def total(values):
    raise ValueError(f"no total of {Doc()} by {total}")
"""
TASK = """
task: odd
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: !function utils.text
doc_to_target: "x"
process_results: !function utils.score
metric_list: [{{metric: acc, aggregation: !function utils.total, higher_is_better: true}}]
"""


def told(folder: Path) -> str:
    """All that a run leaves for people and programs to read."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl", ".html")]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def test_errors_of_a_tasks_own_functions(cli, tmp_path: Path) -> None:
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"n": n}) + "\n" for n in range(4)))
    (tmp_path / "utils.py").write_text(UTILS)
    (tmp_path / "odd.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"))
    ran = cli("--tasks", "odd", "--include_path", tmp_path, "--model", "dummy")
    assert ran.code == 3 and "no text for an object of type Doc from text of dict" in ran.out
    assert (
        "no score for an object of type Doc by " in ran.out and "no total of an object of type Doc by total" in ran.out
    )
    for text in (ran.out, ran.err, told(ran.folder)):
        assert " at 0x" not in text and "<function" not in text and "<class" not in text


@pytest.mark.parametrize("content", [b"not a picture", b"", b"GIF89a", b"\x89PNG\r\n\x1a\n" + b"\0" * 40])
def test_a_picture_that_is_none(cli, tmp_path: Path, content: bytes) -> None:
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", data_root(tmp_path, [picture(), content]))
    assert ran.code == 3 and "mme doc 1" in ran.out
    for text in (ran.out, ran.err, told(ran.folder)):
        assert "BytesIO" not in text and " at 0x" not in text


@each_of(
    ("value", "said"),
    [
        (object(), "an object of type object"),
        (len, "len"),
        (json.dumps, "dumps"),
        (json.JSONEncoder().encode, "JSONEncoder.encode"),
        (int, "int"),
        (json.JSONEncoder, "json.encoder.JSONEncoder"),
        ([].append, "append"),
        ([(x for x in "ab")], "[<generator object <genexpr>>]"),
        ("a < b <class> c>", "'a < b <class> c>'"),
        ("<script>alert(1)</script>", "'<script>alert(1)</script>'"),
    ],
)
def test_every_kind(value: object, said: str) -> None:
    found = without_objects(f"got {value!r} here")
    assert found == f"got {said} here"
    assert str(ConfigError(f"got {value!r}.", where="x.yaml:3")) == "x.yaml:3: " + found.replace(" here", ".")
