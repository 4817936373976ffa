"""lmms-eval's own numbers for tasks of its tree, on made-up documents and pictures and drawn answers, under its own Python.

    python tree_of_lmms_eval.py NAMES.json OUT [DOCS [SECONDS]]

Writes what `tree_of_lm_eval.py` writes.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", DISABLE_MULTIPROC="1", OPENAI_API_KEY="none")
import contextlib

import datasets
import made_up_docs
from lmms_eval.api.model import lmms
from lmms_eval.api.task import ConfigurableTask
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.tasks import TaskManager
from PIL import Image
from tree_of_lm_eval import POOL, SPLITS, Stop, drawn, each_alone, likelihood, names_in


def guess(key: str, doc: int, level: int) -> Any:
    """As of a text task, with pictures."""
    name = key.lower()
    is_picture = re.search(r"image|img|picture|visual|frame$|figure", name)
    other = re.search(r"id|path|name|url|num|type|desc|size|width|height|count|source|categ", name)
    picture = Image.new("RGB", (24 + doc, 18), (doc * 40 % 255, 90, 20))
    if level == 0 and is_picture and not other:
        return picture
    if level in (made_up_docs.PICTURE, 9):
        return [picture] if level == 9 else picture
    return made_up_docs.text_guess(key, doc, level if level < 4 else level - 1)


class Drawn(lmms):
    def __init__(self) -> None:
        super().__init__()
        self.golds: dict[int, str] = {}
        self.said: dict[int, list[Any]] = {}

    def text(self, doc: int) -> str:
        gold, form = self.golds.get(doc, ""), drawn("form", doc) % 4
        return (gold, f"The answer is {gold}.", POOL[drawn("pool", doc) % len(POOL)], f"{gold}\nIt is so.")[form]

    def generate_until(self, requests: Any) -> list[str]:
        for each in requests:
            self.said.setdefault(each.doc_id, []).append(self.text(each.doc_id))
        return [self.text(each.doc_id) for each in requests]

    def loglikelihood(self, requests: Any) -> list[tuple[float, bool]]:
        for each in requests:
            self.said.setdefault(each.doc_id, []).append(likelihood(each.doc_id, each.idx))
        return [likelihood(each.doc_id, each.idx) for each in requests]

    def generate_until_multi_round(self, requests: Any) -> list[str]:
        raise NotImplementedError


class Arguments(SimpleNamespace):
    """What a program would have been called with."""

    def __getattr__(self, name: str) -> Any:
        return None


def of_docs(self: Any, docs: Any) -> None:
    splits = [getattr(self.config, each) for each in SPLITS]
    self.dataset = {each: docs for each in splits if each}
    if self.config.process_docs is not None:
        self.dataset = {each: self.config.process_docs(docs) for each in self.dataset}
    self.dataset_no_image = dict(self.dataset)


def made(manager: Any, name: str, count: int) -> list[dict[str, Any]]:
    named: list[str] = []

    def peek(self: Any, *_: Any, **__: Any) -> None:
        named.extend(names_in(self.config))
        raise Stop

    ConfigurableTask.download = peek
    with contextlib.suppress(Stop):
        manager.load_task_or_group([name])

    def use(docs: list[made_up_docs.Made]) -> None:
        ConfigurableTask.download = lambda self, *_, **__: of_docs(self, made_up_docs.Split(docs))
        (task,) = manager.load_task_or_group([name]).values()
        if not hasattr(task, "task_docs"):
            raise made_up_docs.Unfit("a group")
        values: dict[str, list[Any]] = {}
        for i, doc in enumerate(task.task_docs):
            context, target = task.doc_to_text(doc), task.doc_to_target(doc)
            assert isinstance(context, str)
            if task.config.doc_to_visual is not None:
                shown = task.doc_to_visual(doc)
                assert all(isinstance(each, Image.Image) for each in shown)
            if task.OUTPUT_TYPE == "multiple_choice":
                results: Any = [likelihood(i, place) for place in range(len(task.doc_to_choice(doc)))]
            elif task.OUTPUT_TYPE == "generate_until":
                results = [str(target)]
            else:
                raise made_up_docs.Unfit(str(task.OUTPUT_TYPE))
            for metric, value in task.process_results(doc, results).items():
                values.setdefault(metric, []).append(value)
        assert values
        for metric, aggregate in task.aggregation().items():
            if metric in values:
                aggregated(aggregate, values[metric])

    return made_up_docs.rows_of(made_up_docs.fitted(use, count, guess, named))


def aggregated(function: Any, values: list[Any]) -> Any:
    import inspect

    takes = inspect.signature(function).parameters
    return function(values, args=Arguments(output_path="out")) if "args" in takes else function(values)


def run(manager: Any, name: str, folder: Path, count: int) -> None:
    rows = made(manager, name, count)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rows.parquet"
    datasets.Dataset.from_list(rows).to_parquet(file)
    os.chdir(folder)
    data = datasets.load_dataset("parquet", data_files={"test": str(file)}, cache_dir=str(folder / "cache"))["test"]
    ConfigurableTask.download = lambda self, *_, **__: of_docs(self, data)
    (task,) = manager.load_task_or_group([name]).values()
    model = Drawn()
    for i, doc in enumerate(task.task_docs):
        target = task.doc_to_target(doc)
        model.golds[i] = str(target[0] if isinstance(target, list) and target else target)
    found = simple_evaluate(
        model=model, tasks=[name], task_manager=manager, bootstrap_iters=2, log_samples=True, batch_size=1,
        cli_args=Arguments(output_path=str(folder / "out"), model="drawn", process_with_media=True), force_simple=True,
    )  # fmt: skip
    config = task.config
    parts: dict[str, Any] = {"results": found["results"]}
    parts["samples"] = {name: [
        {"doc_id": i, "arguments": [[task.doc_to_text(doc)]]} for i, doc in enumerate(task.task_docs)
    ]}  # fmt: skip
    parts["about"] = {
        "task": name, "output_type": config.output_type, "splits": sorted({s for s in (getattr(config, k) for k in SPLITS) if s}),
    }  # fmt: skip
    with (folder / "answers.jsonl").open("w") as out:
        for doc, resps in sorted(model.said.items()):
            out.write(json.dumps({"task": name, "doc_id": doc, "resps": resps}) + "\n")
    said = json.dumps(parts, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
    (folder / "said.json").write_text(said)


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    each_alone(run, TaskManager("ERROR", model_name="drawn"))
