"""GSM8K: the solutions of the paper's four models, with a verdict on each."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.papers.recordings import Recording, write_answers, write_table

SOURCE = ("openai/grade-school-math", "3101c7d5072418e28b9008a6636bde82a006892c")
TEST = Recording(*SOURCE, "grade_school_math/data/test.jsonl")
TRAIN = Recording(*SOURCE, "grade_school_math/data/train.jsonl")
SOLUTIONS = Recording(*SOURCE, "grade_school_math/data/example_model_solutions.jsonl")
RIGHT = {"6b_finetuning": 286, "6b_verification": 515, "175b_finetuning": 458, "175b_verification": 742}


@pytest.mark.parametrize("model", RIGHT)
def test_recorded_verdicts(cli: Callable[..., Ran], tmp_path: Path, model: str) -> None:
    """The file has "A:" where the data set and the paper's rule have "####"."""
    rows, recorded = TEST.jsonl(), SOLUTIONS.jsonl()
    assert [row["question"].strip() for row in rows] == [row["question"].strip() for row in recorded]
    write_table(tmp_path, "openai/gsm8k", "test", rows, "main")
    write_table(tmp_path, "openai/gsm8k", "train", TRAIN.jsonl()[:100], "main")
    solutions = [re.sub(r"^A: ", "#### ", row[model]["solution"], flags=re.MULTILINE) for row in recorded]
    path = write_answers(tmp_path / "answers.jsonl", {"gsm8k": solutions})
    ran = cli("--tasks", "gsm8k", "--model", "replay", "--model_args", f"path={path}", "--data_root", tmp_path)
    assert ran.code == 0, ran.err
    assert ran.results["results"]["gsm8k"]["exact_match,strict-match"] == pytest.approx(RIGHT[model] / 1319, abs=1e-12)
    scores = {row["doc_id"]: row["scores"] for row in ran.samples("gsm8k")}
    for number, row in enumerate(recorded):
        verdict = row[model]["is_correct"]
        assert scores[number]["exact_match,strict-match"] == verdict, number
    # the last number of a solution says the same in all 1,319, in whatever form
    assert ran.results["results"]["gsm8k"]["exact_match,flexible-extract"] == pytest.approx(
        RIGHT[model] / 1319, abs=1e-12
    )
