"""`--help` describes what most people need first, and only what means something for a verb."""

import argparse

import pytest

from mm_eval.cli import GROUPS, VERBS


def help_of(cli, capsys, *words: str) -> str:
    with pytest.raises(SystemExit):
        cli(*words)
    return capsys.readouterr().out


def test_the_help_of_run_has_twelve_options_first_and_the_others_by_group(cli, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    short = help_of(cli, capsys, "run", "--help")
    described, named = short.split("more options, described by mm-eval run --help all:")
    assert sum(line.startswith("  --") for line in described.splitlines()) == 12
    assert "judge" in named and "--use_cache" in named and "--protocol" in named
    whole = help_of(cli, capsys, "run", "--help", "all")
    names = [word for word in named.split() if word.startswith("--")]
    assert len(names) > 40 and all(f"\n  {name}" in whole for name in names), "each is described in the long help"
    assert "\ncommon options:\n" in whole and "\ntasks and data:\n" in whole


def test_all_help_fits_80_columns(cli, capsys, monkeypatch) -> None:
    """Of each verb, of all of them, and of the options that stand in no short help."""
    monkeypatch.setenv("COLUMNS", "80")
    for verb in VERBS:
        assert [line for line in help_of(cli, capsys, verb, "--help").splitlines() if len(line) > 80] == [], verb
    overview = cli("--help").out
    assert max(map(len, overview.splitlines())) <= 80 and all(f"\n  {verb} " in overview for verb in VERBS)


def test_verbs_stand_in_groups_and_each_begins_with_a_verb(cli) -> None:
    said = cli("help")
    assert said.code == 0 and said.out == cli("--help").out
    assert [title for title in GROUPS if f"\n\n{title}:\n" in said.out] == list(GROUPS)
    assert sorted(verb for verbs in GROUPS.values() for verb in verbs) == sorted(VERBS)
    nouns = ("a ", "an ", "the ", "how ", "what ", "which ", "two ", "runs ", "named ")
    assert not [verb for verb, (_, meaning) in VERBS.items() if meaning.startswith(nouns)]


def test_help_of_a_verb_may_come_first(cli, capsys) -> None:
    assert help_of(cli, capsys, "help", "show") == help_of(cli, capsys, "show", "--help")
    assert help_of(cli, capsys, "help", "all") == help_of(cli, capsys, "--help", "all")
    assert "unknown command 'shwo'. Did you mean 'show'" in cli("help", "shwo").err


def test_all_options_are_described_without_naming_a_verb(cli, capsys) -> None:
    assert help_of(cli, capsys, "--help", "all") == help_of(cli, capsys, "run", "--help", "all")


@pytest.mark.parametrize(("verb", "absent"), [("show", "--batch_size"), ("validate", "--seed"), ("bundle", "--limit")])
def test_a_verb_shows_only_options_that_mean_something_there(cli, capsys, verb: str, absent: str) -> None:
    said = help_of(cli, capsys, verb, "--help")
    assert absent not in said and "--include_path" in said and argparse.SUPPRESS not in said


def test_tasks_without_their_option_are_answered_with_it(cli) -> None:
    said = cli("run", "mme", "seedbench", "--limit", "3")
    assert said.code == 2 and "mm-eval run --tasks mme,seedbench --limit=3" in said.err
