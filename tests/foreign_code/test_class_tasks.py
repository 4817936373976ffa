"""Tasks that are written as classes, in lm-eval's way: their docs, requests, scores and aggregations are the class's own."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest

from mm_eval import evaluate
from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.values.errors import ConfigError

CLASS = """
import numpy as np
from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask

def longest(items):
    return max(len(text) for text, _ in items)

class Mixed(ConfigurableTask):
    VERSION = 2
    DATASET_PATH = "org/made_up"
    DATASET_NAME = None

    def __init__(self, config=None):
        super().__init__(config={"metadata": {"version": self.VERSION}})

    def has_training_docs(self):
        return True

    def has_validation_docs(self):
        return True

    def has_test_docs(self):
        return False

    def training_docs(self):
        return self.dataset["train"]

    def validation_docs(self):
        return [{**row, "is_yes_no": row["answer"] in ("yes", "no")} for row in self.dataset["validation"]]

    def doc_to_text(self, doc):
        return "Question: " + doc["question"] + " Answer:"

    def doc_to_target(self, doc):
        return " " + doc["answer"]

    def construct_requests(self, doc, ctx, chat_template=None, apply_chat_template=False, **kwargs):
        def scored(text, idx):
            return Instance(request_type="loglikelihood", doc=doc, arguments=(ctx, text), idx=idx, **kwargs)

        if doc["is_yes_no"]:
            return [scored(" yes", 0), scored(" no", 1)]
        said = Instance(request_type="generate_until", doc=doc, arguments=(ctx, {"until": ["\\n"]}), idx=0, **kwargs)
        return [said, scored(" unanswerable", 0)]

    def process_results(self, doc, results):
        if doc["is_yes_no"]:
            said = "yes" if results[0] > results[1] else "no"
        else:
            said, (unanswerable, _) = results
            said = "unanswerable" if unanswerable > -1 else said
        return {"exact": float(said == doc["answer"]), "longest": (said, doc["answer"])}

    def aggregation(self):
        return {"exact": np.mean, "longest": longest}

    def higher_is_better(self):
        return {"exact": True, "longest": False}


class FromConfig(ConfigurableTask):
    def process_results(self, doc, results):
        return {"exact": float(results[0] == doc["answer"]) * self.config["metadata"]["weight"]}

    def aggregation(self):
        return {"exact": np.mean}

    def higher_is_better(self):
        return {"exact": True}


class Neither(ConfigurableTask):
    pass
"""
ROWS = {"question": ["Is it?", "Is it not?", "Who?", "What?"], "answer": ["yes", "no", "Ann", "a cat"]}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "task.py").write_text(CLASS)
    (folder / "mixed.yaml").write_text("task: mixed\nclass: !function task.Mixed\n")
    (folder / "neither.yaml").write_text("task: neither\nclass: !function task.Neither\n")
    (folder / "stated.yaml").write_text(
        "task: stated\nclass: !function task.FromConfig\ndataset_path: org/made_up\nvalidation_split: validation\n"
        "doc_to_text: '{{question}}'\ndoc_to_target: answer\nmetadata: {version: 1, weight: 0.5}\n"
    )
    data = tmp_path / "data/org/made_up"
    data.mkdir(parents=True)
    for split in ("train", "validation"):
        datasets.Dataset.from_dict(ROWS).to_parquet(str(data / f"{split}.parquet"))
    return tmp_path


def run(tree: Path, task: str, answers: list[Any]) -> Any:
    replay = tree / "replay.jsonl"
    rows = [{"task": task, "doc_id": doc_id, "resps": resps} for doc_id, resps in enumerate(answers)]
    replay.write_text("".join(json.dumps(row) + "\n" for row in rows))
    where = {
        "include_path": str(tree / "tasks"),
        "data_root": str(tree / "data"),
        "output_path": str(tree / f"run_{task}"),
    }
    return evaluate(tasks=task, model="replay", model_args={"path": str(replay)}, **where).raw


def test_each_doc_asks_what_its_class_asks_and_is_scored_by_it(tree: Path) -> None:
    answers = [
        [[-1.0, True], [-2.0, False]],
        [[-1.0, True], [-2.0, False]],
        ["Ann", [-9.0, False]],
        ["a cat", [-0.5, False]],
    ]
    found = run(tree, "mixed", answers)
    row = found["results"]["mixed"]
    assert row["exact,none"] == 0.5 and row["longest,none"] == len("unanswerable")
    assert row["n"] == 4 and row["failed"] == 0
    assert found["higher_is_better"]["mixed"] == {"exact": True, "longest": False}
    rows = [json.loads(line) for line in (tree / "run_mixed/samples/mixed.jsonl").read_text().splitlines()]
    assert "Question: Who? Answer:" in json.dumps(rows[2])


@pytest.mark.full
def test_what_the_class_does_not_say_stands_in_its_file(tree: Path) -> None:
    assert run(tree, "stated", [["yes"], ["no"], ["Ann"], ["dog"]])["results"]["stated"]["exact,none"] == 0.375


def test_a_class_without_docs_is_one_sentence(tree: Path) -> None:
    config = TaskManager(str(tree / "tasks")).load("neither").tasks["neither"]
    with pytest.raises(
        ConfigError, match=r"neither.yaml:2: the class 'Neither' has neither test nor validation documents"
    ):
        config.resolved(FOREIGN_CODE)
