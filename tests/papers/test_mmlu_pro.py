"""MMLU-Pro: the letters that the authors' scripts read from the recorded outputs of two models."""

import json
import zipfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran
from tests.papers.recordings import Recording, write_answers, write_table

SOURCE = ("TIGER-AI-Lab/MMLU-Pro", "f418b116db00b065c2aea046518d8fcf74d39872")
LLAMA = Recording(*SOURCE, "eval_results/model_outputs_Meta-Llama-3-8B_5shots.zip")
"""Its letters were read with the first stage alone, which is lm-eval's rule; 1,290 outputs have none and got one by chance."""
GEMINI = Recording(*SOURCE, "eval_results/model_outputs_gemini-1.5-pro-002_5shots.zip")
"""Its letters were read with all three stages."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outputs", "group", "column", "right"),
    [(LLAMA, "mmlu_pro_lm_eval", "generated_text", 4112), (GEMINI, "mmlu_pro", "model_outputs", 8444)],
    ids=["llama-3-8b", "gemini-1.5-pro-002"],
)
def test_recorded_letters(
    cli: Callable[..., Ran], tmp_path: Path, outputs: Recording, group: str, column: str, right: int
) -> None:
    with zipfile.ZipFile(outputs.fetched()) as archive:
        rows: list[Any] = json.loads(archive.read(outputs.place.with_suffix(".json").name))
    columns = ("question_id", "question", "options", "answer", "answer_index", "cot_content", "category", "src")
    gold = [{column: row[column] for column in columns} for row in rows]
    write_table(tmp_path, "TIGER-Lab/MMLU-Pro", "test", gold)
    by_task: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        by_task[f"mmlu_pro_{row['category'].replace(' ', '_')}"].append(row)
    said = {task: [row[column] for row in each] for task, each in by_task.items()}
    path = write_answers(tmp_path / "answers.jsonl", said)
    words = ("--tasks", group, "--model", "replay", "--model_args", f"path={path}", "--data_root", tmp_path)
    ran = cli(*words, "--num_fewshot", 0)
    assert ran.code == 0, ran.err
    assert ran.results["groups"][group]["exact_match,custom-extract"] == pytest.approx(right / len(rows), abs=1e-12)
    unread = None if group == "mmlu_pro" else "[invalid]"
    for task, each in by_task.items():
        for found, row in zip(ran.samples(task), each, strict=True):
            assert found["filtered_resps"]["custom-extract"][0] == (row["pred"] or unread), row["question_id"]
