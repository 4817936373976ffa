"""Runs leave the bytes that were recorded: results.json, samples and request keys. `runs.py` says what is compared."""

import json
import re
from pathlib import Path

import pytest

from tests.baselines.runs import HF_MODELS, RECORDED, RUNS, digests, hf_keys, run

EXPECTED: dict[str, dict[str, str]] = json.loads(RECORDED.read_text())
HINT = "a change on purpose is recorded by `python -m tests.baselines.record` and named in CHANGELOG.md"


def differing(name: str, found: dict[str, str]) -> list[str]:
    expected = EXPECTED[name]
    return sorted(file for file in {*expected, *found} if expected.get(file) != found.get(file))


@pytest.mark.parametrize("name", RUNS)
def test_a_run_leaves_the_recorded_bytes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "ray":
        pytest.importorskip("ray")
    monkeypatch.chdir(tmp_path)
    assert differing(name, RUNS[name](tmp_path / name)) == [], HINT


def test_a_resumed_run_and_workers_of_ray_leave_the_bytes_of_one_whole_run() -> None:
    assert EXPECTED["resumed"] == EXPECTED["ray"] == EXPECTED["mme"]


@pytest.mark.parametrize("model", HF_MODELS)
def test_request_keys_of_hf_are_the_recorded_ones(model: str) -> None:
    assert hf_keys(model) == EXPECTED["request keys of hf"][model], HINT


FILES = {
    "results.json": ('"mme_perception_score,none": 0.0', '"mme_perception_score,none": 0.1'),
    "results.json of run": ('"seed": 0', '"seed": 1'),
    "samples/mme.jsonl": ('"doc_id": 2', '"doc_id": 3'),
    "journal": ('"key":"', '"key":"0'),
}


@pytest.mark.parametrize("name", FILES)
def test_one_other_byte_is_a_difference(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "mme"
    before = run(folder, "--tasks", "mme", "--limit", 3, "--model", "dummy", "--sample")
    file = name.split()[0]
    path = next((folder / "journal").iterdir()) if file == "journal" else folder / file
    text = path.read_text()
    old, new = FILES[name]
    assert old in text
    path.write_text(text.replace(old, new, 1))
    after = digests(folder)
    assert [name for name in before if before[name] != after[name]] == [file]


def test_a_clock_in_results_json_is_no_difference(tmp_path: Path) -> None:
    folder = tmp_path / "mme"
    before = run(folder, "--tasks", "mme", "--limit", 3, "--model", "dummy", "--sample")
    path = folder / "results.json"
    text = path.read_text()
    path.write_text(re.sub(r'("started"|"seconds"): [\d.]+', r"\1: 7", text))
    assert path.read_text() != text and digests(folder) == before
