"""The YAML reader: what it refuses, where it says so, and how files include each other (faults 34 and 37)."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.config.functions import FunctionRef
from mm_eval.config.manager import TaskManager
from mm_eval.config.yaml import load_config, load_file, load_text
from mm_eval.values.errors import ConfigError
from tests.sets import each_of

Write = Callable[..., Path]

ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
)


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_text(text, Path("tasks/t.yaml"))
    return str(caught.value)


@each_of(
    "tagged",
    [
        "!!python/object/apply:os.system ['true']",
        "!!python/object:os.PathLike {}",
        "!!python/object/new:os.system ['true']",
        "!!python/name:os.system ''",
        "!!python/module:os ''",
        "!!python/tuple [1, 2]",
        "!!binary aGVsbG8=",
        "!!set {a}",
        "!!omap [a: 1]",
        "!include other.yaml",
        "!ENV HOME",
        "!<tag:example.com,2000:x> y",
        "!function [utils.f]",
        "!function {a: b}",
    ],
)
def test_every_tag_but_function_is_refused_with_its_line(tagged: str) -> None:
    message = refused(f"task: t\nvalue: {tagged}\n")
    assert message.startswith("tasks/t.yaml:2: the tag ") and "is not allowed" in message


def test_a_duplicate_key_is_refused_and_both_lines_are_named() -> None:
    assert refused("task: t\nmetadata: {a: 1}\ntask: u\n") == (
        "tasks/t.yaml:3: the key 'task' is written twice (first on line 1)."
    )


def test_an_alias_bomb_of_450_bytes_is_refused_within_50_ms() -> None:
    assert len(ALIAS_BOMB) < 450
    start = time.process_time()
    message = refused(ALIAS_BOMB)
    assert time.process_time() - start < 0.05
    assert "aliases add more than" in message and message.startswith("tasks/t.yaml:")


@each_of("opening", ["[", "- ", "{a: ", "? "])
def test_depth_that_would_overflow_the_stack_is_an_error_and_not_a_crash(opening: str) -> None:
    assert "nested deeper than" in refused(opening * 100_000)


@each_of(
    ("text", "line", "told"),
    [
        ("", 1, "is empty"),
        ("- a\n", 1, "expected a mapping of keys"),
        ("a: [1\n", 2, "invalid YAML"),
        ("a: 1\n\tb: 2\n", 2, "invalid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "more than one document"),
        ("a: *nothing\n", 1, "has no anchor"),
        ("a: &a [*a]\n", 1, "inside its own anchor"),
        ("a: 1\n? [b]\n: c\n", 2, "a key must be"),
    ],
)
def test_what_is_no_mapping_of_keys_is_refused_with_its_line(text: str, line: int, told: str) -> None:
    message = refused(text)
    assert message.startswith(f"tasks/t.yaml:{line}: ") and told in message


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(b"task: t\nname: \xff\xfe\n")
    with pytest.raises(ConfigError, match=r"t\.yaml:2: the file is not UTF-8"):
        load_file(path)


def test_a_task_file_in_utf_16_is_found_by_its_name(
    tmp_path: Path, cache_home: Path, known_tasks: Callable[[Path], str]
) -> None:
    """PowerShell writes it; its task was said to be unknown."""
    known_tasks(cache_home)
    (tmp_path / "other_name.yaml").write_bytes("task: windows_own\r\ntag: [w_tag]\r\n".encode("utf-16"))
    for name in ("windows_own", "w_tag"):
        with pytest.raises(ConfigError, match="the file is not UTF-8"):
            TaskManager(include_path=tmp_path).load([name])


def test_values_are_plain_data_with_their_places() -> None:
    config = load_text("a: 1\nb:\n  - 2.5\n  - x\nwhen: 2024-01-01\nclock: 12:30\nyes_: yes\nnone: ~\n", Path("t.yaml"))
    assert config == {"a": 1, "b": [2.5, "x"], "when": "2024-01-01", "clock": "12:30", "yes_": True, "none": None}
    assert config.where("b") == "t.yaml:2" and config["b"].where(1) == "t.yaml:4"


def test_anchors_and_merge_keys_work_and_own_keys_win() -> None:
    config = load_text("base: &b {x: 1, y: 2}\nmade:\n  <<: *b\n  y: 3\n", Path("t.yaml"))
    assert config["made"] == {"x": 1, "y": 3}


def test_a_function_is_a_name_and_not_an_import(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("raise SystemExit('imported')")
    (tmp_path / "t.yaml").write_text("a: 1\nf: !function utils.f\n")
    config = load_file(tmp_path / "t.yaml")
    assert config["f"] == FunctionRef("utils.f", tmp_path / "t.yaml", 2)


def test_include_lies_under_the_own_keys_in_depth(write: Write) -> None:
    write("_base.yaml", "task: base\ngeneration_kwargs: {until: ['a'], temperature: 1}\ndescription: x\n")
    path = write("t.yaml", "include: _base.yaml\ntask: t\ngeneration_kwargs: {temperature: 0}\n")
    config, files = load_config(path)
    assert config == {"task": "t", "generation_kwargs": {"until": ["a"], "temperature": 0}, "description": "x"}
    assert [file.name for file in files] == ["t.yaml", "_base.yaml"]
    assert config.where("description").endswith("_base.yaml:3") and config.where("task").endswith("t.yaml:2")


def test_of_several_includes_the_later_one_wins(write: Write) -> None:
    write("one.yaml", "a: 1\nb: 1\n")
    write("two.yaml", "b: 2\n")
    assert load_config(write("t.yaml", "include: [one.yaml, two.yaml]\n"))[0] == {"a": 1, "b": 2}


def test_a_diamond_of_includes_is_accepted(write: Write) -> None:
    write("root.yaml", "a: root\nb: root\n")
    write("left.yaml", "include: root.yaml\na: left\n")
    write("right.yaml", "include: root.yaml\nc: right\n")
    config, files = load_config(write("t.yaml", "include: [left.yaml, right.yaml]\nd: t\n"))
    assert config == {"a": "root", "b": "root", "c": "right", "d": "t"}
    assert sorted(file.name for file in files) == ["left.yaml", "right.yaml", "root.yaml", "t.yaml"]


def test_a_circle_of_includes_is_refused_with_the_chain(write: Write) -> None:
    write("a.yaml", "include: sub/../b.yaml\n")
    write("sub/x.yaml", "a: 1\n")
    write("b.yaml", "include: c.yaml\n")
    path = write("c.yaml", "include: a.yaml\n")
    with pytest.raises(ConfigError, match=r"in a circle: c\.yaml -> a\.yaml -> b\.yaml -> c\.yaml"):
        load_config(path)


def test_a_missing_include_names_the_line_and_the_closest_file(write: Write) -> None:
    write("_default.yaml", "a: 1\n")
    with pytest.raises(ConfigError, match=r"t\.yaml:2: include: there is no file '_defualt\.yaml'.*'_default\.yaml'"):
        load_config(write("t.yaml", "task: t\ninclude: _defualt.yaml\n"))


TWICE = "task: t\ndataset_path: d\ntest_split: t\ndoc_to_text: q\ndoc_to_target: a\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("num_fewshot: 1", "num_fewshot: 1"),
        ("doc_to_visual: !function utils.f", "doc_to_visual: !function utils.f"),
        ("metadata: {a: [1, {b: .nan}]}", "metadata:\n  a:\n  - 1\n  - b: .nan"),
        ("gen_prefix:", "gen_prefix: null"),
    ],
)
def test_a_key_written_twice_with_one_value_is_a_warning_when_it_is_loaded(
    write: Write, manager: Callable[[], TaskManager], caplog: pytest.LogCaptureFixture, first: str, second: str
) -> None:
    write("utils.py", "def f(doc): return []\n")
    write("_base", f"{TWICE}{first}\n{second}\n")
    write("t.yaml", "include: _base\nrepeats: 2\n")
    found = manager()
    assert found.all_tasks == ["t"] and not caplog.records, "listing warns of nothing"
    assert found.load("t").tasks["t"].repeats == 2 and found.load("t").roots == ["t"]
    key = first.partition(":")[0]
    [warning] = [record.getMessage() for record in caplog.records]
    assert f"_base:7: the key {key!r} is written twice with the same value (first on line 6)." in warning


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("num_fewshot: 1", "num_fewshot: 2"),
        ("num_fewshot: 1", "num_fewshot: true"),
        ("num_fewshot: 1", "num_fewshot: 1.0"),
        ("num_fewshot: 1", 'num_fewshot: "1"'),
        ("metadata: {a: 1, b: 2}", "metadata: {b: 2, a: 1}"),
        ("doc_to_visual: !function utils.f", "doc_to_visual: !function utils.g"),
        ("gen_prefix:", 'gen_prefix: ""'),
        ("metadata: {1: a, true: a}", "gen_prefix: x"),
    ],
)
def test_a_key_written_twice_with_two_values_is_an_error(
    write: Write, manager: Callable[[], TaskManager], first: str, second: str
) -> None:
    write("utils.py", "def f(doc): return []\ndef g(doc): return []\n")
    write("t.yaml", f"{TWICE}{first}\n{second}\n")
    with pytest.raises(ConfigError, match=r"is written twice \(first on line 6\)"):
        manager().load("t")
