"""The tool python with workers: code runs beside the command, so a worker that dies takes no variable with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mm_eval.engine.journal import read_journal
from tests.folders import write_task
from tests.ray.model import CODE
from tests.sandbox.there import sandbox

DOCS = 12
TASK = """task: counts
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
doc_to_visual: !function utils.visual
metric_list: [{metric: exact_match}]
"""
UTILS = """
from PIL import Image


def visual(doc):
    picture = Image.new("RGB", (60, 40), "white")
    picture.paste("red", (0, 0, 3 + doc["n"], 5))
    return [picture]
"""


def words_of(folder: Path) -> tuple[object, ...]:
    rows = [{"n": n, "q": "How many red pixels are there?", "a": str(5 * (3 + n))} for n in range(DOCS)]
    return "--tasks", f"{write_task(folder, 'counts', TASK, UTILS, rows)}@python"


def right(run: Any) -> None:
    row = run.results["results"]["counts@python"]
    assert (row["exact_match,none"], row["n"], row["failed"]) == (1.0, DOCS, 0), row
    made = read_journal(run.folder).tools.values()
    assert sorted((each.slot.doc_id, each.code) for each in made) == sorted(
        (doc_id, code) for doc_id in range(DOCS) for code in CODE
    ), "each call was made once"
    assert {each.ending for each in made} == {"ok"} and not any(each.restored for each in made)


def test_workers_that_die_between_and_in_calls_cost_no_variable_and_no_call(
    start: Callable[..., Any], tmp_path: Path
) -> None:
    sandbox()
    words = words_of(tmp_path / "task")
    one, fleet = start(*words, workers=0, name="one", counts=1), start(*words, seconds=0.3, counts=1)
    one.end()
    for requests in (5, DOCS + 4, 2 * DOCS + 2):
        fleet.wait_for(requests)
        fleet.kill_a_worker()
    assert fleet.end().count("is gone, and what it had not answered is asked elsewhere") == 3
    right(one), right(fleet)
    assert fleet.results["results"] == one.results["results"]


def test_a_killed_command_with_workers_goes_on_with_its_calls(start: Callable[..., Any], tmp_path: Path) -> None:
    sandbox()
    words = words_of(tmp_path / "task")
    run = start(*words, seconds=0.2, counts=1)
    run.wait_for(DOCS + 6)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    answered = sum(row["kind"] == "answer" for row in run.answers())
    again = start(*words, counts=1)
    again.end()
    right(again)
    assert answered >= DOCS and len(again.noted("ask")) == 3 * DOCS - answered, "nothing answered was asked again"
