"""A finished run's command, given again, prints what it printed and scores nothing, unless something has changed."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval import finished as finished
from mm_eval import run
from mm_eval.scoring.metrics.metric import AGGREGATIONS
from mm_eval.values.errors import ModelError
from tests.sets import few

YAML = """
task: own
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS}}
test_split: test
doc_to_text: question
doc_to_target: answer
metric_list: [{metric: exact_match, aggregation: mean}]
metadata: {version: 1}
"""
GROUP = "group: both\ntask: [own]\naggregate_metric_list: [{metric: exact_match, weight_by_size: true}]\n"
CODE = "process_results: !function utils.scored\n"


@pytest.fixture
def own(tmp_path: Path, cli: Callable[..., object]) -> Callable[..., object]:
    (tmp_path / "own.yaml").write_text(YAML.replace("ROWS", str(tmp_path / "rows.jsonl")))
    (tmp_path / "both.yaml").write_text(GROUP)
    rows = [json.dumps({"question": f"{number}?", "answer": "1", "kind": f"k{number % 2}"}) for number in range(8)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows) + "\n")
    return lambda *more: cli("--tasks", "both", "--include_path", tmp_path, "--model", "dummy", *more)


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows each time when something is scored."""
    monkeypatch.setattr(finished, "SCORING", ())  # other tests of this process register metrics of their own
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
    "the task's file": lambda root: replace_in(root / "own.yaml", "aggregation: mean", "aggregation: median"),
    "what asks nothing": lambda root: (root / "own.yaml").open("a").write("categories: [{column: kind}]\n") and None,
    "the group": lambda root: replace_in(root / "both.yaml", "weight_by_size: true", "weight_by_size: false"),
    "another file beside it": lambda root: (root / "other.yaml").write_text("task: other\n") and None,
    "the journal": lambda root: next((root / "run/journal").glob("*.jsonl")).open("a").write("{}\n") and None,
    "results.json": lambda root: replace_in(
        root / "run/results.json", '"exact_match,none": 0.0', '"exact_match,none": 0.9'
    ),
    "samples": lambda root: replace_in(root / "run/samples/own.jsonl", '"1"', '"2"'),
    "the page": lambda root: (root / "run/report.html").unlink(),
    "what was said": lambda root: replace_in(root / "run/finished.json", "nothing was", "everything was"),
}


@pytest.mark.parametrize("what", few(CHANGES, at=[0, 2, 5]))
def test_whatever_changed_is_scored_again(what: str, own, scored: list[int], tmp_path: Path) -> None:
    own()
    assert (tmp_path / "run/finished.json").exists()
    CHANGES[what](tmp_path)
    again = own()
    assert scored == [1, 1]
    assert again.results["results"]["own"]["exact_match,none"] == 0.0
    assert "everything was" not in again.out and (tmp_path / "run/report.html").exists()


def test_code_that_is_not_of_mm_eval_is_never_taken_for_known(own, scored: list[int], tmp_path: Path) -> None:
    (tmp_path / "own.yaml").open("a").write(CODE)
    (tmp_path / "utils.py").write_text("def scored(doc, results):\n    return {'exact_match': 1.0}\n")
    own()
    own()
    assert scored == [1, 1] and not (tmp_path / "run/finished.json").exists()


def test_a_metric_that_was_registered_in_this_process_is_never_taken_for_known(own, scored, monkeypatch) -> None:
    monkeypatch.setattr(finished, "SCORING", (AGGREGATIONS,))
    monkeypatch.setitem(AGGREGATIONS._objects, "of_a_notebook", lambda values: 0.0)
    own()
    own()
    assert scored == [1, 1]


def test_a_run_whose_code_was_changed_while_it_ran_is_never_taken_for_known(own, scored, monkeypatch) -> None:
    monkeypatch.setattr(finished, "_package_at_first", lambda: "files that this process has imported")
    own()
    own()
    assert scored == [1, 1]


def test_other_options_of_scoring_score_again(own, scored: list[int]) -> None:
    own()
    own("--bootstrap_iters", "50")
    own("--bootstrap_iters", "50")
    assert scored == [1, 1]


def test_a_run_with_failures_is_never_taken_for_a_finished_one(own, scored: list[int], monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise ModelError("no")

    monkeypatch.setattr("mm_eval.models.dummy.Dummy.generate", fail)
    assert own().code == own().code == 3
    assert scored == [1, 1]
