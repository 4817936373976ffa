"""Other names of a task or group."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.values.errors import ConfigError

Write = Callable[..., Path]
Manager = Callable[[], TaskManager]


def test_an_alias_stands_for_its_task_and_a_note_says_so_once(manager: Manager, write: Write) -> None:
    write("a.yaml", "aliases: [emma-mini, Emma]", task="emma_mini")
    loaded = manager().load("emma-mini,emma-mini@cloze,emma_mini")
    assert list(loaded.tasks) == ["emma_mini", "emma_mini@cloze"]
    assert loaded.notes == ["emma-mini is another name of emma_mini"]
    assert manager().all_tasks == ["emma_mini"]


def test_a_group_has_aliases_that_its_members_do_not_inherit(manager: Manager, write: Write) -> None:
    write("a.yaml", task="one")
    write("b.yaml", "include: a.yaml\ntask: two\naliases: other")
    write("g.yaml", "group: both\naliases: [pair]\ntask: [one, other]")
    loaded = manager().load(["pair", "pair::other"])
    assert loaded.roots == ["both", "two"] and loaded.group_map == {"both": ["one", "two"]}
    assert loaded.tasks["one"].aliases == []


def test_a_member_that_a_group_defines_has_aliases(manager: Manager, write: Write) -> None:
    member = "{task: inner, aliases: [inside], dataset_path: o/d, test_split: test, doc_to_text: q}"
    write("g.yaml", f"group: outer\ntask:\n  - {member}")
    assert list(manager().load("inside").tasks) == ["inner"]


def test_aliases_are_not_included(manager: Manager, write: Write) -> None:
    write("a.yaml", "aliases: [x]", task="one")
    write("b.yaml", "include: a.yaml\ntask: two")
    assert list(manager().load("x").tasks) == ["one"]


def test_an_alias_that_is_a_name_already_is_an_error_with_both_lines(manager: Manager, write: Write) -> None:
    write("a.yaml", "aliases: [two]", task="one")
    write("b.yaml", task="two")
    write("c.yaml", task="three")
    for requested in ("one", "two"):
        with pytest.raises(ConfigError, match=r"'two' is declared by several files: .*b.yaml:1, .*a.yaml:10\."):
            manager().load(requested)
    assert manager().load("three").roots == ["three"]


def test_two_equal_aliases_are_an_error_with_both_lines(manager: Manager, write: Write) -> None:
    write("a.yaml", "aliases: [x]", task="one")
    write("b.yaml", "aliases: x", task="two")
    for requested in ("one", "two", "x"):
        with pytest.raises(ConfigError, match=r"'x' is declared by several files: .*a.yaml:10, .*b.yaml:10\."):
            manager().load(requested)


def test_a_name_in_the_users_folder_replaces_an_alias(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write("own/b.yaml", task="two")
    write("shipped/a.yaml", "aliases: [two]", task="one")
    monkeypatch.setattr("mm_eval.config.index.default_folders", lambda: [tmp_path / "shipped"])
    manager = TaskManager(include_path=tmp_path / "own")
    assert list(manager.load("two").tasks) == ["two"] and list(manager.load("one").tasks) == ["one"]
    assert "'two' of" in caplog.text and "replaces the alias of one" in caplog.text


def test_a_suggestion_knows_aliases(manager: Manager, write: Write) -> None:
    write("a.yaml", "aliases: [mathvista-mini]", task="mv")
    with pytest.raises(ConfigError, match="Did you mean 'mathvista-mini'"):
        manager().load("mathvista-mni")


@pytest.mark.parametrize("alias", ["a::b", "a@b", "''", "'*'"])
def test_an_alias_is_a_name(manager: Manager, write: Write, alias: str) -> None:
    write("a.yaml", f"aliases: [{alias}]", task="one")
    with pytest.raises(ConfigError, match=r"a.yaml:10"):
        manager().load("one")
