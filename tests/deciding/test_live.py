"""`compare --anytime`: intervals that hold whenever somebody looks, at finished runs and at runs that go on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.deciding import skilled


@pytest.fixture
def runs(cli, tmp_path: Path) -> list[Path]:
    """Two runs on the sample of SEED-Bench; the second is worse."""
    assert skilled
    for name, knows in (("a", 0.9), ("b", 0.5)):
        options = (
            "--model",
            "skilled",
            "--model_args",
            f"knows={knows}",
            "--no_report",
            "--output_path",
            tmp_path / name,
        )
        assert cli("run", "--tasks", "seedbench", "--sample", *options).code == 0
    return [tmp_path / "a", tmp_path / "b"]


def compared(cli, *runs: Path) -> list[dict[str, Any]]:
    done = cli("compare", *runs, "--anytime", "--format", "json")
    assert done.code == 0, done.err
    return [number for run in json.loads(done.out)["compared"] for number in run["numbers"]]


def cut(run: Path, lines: int) -> None:
    """The run as it was after so many answers: no results yet."""
    [journal] = (run / "journal").iterdir()
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:lines]))
    (run / "results.json").unlink()


@pytest.mark.full
def test_the_interval_is_wider_than_the_usual_one_and_holds_the_same_difference(cli, runs: list[Path]) -> None:
    [found] = compared(cli, *runs)
    usual = json.loads(cli("compare", *runs, "--format", "json").out)["compared"][0]["changes"]
    [whole] = [each for each in usual if each["metric"] == "seed_all,none"]
    assert found["difference"] == pytest.approx(whole["difference"]["value"]) and found["docs"] == found["of"] == 252
    low, high = whole["difference"]["interval"]
    assert found["interval"][0] < low and high < found["interval"][1] and found["verdict"] == "B is lower"


@pytest.mark.full
def test_runs_that_go_on_are_compared_on_the_docs_that_both_have(cli, runs: list[Path]) -> None:
    cut(runs[1], 150)
    [found] = compared(cli, *runs)
    assert found["docs"] == 150 and found["interval"][0] < found["difference"] < found["interval"][1]
    said = cli("compare", *runs, "--anytime").out
    assert "unfinished" in said and "in the order of the data" in said and "150 of 252" in said
    assert said.count("sample data") == 2
    cut(runs[0], 10)
    [early] = compared(cli, *runs)
    assert early["interval"] is None and early["verdict"].startswith("too few")


def test_nothing_in_common_is_one_clear_error(cli, runs: list[Path]) -> None:
    cut(runs[0], 0)
    done = cli("compare", *runs, "--anytime")
    assert done.code == 2 and "no answered document in common" in done.err
    assert "can't be combined" in cli("compare", *runs, "--anytime", "--categories").err


@pytest.mark.full
def test_the_docs_of_a_number_are_those_that_it_uses(cli, tmp_path: Path) -> None:
    """The first number of MME is of the questions on perception: the others are no docs that it lacks."""
    for name, knows in (("a", 0.9), ("b", 0.5)):
        options = (
            "--model",
            "skilled",
            "--model_args",
            f"knows={knows}",
            "--no_report",
            "--output_path",
            tmp_path / name,
        )
        assert cli("run", "--tasks", "mme", "--sample", *options).code == 0
    [found] = compared(cli, tmp_path / "a", tmp_path / "b")
    assert found["docs"] == found["of"] < 420
