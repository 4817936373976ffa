"""`mm-eval ls`: words and options stand in any order."""

from pathlib import Path

import pytest

from mm_eval.cli import main

TASK = "dataset_path: d\ntest_split: test\ndoc_to_text: q\n"


@pytest.mark.parametrize("order", ["tasks colour --include_path DIR", "tasks --include_path DIR colour",
                                   "--include_path DIR tasks colour", "--include-path=DIR tasks colour"])  # fmt: skip
def test_the_word_may_stand_before_or_behind_an_option(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("my_colours", "my_shapes"):
        (mine / f"{name}.yaml").write_text(f"task: {name}\n{TASK}")
    assert main(["ls", *order.replace("DIR", str(mine)).split()]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["my_colours"]


def test_a_word_too_many_is_still_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", "tasks", "--verbosity", "ERROR", "mme", "seedbench"]) == 2
    assert "unrecognized arguments: seedbench" in capsys.readouterr().err
