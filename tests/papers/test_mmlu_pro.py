"""Meta-Llama-3-8B on MMLU-Pro: the letters that the authors' script read from 12,032 recorded outputs."""

import json
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.papers.recordings import Recording, write_answers, write_table

OUTPUTS = Recording(
    "TIGER-AI-Lab/MMLU-Pro",
    "f418b116db00b065c2aea046518d8fcf74d39872",
    "eval_results/model_outputs_Meta-Llama-3-8B_5shots.zip",
)
RIGHT = 4112
"""Verdicts of the recorded letters; the script then draws a letter for each of the 1,290 outputs without one."""


@pytest.mark.slow
def test_llama_3_8b(cli: Callable[..., Ran], tmp_path: Path) -> None:
    with zipfile.ZipFile(OUTPUTS.fetched()) as archive:
        rows: list[Any] = json.loads(archive.read("model_outputs_Meta-Llama-3-8B_5shots.json"))
    columns = ("question_id", "question", "options", "answer", "answer_index", "cot_content", "category", "src")
    gold = [{column: row[column] for column in columns} for row in rows]
    write_table(tmp_path, "TIGER-Lab/MMLU-Pro", "test", gold)
    by_task: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        by_task[f"mmlu_pro_{row['category'].replace(' ', '_')}"].append(row)
    said = {task: [row["generated_text"] for row in each] for task, each in by_task.items()}
    path = write_answers(tmp_path / "answers.jsonl", said)
    words = ("--tasks", "mmlu_pro", "--model", "replay", "--model_args", f"path={path}", "--data_root", tmp_path)
    ran = cli(*words, "--num_fewshot", 0)
    assert ran.code == 0, ran.err
    assert ran.results["groups"]["mmlu_pro"]["exact_match,custom-extract"] == pytest.approx(RIGHT / 12032, abs=1e-12)
    for task, each in by_task.items():
        for found, row in zip(ran.samples(task), each, strict=True):
            assert found["filtered_resps"]["custom-extract"][0] == (row["pred"] or "[invalid]"), row["question_id"]
