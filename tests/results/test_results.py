"""Results as values: scoring makes the same objects that reading the folder gives, and nobody else knows the file's keys."""

import ast
import json
from pathlib import Path

import pytest

import mm_eval
from mm_eval.results.file import results_json, results_of
from mm_eval.results.recorded import RecordedRun
from tests.baselines.runs import TASKS

ROOT = Path(__file__).parents[2] / "mm_eval"
OF_FILE = {"results", "groups", "group_subtasks", "n-shot", "n-samples", "n_by_metric"}
"""Keys of results.json."""


@pytest.mark.parametrize(
    ("tasks", "options"),
    [
        ("seedbench,mme", {"sample": True, "limit": 12}),
        ("base_overrides", {"sample": True, "limit": 4, "include_path": str(TASKS)}),
    ],
)
def test_reading_a_folder_gives_the_objects_that_scoring_made(tmp_path: Path, tasks: str, options: dict) -> None:
    made = mm_eval.evaluate(tasks, "dummy", report=False, output_path=str(tmp_path / "run"), **options)
    read = RecordedRun.read(tmp_path / "run").results
    assert read == made.report.results
    assert results_json(read) == made.raw == json.loads((tmp_path / "run/results.json").read_text())


def test_what_features_add_stays_and_an_older_file_has_the_defaults() -> None:
    row = {
        "alias": "t",
        "acc,none": 0.5,
        "acc_stderr,none": None,
        "n": 2,
        "judge_failed@b": 1,
        "judge_bounds@b": [0, 1],
    }
    found = results_of({"results": {"t": row}, "judges": {"t": []}, "own": [1]})
    assert found.judges == {"t": []} and found.others == {"own": [1]} and results_json(found)["own"] == [1]
    [number] = found.rows["t"].numbers
    assert (number.value, number.stderr, number.n, found.rows["t"].refused) == (0.5, None, 2, 0)
    assert found.rows["t"].ungraded["judge@b"].bounds == [0, 1] and found.leaves("t") == []


def test_no_other_part_knows_the_keys_of_the_file() -> None:
    """Only mm_eval/results subscripts a mapping by them; exports and imports know the formats of others."""
    known = []
    for path in sorted(ROOT.rglob("*.py")):
        if any(map(path.is_relative_to, (ROOT / "results", ROOT / "imported", ROOT / "verbs/exports"))):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value in OF_FILE:
                known.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not known
