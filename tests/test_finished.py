"""A finished run's command, given again, prints what it printed and scores nothing, unless something has changed."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mm_eval import run

YAML = """
task: own
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS}}
test_split: test
doc_to_text: question
doc_to_target: answer
process_results: !function utils.scored
metric_list: [{metric: right, aggregation: mean}]
"""
UTILS = "from .helper import value\n\n\ndef scored(doc, results):\n    return {'right': value(results[0])}\n"


@pytest.fixture
def own(tmp_path: Path, cli: Callable[..., object]) -> Iterator[Callable[..., object]]:
    (tmp_path / "own.yaml").write_text(YAML.replace("ROWS", str(tmp_path / "rows.jsonl")))
    (tmp_path / "utils.py").write_text(UTILS)
    (tmp_path / "helper.py").write_text("def value(text):\n    return 1.0\n")
    rows = [json.dumps({"question": f"{number}?", "answer": "1"}) for number in range(8)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    date_back(tmp_path)
    yield lambda *more: cli("--tasks", "own", "--include_path", tmp_path, "--model", "dummy", *more)
    date_back(tmp_path)  # the modules stay imported in this process, whose next tests ask when their files were changed


def date_back(folder: Path) -> None:
    for path in folder.glob("*.py"):
        os.utime(path, (10**9, 10**9))  # before this process began


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows each time when something is scored."""
    found: list[int] = []
    real = run.score_tasks
    monkeypatch.setattr(run, "score_tasks", lambda *given: found.append(1) or real(*given))
    return found


def test_the_command_of_a_finished_run_prints_the_same_and_scores_nothing(own, scored: list[int]) -> None:
    first = own()
    before = {path: path.read_bytes() for path in first.folder.rglob("*") if path.is_file()}
    second, third = own(), own()
    assert scored == [1] and second.code == third.code == 0
    assert "all 8 answers were in the run folder already; nothing was requested" in second.out
    assert second.out == third.out
    assert [line for line in first.out.splitlines() if line in second.out.splitlines()] == first.out.splitlines()
    assert {path: path.read_bytes() for path in first.folder.rglob("*") if path.is_file()} == before


def replace_in(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


CHANGES: dict[str, Callable[[Path], None]] = {
    "a helper of the task": lambda root: replace_in(root / "helper.py", "1.0", "0.5"),
    "the task's file": lambda root: replace_in(root / "own.yaml", "aggregation: mean", "aggregation: median"),
    "the task's functions": lambda root: replace_in(root / "utils.py", "value(results[0])", "0.25"),
    "a file that the task's code may read": lambda root: (root / "words.txt").write_text("one\n") and None,
    "the journal": lambda root: next((root / "run/journal").glob("*.jsonl")).open("a").write("{}\n") and None,
    "results.json": lambda root: replace_in(root / "run/results.json", '"right,none": 1.0', '"right,none": 0.9'),
    "samples": lambda root: replace_in(root / "run/samples/own.jsonl", '"1"', '"2"'),
    "the page": lambda root: (root / "run/report.html").unlink(),
    "what was said": lambda root: replace_in(root / "run/finished.json", "nothing was", "everything was"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changed_is_scored_again(what: str, own, scored: list[int], tmp_path: Path) -> None:
    own()
    CHANGES[what](tmp_path)
    again = own()
    assert scored == [1, 1]
    value = {"the task's functions": 0.25}.get(what, 1.0)  # this process has imported the helper before
    assert again.results["results"]["own"]["right,none"] == value
    assert "everything was" not in again.out and (tmp_path / "run/report.html").exists()


def test_code_that_was_changed_while_the_process_ran_is_never_taken_for_known(
    own, scored: list[int], tmp_path: Path
) -> None:
    os.utime(tmp_path / "helper.py")
    own()
    own()
    assert scored == [1, 1] and not (tmp_path / "run/finished.json").exists()


def test_other_options_of_scoring_score_again(own, scored: list[int]) -> None:
    own()
    own("--bootstrap_iters", "50")
    own("--bootstrap_iters", "50")
    assert scored == [1, 1]


def test_a_run_with_failures_is_never_taken_for_a_finished_one(own, scored: list[int], tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def value(text):\n    return 1 / 0\n")
    assert own().code == own().code == 3
    assert scored == [1, 1]
