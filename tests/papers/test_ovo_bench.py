"""OVO-Bench: the recorded replies of Gemini 1.5 Pro give the numbers of the authors' README.

They are replayed through the tasks' functions. 35 requests got no reply: the authors count them as wrong, so they are empty here.
"""

from typing import Any

import pytest
from mm_eval.tasks.ovo_bench.utils import LETTERS, process_part, process_results

from mm_eval.scoring.metrics.aggregation import mean_of_means
from tests.papers.recordings import Recording

REPOSITORY, COMMIT = "JoeLeelyf/OVO-Bench", "c34093f9a072d93f9e1c6b923446dfba71f4528e"
PARTS = ("ASI", "EPM", "HLD", "OCR_ACR_ATR", "REC_SSR_CRR", "STU_FPD_OJR")
FILES = [
    Recording(REPOSITORY, COMMIT, f"results/Gemini/Gemini_{part}_offline{'_1' * (part == 'HLD')}.json")
    for part in PARTS
]
TASKS = {
    "ASI": 76.35, "HLD": 52.69, "EPM": 58.59, "ATR": 79.31, "ACR": 66.97, "OCR": 85.91, "STU": 58.43, "OJR": 61.96, "FPD": 63.37,
    "REC": 35.53, "SSR": 74.24, "CRR": 61.67,
}  # fmt: skip
KINDS = {"backward": (631, 62.54), "realtime": (837, 69.32), "forward": (1567, 57.15)}


def scored(kind: str, row: dict[str, Any]) -> list[tuple[str, float]]:
    """(task, score) of each time at which a question was asked."""
    if kind == "forward":
        docs = [({"task": row["task"], "asked": asked}, asked["response"]) for asked in row["test_info"]]
        return [process_part(doc, [reply or ""])["score"] for doc, reply in docs]
    doc = {"task": row["task"], "gt": LETTERS.index(row["ground_truth"]), "options": LETTERS[:5]}
    return [process_results(doc, [row["response"] or ""])["score"]]


def test_gemini_1_5_pro() -> None:
    files = [file.json() for file in FILES]
    means = []
    for kind, (size, mean) in KINDS.items():
        items = [item for file in files for row in file[kind] for item in scored(kind, row)]
        assert len(items) == size
        for task in {task for task, _ in items}:
            of_task = [score for name, score in items if name == task]
            assert 100 * sum(of_task) / len(of_task) == pytest.approx(TASKS[task], abs=0.005)
        means.append(mean_of_means(items))
        assert 100 * means[-1] == pytest.approx(mean, abs=0.005)
    assert 100 * sum(means) / 3 == pytest.approx(63.00, abs=0.005)
