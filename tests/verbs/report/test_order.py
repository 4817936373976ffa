"""One order and one palette for the models of a release, on every page and in every figure."""

import json
from itertools import combinations
from pathlib import Path

import pytest

from mm_eval.cli.folders import run_folders
from mm_eval.results.page import asset
from mm_eval.results.release_order import ORDER_FILE, write_release_order
from mm_eval.results.sample_rows import options_asked
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.verbs.figures import COLOURS


@pytest.fixture
def release(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{}")
    (tmp_path / "release.html").write_text("")
    write_release_order(tmp_path, {"c": "C", "a": "A"})
    return tmp_path


def named(words: list[Path]) -> list[str]:
    return [Path(folder).name for folder in run_folders(list(map(str, words)))]


def test_a_release_keeps_the_order_of_its_file(release: Path) -> None:
    """By its folder and by a glob, in which new runs come last; runs that the user names keep the user's order."""
    assert named([release]) == named(sorted(release.iterdir())) == ["c", "a", "b"]
    assert named([release / "b", release / "a"]) == ["b", "a"] and named([release / "a", release / "b"]) == ["a", "b"]
    for text in ("", "[]", '{"models": 3}', "[" * 100_000):
        (release / ORDER_FILE).write_text(text)
        assert named([release]) == ["a", "b", "c"]


def test_twelve_models_have_colours_of_their_own_which_pages_and_figures_share() -> None:
    [line] = [line for line in asset("shared.js").splitlines() if line.startswith("const COLOURS = ")]
    assert tuple(json.loads(line.removeprefix("const COLOURS = ").rstrip(";"))) == COLOURS
    parts = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in COLOURS]
    apart = [sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in combinations(parts, 2)]
    assert len(COLOURS) >= 12 and min(apart) > 60
    for script in ("release.js", "charts.js"):
        assert "#0072b2" not in asset(script), "one palette"


@pytest.mark.parametrize(
    ("target", "prompt", "choices", "count"),
    [
        ("Yes", "Is it red?", None, 2),
        ("B", "Which?\nA. red\nB. blue\nC. green\nAnswer:", None, 3),
        ("B", "Which?\n(A) one\n(B) two\nB\n\nWhich?\nA. red\nB. blue", None, 2),
        ("B", [{"role": "user", "content": [{"text": "Which?\nA. red\nB. blue"}, {"digest": "x"}]}], None, 2),
        ("D", "Which?\nA. red\nB. blue", None, 0),
        ("blue", "Which colour?", None, 0),
        (1, "Which?", ["red", "blue", "green", "grey"], 4),
    ],
)
def test_the_options_of_a_question_are_what_guessing_has(
    target: object, prompt: object, choices: list[str] | None, count: int
) -> None:
    row = SampleRow(doc_id=0, status="ok", doc={}, prompt=prompt, target=target, resps=[], scores={})
    if choices:
        row["choices"] = choices
    assert options_asked(row) == count


def test_without_a_folder_the_last_run_is_taken_and_its_path_printed(cli, tmp_path, monkeypatch) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    none = cli("report")
    assert none.code == 2 and "none below ./runs" in none.err
    for name in ("a/one", "two"):
        words = ("--tasks", "mme", "--sample", "--limit", "1", "--model", "dummy", "--no_report")
        assert cli(*words, "--output_path", f"runs/{name}").code == 0
    for place, name in enumerate(("two", "a/one")):
        os.utime(tmp_path / "runs" / name / "run.json", (10.0 + place, 10.0 + place))
    done = cli("report")
    assert done.code == 0 and "the last run: runs/a/one" in done.err
    assert (tmp_path / "runs/a/one/report.html").is_file() and not (tmp_path / "runs/two/report.html").exists()
    table = cli("report", "--format", "csv")
    assert table.out.startswith("benchmark") or "mme" in table.out.splitlines()[1]
    assert "last run" not in table.out
