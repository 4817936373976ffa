"""Data sets of any size, written once: like MME (two questions a picture), like SEED-Bench (a picture a question), and text."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import SCRATCH

WORDS = ["what", "is", "the", "colour", "of", "a", "big", "bus", "in", "town", "and", "why", "does", "it", "move"]

CATEGORIES = (
    "existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR",
    "commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning",
)  # fmt: skip


TEXT = {"dtype": "string", "_type": "Value"}


def mme_shaped(docs: int) -> Path:
    """A data root with `lmms-lab/MME`: pictures of 336 x 336, two docs each."""

    def row(number: int) -> dict[str, Any]:
        return {
            "question_id": f"picture-{number // 2}.jpg",
            "image": {"bytes": _jpeg(number // 2, (8, 8), (336, 336)), "path": None},
            "question": f"Is there a {WORDS[number % 15]} in this image? Please answer yes or no.",
            "answer": "No" if number % 2 else "Yes",
            "category": CATEGORIES[number // 2 % len(CATEGORIES)],
        }

    return _data_root(f"mme-{docs}", "lmms-lab/MME", docs, row, image={"_type": "Image"})


def seed_shaped(docs: int, size: tuple[int, int] = (640, 480)) -> Path:
    """A data root with `lmms-lab/SEED-Bench`: a picture of its own for each doc, and four choices."""

    def row(number: int) -> dict[str, Any]:
        draw = random.Random(number)
        choices = {f"choice_{letter}": " ".join(draw.choices(WORDS, k=4)) + f" {letter}" for letter in "abcd"}
        return {
            "answer": draw.choice("ABCD"),
            **choices,
            "data_id": f"{number}",
            "data_type": "image",
            "image": [{"bytes": _jpeg(number, (30, 40), size), "path": None}],
            "question": f"What is {WORDS[number % 15]} in the picture?",
            "question_id": f"{number}",
            "question_type_id": number % 9 + 1,
        }

    number = {"dtype": "int64", "_type": "Value"}
    pictures = {"feature": {"_type": "Image"}, "_type": "List"}
    name = f"seed-{docs}" if size == (640, 480) else f"seed-{docs}-{size[0]}"
    return _data_root(name, "lmms-lab/SEED-Bench", docs, row, image=pictures, question_type_id=number)


def _jpeg(seed: int, blocks: tuple[int, int], size: tuple[int, int]) -> bytes:
    """A JPEG of blurred blocks of random colours."""
    import numpy as np
    from PIL import Image

    colours = np.random.RandomState(seed).randint(0, 256, (*blocks, 3)).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(colours).resize(size).save(file, "JPEG", quality=88)
    return file.getvalue()


def _data_root(name: str, path: str, docs: int, row: Callable[[int], dict[str, Any]], **features: Any) -> Path:
    """A data root with one data set of one parquet file, written in row groups and never held as a whole.

    features: of the columns that are not text.
    """
    root = SCRATCH / name
    target = root / path / "data" / "test-00000-of-00001.parquet"
    if target.exists():
        return root
    import pyarrow as pa
    import pyarrow.parquet as pq

    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    types = {"Image": picture, "List": pa.list_(picture), "Value": pa.int64()}
    declared = {column: features.get(column, TEXT) for column in row(0)}
    columns = [(column, types[features[column]["_type"]] if column in features else pa.string()) for column in declared]
    schema = pa.schema(columns).with_metadata({"huggingface": json.dumps({"info": {"features": declared}})})
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    with pq.ParquetWriter(partial, schema) as writer:
        for start in range(0, docs, 200):
            rows = [row(number) for number in range(start, min(start + 200, docs))]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    partial.rename(target)
    return root


def four_choices(docs: int) -> Path:
    """A folder with `four_choices.yaml` and its docs: questions of 30 words, four choices of three."""
    folder = SCRATCH / f"text-{docs}"
    if (folder / "four_choices.yaml").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)
    with (folder / "docs.jsonl").open("w") as file:
        for number in range(docs):
            row = {
                "question": f"Question {number}: " + " ".join(draw.choices(WORDS, k=30)),
                "choices": [" ".join(draw.choices(WORDS, k=3)) + f" {choice}" for choice in range(4)],
                "answer": draw.randrange(4),
            }
            file.write(json.dumps(row) + "\n")
    (folder / "four_choices.yaml").write_text(
        "task: four_choices\ndataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: {folder / 'docs.jsonl'}}}}}\n"
        "test_split: test\noutput_type: multiple_choice\n"
        'doc_to_text: "{{question}}\\nAnswer:"\ndoc_to_choice: choices\ndoc_to_target: answer\n'
        "metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]\n"
    )
    return folder


def many_tasks(count: int) -> Path:
    """A folder with that many task files, to list."""
    folder = SCRATCH / f"tasks-{count}"
    if (folder / f"task_{count - 1}.yaml").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"task_{number}.yaml").write_text(
            f"task: made_up_{number}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: docs.jsonl}}}}\n"
            "test_split: test\noutput_type: multiple_choice\ndoc_to_text: question\ndoc_to_choice: choices\n"
            "doc_to_target: answer\nmetric_list: [{metric: acc}]\n"
        )
    return folder
