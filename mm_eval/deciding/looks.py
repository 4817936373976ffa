"""What a model is worth after each look, as files of its run folder: `looks/<number>.json`, written once the look is complete.

They are derived from the journal: a launch writes them again, and reads none of an earlier one, which may have scored otherwise
or lacked answers that failed. Within a launch a look stays as it was written, however often the model's turn comes.
`looks.json` is the record of a run that stopped, for scoring it again and for the next launch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mm_eval.deciding.order import cut_into_looks, order_digest, random_order
from mm_eval.deciding.units import TaskValues
from mm_eval.engine.folder import RunFolder
from mm_eval.open_run import OpenedRun
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prompt.task import Task
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.values.errors import MMEvalError
from mm_eval.values.files import encoder
from mm_eval.values.run_files import read_json
from mm_eval.values.types import for_json

RECORD, FOLDER = "looks.json", "looks"


@dataclass(frozen=True)
class Schedule:
    """The docs of each look of each task, in random order. digest: equal for models of one launch that can be paired."""

    looks: Mapping[str, list[list[int]]]
    digest: str
    count: int

    @classmethod
    def of(cls, opened: OpenedTasks, count: int, seed: int, launch: str = "") -> Schedule:
        looks = {
            name: cut_into_looks(
                random_order(task.groups(opened.doc_ids[name]), categories_of(task, opened.doc_ids[name]), seed, name),
                count,
            )
            for name, task in opened.tasks.items()
        }
        digest = order_digest(looks, {name: task.docs.fingerprint for name, task in opened.tasks.items()})
        return cls(looks, f"{digest} {launch}".rstrip(), count)

    def until(self, task: str, look: int) -> list[int]:
        """The docs of a task in the looks up to one (from 1), sorted."""
        return sorted(doc_id for docs in self.looks[task][:look] for doc_id in docs)

    def size(self, task: str, look: int) -> int:
        """How many docs of a task the looks up to one have."""
        return sum(map(len, self.looks[task][:look]))


def categories_of(task: Task, doc_ids: list[int]) -> dict[int, str]:
    """{doc id: its category} by the task's first level; empty for a task without categories."""
    if not (levels := task.config.category_levels):
        return {}
    found = {}
    for doc_id, doc in task.docs.texts(list(doc_ids)):
        with suppress(MMEvalError):
            found[doc_id] = next(iter(levels[0].of(doc)), "")
    return found


def score_docs(opened: OpenedRun, task: str, docs: list[int], lookup: Any, key_of: Any) -> TaskValues:
    """The values of some answered docs. key_of: (scores of a doc) -> the key of the number, or None.

    Scorers of its own are used, so that the rules that draw at random draw the same numbers when the run is scored.
    """
    scorers = opened.all_scorers(task, scorers_of(opened.tasks[task].config), lookup)
    found = TaskValues()
    for row in TaskScoring(opened.tasks[task], opened.styles[task], scorers, lookup).samples(docs):
        key = key_of(row["scores"])
        if row["status"] in ("failed", "not requested") or key is None:
            continue
        found.key = key
        found.values[row["doc_id"]] = row["scores"][key]
        found.clusters[row["doc_id"]] = json.dumps(row["cluster"]) if "cluster" in row else row["doc_id"]
    return found


def write_look(folder: RunFolder, number: int, digest: str, values: Mapping[str, TaskValues]) -> None:
    """Writes what a model is worth on the docs of one look."""
    tasks = {
        name: {"key": own.key, "docs": [[doc_id, own.values[doc_id], own.clusters[doc_id]] for doc_id in own.values]}
        for name, own in values.items()
    }
    encode = encoder(ensure_ascii=False, default=for_json)
    folder.write(f"{FOLDER}/{number}.json", encode({"v": 1, "look": number, "order": digest, "tasks": tasks}))


def read_look(folder: Path, number: int, digest: str) -> dict[str, TaskValues] | None:
    """What another model is worth on the docs of a look; None while it is not there, or is of another order."""
    try:
        found = read_json(folder, f"{FOLDER}/{number}.json")
        if found.get("order") != digest:
            return None
        return {
            str(name): TaskValues(
                {doc_id: value for doc_id, value, _ in own["docs"]},
                {doc_id: cluster for doc_id, _, cluster in own["docs"]},
                own["key"],
            )
            for name, own in found["tasks"].items()
        }
    except (OSError, MMEvalError, KeyError, TypeError, ValueError, AttributeError):
        return None  # written at this moment, or by another version: its run writes it again


def forget(folder: RunFolder) -> None:
    """Removes what an earlier launch that stopped left: this one goes on to all docs."""
    with suppress(OSError):
        (folder.path / RECORD).unlink(missing_ok=True)
    forget_looks(folder)


def kept_looks(folder: RunFolder, schedule: Schedule) -> list[dict[str, TaskValues]]:
    """The looks that an earlier turn of this launch wrote, from the first on: other models have decided by them.

    Those of an earlier launch are removed.
    """
    found: list[dict[str, TaskValues]] = []
    while (values := read_look(folder.path, len(found) + 1, schedule.digest)) is not None:
        found.append(values)
    if not found:
        forget_looks(folder)
    return found


def forget_looks(folder: RunFolder) -> None:
    """Removes the looks of an earlier launch."""
    if (folder.path / FOLDER).is_dir() and not (folder.path / FOLDER).is_symlink():
        shutil.rmtree(folder.path / FOLDER, ignore_errors=True)
