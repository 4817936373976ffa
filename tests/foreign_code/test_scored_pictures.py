"""process_results may look at the doc's pictures, and an aggregation may give several numbers, as in lmms-eval."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
from PIL import Image

from mm_eval import evaluate
from mm_eval.values.task_values import WithoutPictures

UTILS = """{first}
def scored(doc, results):
    inside = "image" in doc and "absent" not in doc and doc.get("absent") is None
    return {{"width": doc["image"].size[0] if inside else -1, "parts": (doc["kind"], 1.0)}}

def by_kind(items):
    kinds = sorted({{kind for kind, _ in items}})
    return {{kind: sum(value for name, value in items if name == kind) for kind in kinds}}
"""
TASK = """task: seen
dataset_path: org/seen
test_split: test
doc_to_visual: image
doc_to_text: question
doc_to_target: answer
process_results: !function utils.scored
metric_list:
  - {metric: width, aggregation: mean}
  - {metric: parts, aggregation: !function utils.by_kind}
"""


@pytest.mark.parametrize("first", ["", "import os\n"], ids=["in this process", "in another one"])
def test_a_function_that_scores_sees_the_pictures_of_its_doc(tmp_path: Path, first: str) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/utils.py").write_text(UTILS.format(first=first))
    (tmp_path / "tasks/seen.yaml").write_text(TASK)
    data = tmp_path / "data/org/seen"
    data.mkdir(parents=True)
    pictures = [Image.new("RGB", (width, 8)) for width in (10, 20, 30)]
    rows = {"image": pictures, "question": ["?"] * 3, "answer": ["a"] * 3, "kind": ["b", "c", "b"]}
    datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image()).to_parquet(str(data / "test.parquet"))
    where: dict[str, Any] = {"include_path": str(tmp_path / "tasks"), "data_root": str(tmp_path / "data")}
    found = evaluate(tasks="seen", model="dummy", output_path=str(tmp_path / "run"), **where)
    row = found.raw["results"]["seen"]
    assert row["width,none"] == 20 and row["parts,none"] == {"b": 2.0, "c": 1.0}
    rows_written = [json.loads(line) for line in (tmp_path / "run/samples/seen.jsonl").read_text().splitlines()]
    assert [row["doc"].keys() for row in rows_written] == [{"question": 0, "answer": 0, "kind": 0}.keys()] * 3


def test_only_a_column_with_pictures_loads_the_doc() -> None:
    loads: list[int] = []

    def load() -> dict[str, object]:
        loads.append(1)
        return {"question": "?", "image": "pixels"}

    doc = WithoutPictures({"question": "?"}, load, ["image"])
    assert doc["question"] == "?" and doc.get("other") is None and "other" not in doc and "image" in doc
    with pytest.raises(KeyError):
        doc["other"]
    assert loads == [] and doc["image"] == "pixels" and doc.get("image") == "pixels" and loads == [1, 1]
    assert dict(doc) == {"question": "?"}
