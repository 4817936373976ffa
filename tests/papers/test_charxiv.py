"""CharXiv, descriptive: the recorded verdicts of runs by others give all 40 recorded numbers, through the task that ships.

github.com/alextong1010/CharXiv holds answers, scores and statistics that the authors' scripts wrote, five answers to a call.
Its scores are replayed as the replies to one call an answer. A score of -1 is one that the authors' script could not read: it
counts as 0 there; here as a failed judgement, so that the recorded number is the lower one of `judge_bounds`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_table
from tests.tasks.judged import judged

AUTHORS, COMMIT = "princeton-nlp/CharXiv", "7ebe88f78dee387691551f071abcb2b9e1a8025b"
OTHERS, THEIR_COMMIT = "alextong1010/CharXiv", "2b99e64c15a936b9245492e4d6f498dabb684ed8"
FILES = {
    name: Recording(AUTHORS, COMMIT, f"data/{name}_val.json") for name in ("descriptive", "reasoning", "image_metadata")
}
RUNS = ("gemma3-4b-it", "gemma3-27b-it", "gpt-4o-mini-2024-07-18", "deepseek-vl-7b-chat")
RECORDED = {
    (run, kind): Recording(OTHERS, THEIR_COMMIT, f"results/{kind}-{run}-descriptive_val.json")
    for run in RUNS
    for kind in ("gen", "scores", "stats")
}
TASK = "charxiv_val_descriptive"
LEVELS = {"skill": "By Category", "subject": "By Subject", "year": "By Year", "subplots": "By Subplot"}


def write_charts(root: Path) -> list[str]:
    """A data root with the 1,000 charts in the hub's schema, with pictures of one pixel; the charts' keys in order."""
    from datasets import Image, Value

    described, reasoned, papers = (each.json() for each in FILES.values())
    rows = []
    for key, asked in described.items():
        place, reasons, paper = asked["subplot_loc"], reasoned[key], papers[key]
        located = (None, None, place) if isinstance(place, str) else (*place, None)
        row: dict[str, Any] = {
            "category": paper["category"], "year": paper["year"], "original_figure_path": paper["figure_path"],
            "original_id": paper["paper_id"], "figure_path": f"images/{key}.jpg", "num_subplots": asked["num_subplots"],
            "reasoning_q": reasons["query"], "reasoning_q_source": reasons["qa_source"], "reasoning_a": reasons["answer"],
            "reasoning_a_type": reasons["inst_category"],
        }  # fmt: skip
        row |= dict(zip(("subplot_row", "subplot_col", "subplot_loc"), located, strict=True))
        for n, (kind, answer) in enumerate(zip(asked["qids"], asked["answers"], strict=True), 1):
            row |= {f"descriptive_q{n}": kind, f"descriptive_a{n}": answer}
        rows.append({"image": tiny_picture(), **row})
    numbers = ("num_subplots", "subplot_row", "subplot_col", "reasoning_q_source", "reasoning_a_type")
    features: dict[str, Any] = {
        name: Value("int64" if name in numbers or name.startswith("descriptive_q") else "string") for name in rows[0]
    }
    write_table(root, AUTHORS, "validation", rows, features={**features, "image": Image()})
    return list(described)


def reply(scored: dict[str, Any]) -> str:
    return json.dumps({"extract_answer_T1": scored["extracted_answer"], "score_T1": scored["score"]})


def check(cli: Any, folder: Path, run: str) -> None:
    answers, scores, numbers = (RECORDED[run, kind].json() for kind in ("gen", "scores", "stats"))
    slots = [f"{key}_{n}" for key in write_charts(folder / "data") for n in range(4)]
    failed = numbers["N_invalid"]
    ran = judged(
        cli, folder, TASK, [answers[slot]["response"] or " " for slot in slots], [reply(scores[slot]) for slot in slots],
        data=("--data_root", folder / "data"), code=3 if failed else 0,
    )  # fmt: skip
    row = ran.results["results"][TASK]
    assert row["judge_failed"] == failed
    overall = row["judge_bounds"][0] if failed else row["judge_score,none"]
    assert round(100 * overall, 2) == numbers["Overall Score"]
    if failed:
        return
    found = ran.results["categories"][TASK]
    compared = 1
    for level, name in [*LEVELS.items(), ("question type", "By Question")]:
        shown = {
            key.removeprefix("Q") if level == "question type" else key: value for key, value in numbers[name].items()
        }
        assert {key: round(100 * each["judge_score,none"], 2) for key, each in found[level].items()} == shown
        compared += len(shown)
    assert compared == 40


def test_gemma(cli, tmp_path: Path) -> None:
    check(cli, tmp_path, "gemma3-4b-it")


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_all_runs(cli, tmp_path: Path, run: str) -> None:
    check(cli, tmp_path, run)
