"""Evaluations of a training with stated answers: which docs are right at which step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mm_eval import evaluate

LETTERS = "ABCDE"


def gold_of(folder: Path, tasks: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of all docs, in their order."""
    made = evaluate(tasks, "dummy", sample=True, report=False, output_path=str(folder), **options)
    found = (folder / "samples").glob("*.jsonl")
    rows = [json.loads(line) for path in sorted(found) for line in path.read_text().splitlines()]
    assert made.exit_code == 0
    return sorted(rows, key=lambda row: (row["task"], row["doc_id"]))


def write_step(
    folder: Path, step: int, tasks: str, gold: Iterable[dict[str, Any]], right: Callable[[Any], bool], **options: Any
) -> Path:
    """A step's run folder, with the docs right of which `right` says so."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = folder.parent / f"{folder.name}-{step}.jsonl"
    with answers.open("w") as file:
        for row in gold:
            target = row["target"]
            letter = next(each for each in LETTERS if each in target)
            wrong = LETTERS[(LETTERS.index(letter) + 1) % 4]
            said = target if right(row) else target.replace(letter, wrong)
            file.write(json.dumps({"task": row["task"], "doc_id": row["doc_id"], "resps": [said]}) + "\n")
    place = folder / f"step-{step:08d}"
    args = {"path": str(answers)}
    evaluate(tasks, "replay", args, sample=True, report=False, output_path=str(place), **options)
    return place
