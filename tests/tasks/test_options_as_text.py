"""Options that a data file has as a string with a Python list, and answers in another type: the same prompts and scores."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mm_eval.scoring.filters.options import lettered, texts_of
from tests.conftest import ROOT
from tests.papers.recordings import write_answers
from tests.sets import few
from tests.tasks.made_up import MadeUp

SAID = ["A", "B. cat", "(B)", "The answer is (C).", "\\boxed{B}", "2", "C", "", "D", "The answer is B."] * 5


def as_text(value: Any) -> Any:
    return None if value is None else str(value)


@pytest.mark.parametrize(
    ("task", "hub_id", "columns"),
    few(
        [
            ("mathvista_testmini", "AI4Math/MathVista", ["choices"]),
            ("mathvision_test", "MathLLMs/MathVision", ["options", "level"]),
            ("cv_bench", "nyu-visionx/CV-Bench", ["choices"]),
            ("cv_bench_lmms", "nyu-visionx/CV-Bench", ["choices"]),
            ("scienceqa", "lmms-lab/ScienceQA", ["choices", "answer"]),
            ("scienceqa_lmms", "lmms-lab/ScienceQA", ["choices", "answer"]),
            ("ai2d", "lmms-lab/ai2d", ["options"]),
            ("muirbench", "MUIRBENCH/MUIRBENCH", ["options"]),
            ("emma_mini", "luckychao/EMMA-mini", ["options"]),
        ],
        at=(0, 2, 4),
    ),
)
def test_lists_and_indices_as_text(cli, tmp_path: Path, task: str, hub_id: str, columns: list[str]) -> None:
    root = tmp_path / "data"
    shutil.copytree(ROOT / "assets" / "data" / hub_id, root / hub_id)
    for file in (root / hub_id).rglob("*.parquet"):
        table = pq.read_table(file).replace_schema_metadata(None)
        for column in columns:
            texts = pa.array(map(as_text, table.column(column).to_pylist()), pa.string())
            table = table.set_column(table.column_names.index(column), column, texts)
        pq.write_table(table, file)
    replay = write_answers(tmp_path / "answers.jsonl", {task: SAID})
    common = ("--tasks", task, "--model", "replay", "--model_args", f"path={replay}")
    listed = cli(*common, "--sample", "--output_path", tmp_path / "listed")
    found = cli(*common, "--data_root", root, "--output_path", tmp_path / "found")
    assert found.code == listed.code == 0, found.err
    assert found.results["results"][task] == listed.results["results"][task]
    assert found.results.get("categories") == listed.results.get("categories")
    prompts = [cli("show", task, "--doc", 0, *where).out for where in (["--sample"], ["--data_root", root])]
    assert prompts[0].partition("- prompt\n")[2] == prompts[1].partition("- prompt\n")[2] != ""


def test_no_options_are_none() -> None:
    assert texts_of(None) == texts_of("") == texts_of("[]") == texts_of([]) == []
    assert texts_of("['dog', None]") == texts_of(["dog", None]) == ["dog", ""]
    assert lettered("['dog', 'cat']") == "A. dog\nB. cat"


def test_blinks_choices_as_text(cli, tmp_path: Path) -> None:
    data = MadeUp("blink_counting", "BLINK-Benchmark/BLINK", "val", "Counting")
    docs = [{"choices": ["1", "2"], "answer": "(B)"}] * 2
    assert data.scores(cli, tmp_path, docs, ["I say (B) as asked", "(C) or (B) is it"], "acc,none") == [1, 1]


def test_mathvision_without_a_list_of_options(cli, tmp_path: Path) -> None:
    data = MadeUp("mathvision_test", "MathLLMs/MathVision", "test")
    docs = [
        {"options": None, "answer": "7"},
        {"options": ["1", "2"], "answer": "B"},
        {"options": ["1", "2"], "answer": "2"},
    ]
    assert data.scores(cli, tmp_path, docs, ["7", "2", "2"], "acc,none") == [1, 1, 1]


def test_a_hint_that_says_nan_is_no_context(cli, tmp_path: Path) -> None:
    data = MadeUp("scienceqa", "lmms-lab/ScienceQA", "test", "ScienceQA-FULL")
    docs = [{"hint": hint, "image": None} for hint in ("nan", "", None, "A hint.")]
    ran = data.run(cli, tmp_path, docs, ["A"] * 4)
    assert {name: row["n"] for name, row in ran.results["categories"]["scienceqa"]["context"].items()} == {
        "TXT": 1,
        "NO": 3,
    }
