"""The exit codes of all verbs: DESIGN.md's table, where no other test holds it."""

import importlib
from pathlib import Path

import pytest

from mm_eval.cli import VERBS


def test_a_fault_of_our_own_is_exit_code_70_and_says_so(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """1 would be a verdict, and Python's own code for a traceback."""
    import mm_eval.cli.run

    def broken(args: object) -> int:
        raise KeyError("no such thing")

    monkeypatch.setattr(mm_eval.cli.run, "main", broken)
    done = cli("--tasks", "mme")
    assert (
        done.code == 70
        and "KeyError: 'no such thing'" in done.err
        and "a fault of mm-eval, not of your command" in done.err
    )


def test_code_that_ends_the_program_is_exit_code_2(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it states: 0 would say that the run is done, and 1 would be a verdict."""
    import mm_eval.cli.run

    def ends(args: object) -> int:
        raise SystemExit(0)

    monkeypatch.setattr(mm_eval.cli.run, "main", ends)
    done = cli("--tasks", "mme")
    assert done.code == 2 and "this code ended the program (SystemExit: 0)" in done.err


def test_a_full_disk_is_exit_code_3_for_a_run_and_2_for_a_report(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a run has answers that the same command goes on with."""
    from mm_eval.values.errors import StoreError

    def full(args: object) -> int:
        raise StoreError("it can't be written: No space left on device.", where="somewhere")

    for verb, code in (("run", 3), ("report", 2), ("export", 2)):
        module = importlib.import_module(VERBS[verb][0])
        monkeypatch.setattr(module, "main", full)
        words = (
            ("--tasks", "mme") if verb == "run" else (tmp_path, *(("--format", "lm_eval") if verb == "export" else ()))
        )
        assert cli(verb, *words).code == code, verb


def test_a_damaged_run_among_several_is_exit_code_2_and_one_that_did_not_finish_3(cli, tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        assert (
            cli(
                "--tasks", "mme", "--model", "dummy", "--limit", "2", "--sample", "--no_report", "--output_path", folder
            ).code
            == 0
        )
    report = ("report", tmp_path / "one", tmp_path / "two", "--format", "md")
    (tmp_path / "two" / "results.json").write_text("{")
    assert cli(*report).code == 2
    (tmp_path / "two" / "results.json").unlink()
    assert cli(*report).code == 3
