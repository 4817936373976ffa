"""Runs that many tests read: recorded answers on the bundled sample, so that every number is known.

Only tests/conftest.py imports the fixtures: a file that imports one makes the runs once more.
"""

import json
import re
from pathlib import Path

import pytest

from mm_eval.cli import main
from tests.folders import edited

LETTERS = "ABCD"


def answers_with(path: Path, rows: list[dict], wrong: set[int], said=None) -> Path:
    """A replay file that answers MME right but for the docs in `wrong`."""
    said = said or {}
    with path.open("w") as file:
        for row in rows:
            right = row["target"]
            answer = said.get(row["doc_id"]) or (
                right if row["doc_id"] not in wrong else "No" if right == "Yes" else "Yes"
            )
            file.write(json.dumps({"task": "mme", "doc_id": row["doc_id"], "resps": [answer]}) + "\n")
    return path


def ran(folder: Path, *words: str) -> Path:
    assert main([*words, "--sample", "--output_path", str(folder)]) == 0
    return folder


def in_page(page: Path, part: str):
    """The JSON that a page holds: data, rows or media."""
    text = page.read_text()
    return json.loads(re.search(rf'<script type="application/json" id="{part}">(.*?)</script>', text, re.DOTALL)[1])


def set_count(folder: Path, task: str, count: int) -> None:
    """Makes results.json say that a task has so many docs, where a test has changed its samples."""
    with edited(folder / "results.json") as results:
        results["results"][task]["n"] = count


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="session")
def dummy_run(base):
    return ran(base / "dummy", "--tasks", "mme,seedbench", "--model", "dummy")


@pytest.fixture(scope="session")
def mme_rows(dummy_run):
    return [json.loads(line) for line in (dummy_run / "samples" / "mme.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def perfect(base, mme_rows):
    """MME, all right but docs 0 to 19."""
    path = answers_with(base / "perfect.jsonl", mme_rows, set(range(20)))
    return ran(base / "perfect", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")


@pytest.fixture(scope="session")
def worse(base, mme_rows):
    """MME, docs 10 to 149 wrong: against `perfect` 0 to 9 are gained and 20 to 149 lost."""
    path = answers_with(base / "worse.jsonl", mme_rows, set(range(10, 150)))
    return ran(base / "worse", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")
