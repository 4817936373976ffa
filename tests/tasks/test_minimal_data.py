"""A copy of a benchmark's data without the columns that only divide its numbers still gives the number."""

import json
from pathlib import Path

import pytest
from datasets import load_dataset

from tests.papers.recordings import write_table

SAMPLES = Path(__file__).parents[2] / "assets" / "data"
LACKING = {
    "pope": ("lmms-lab/POPE", "default", "test", ["image_source"]),
    "mmstar": ("Lin-Chen/MMStar", "default", "val", ["l2_category", "category"]),
    "docvqa_val": ("lmms-lab/DocVQA", "DocVQA", "validation", ["ucsf_document_id", "question_types"]),
}


@pytest.mark.parametrize("task", LACKING)
def test_columns_that_score_nothing_may_be_missing(cli, tmp_path: Path, task: str) -> None:
    hub_id, config, split, columns = LACKING[task]
    rows = load_dataset(str(SAMPLES / hub_id), config, split=split)
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(json.dumps({"task": task, "doc_id": n, "resps": ["Yes"]}) + "\n" for n in range(len(rows)))
    )
    least = rows.remove_columns(columns)
    write_table(tmp_path / "data", hub_id, split, least.to_list(), config, dict(least.features))
    options = ("--tasks", task, "--model", "replay", "--model_args", f"path={answers}")
    whole = cli(*options, "--sample", "--output_path", tmp_path / "whole")
    ran = cli(*options, "--data_root", tmp_path / "data", "--output_path", tmp_path / "least")
    assert ran.code == 0, ran.err
    metric = next(key for key in whole.results["results"][task] if key.endswith(",none") and "_stderr" not in key)
    assert ran.results["results"][task][metric] == whole.results["results"][task][metric]
    assert any(column in ran.out for column in columns), "a note says which column is missing"
