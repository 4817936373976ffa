"""NExT-QA: the recorded predictions of HGA on val give the numbers of the repository's table, by kind and by type.

The predicted options are replayed as letters through the task's functions.
"""

import csv

import pytest
from mm_eval.tasks.nextqa.utils import LETTERS, kind, process_results, question_type

from tests.papers.recordings import Recording

REPOSITORY, COMMIT = "doc-doc/NExT-QA", "6b92588ab4496268fa1caab9414a8b998ee063c5"
QUESTIONS = Recording(REPOSITORY, COMMIT, "dataset/nextqa/val.csv")
PREDICTIONS = Recording(REPOSITORY, COMMIT, "results/HGA-bert-ft-h256-val.json")
TABLE = {"causal": 46.26, "temporal": 50.74, "descriptive": 59.33, "all": 49.74}


def test_hga_on_val() -> None:
    rows, said = list(csv.DictReader(QUESTIONS.text().splitlines())), PREDICTIONS.json()
    scores: dict[str, list[float]] = {}
    for row in rows:
        assert str(said[f"{row['video']}_{row['qid']}"]["answer"]) == row["answer"]
        letter = LETTERS[said[f"{row['video']}_{row['qid']}"]["prediction"]]
        for name in (kind(row), question_type(row), "all"):
            scores.setdefault(str(name), []).append(process_results(row, [letter])["acc"])
    means = {name: 100 * sum(each) / len(each) for name, each in scores.items()}
    assert len(rows) == 4996 and set(means) >= {"why", "how", "before and after", "when", "count", "location", "other"}
    assert {name: means[name] for name in TABLE} == pytest.approx(TABLE, abs=0.005)
