"""Recorded cases of another suite: those that MM_EVAL_CONFORMANCE names, or those beside the repository, else our own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUNNER = HERE / "run_cases.py"
RECORDED = HERE.parents[2] / "shared" / "conformance" / "cases.json"


def run(path):
    return subprocess.run([sys.executable, str(RUNNER), str(path)], capture_output=True, text=True, check=False)


def files():
    named = os.environ.get("MM_EVAL_CONFORMANCE")
    recorded = [Path(named)] if named else [RECORDED] if RECORDED.exists() else []
    return [HERE / "own_cases.json", *recorded]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_every_case_passes_and_none_is_skipped(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    count = len(content["cases"] if isinstance(content, dict) else content)
    ran = run(path)
    assert ran.stdout.splitlines()[-1] == f"{count} passed, 0 failed", ran.stdout[-3000:] + ran.stderr[-2000:]
    assert ran.returncode == 0


def test_a_wrong_case_an_unknown_kind_and_a_missing_error_fail(tmp_path):
    cases = [
        {"kind": "aggregation", "name": "mean", "params": {}, "inputs": {"items": [1, 2]}, "expected": 2},
        {"kind": "dance", "name": "x", "params": {}, "inputs": {}, "expected": 2},
        {
            "kind": "aggregation",
            "name": "mean",
            "params": {},
            "inputs": {"items": [1]},
            "expected": {"$raises": "Error"},
        },
        {"kind": "aggregation", "name": "maen", "params": {}, "inputs": {"items": [1]}, "expected": 1},
        {
            "kind": "aggregation",
            "name": "mean",
            "params": {},
            "inputs": {"items": [1, 2]},
            "expected": 2,
            "preferred": 1.5,
        },
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    ran = run(path)
    assert ran.stdout.splitlines()[-1] == "1 passed, 4 failed"
    assert [line.split(":")[0] for line in ran.stdout.splitlines()[:-1]] == [
        "case 0 (aggregation mean)", "case 1 (dance x)", "case 2 (aggregation mean)", "case 3 (aggregation maen)",
    ]  # fmt: skip
    assert ran.returncode == 1


def test_without_a_file_the_runner_says_how_to_use_it():
    ran = subprocess.run([sys.executable, str(RUNNER)], capture_output=True, text=True, check=False)
    assert (ran.returncode, "Usage" in ran.stderr) == (2, True)
