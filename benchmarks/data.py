"""Data sets of any size in the shape of MME (two questions a picture) and of a four-choice text task; written once."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

from measure import SCRATCH

WORDS = ["what", "is", "the", "colour", "of", "a", "big", "bus", "in", "town", "and", "why", "does", "it", "move"]

CATEGORIES = (
    "existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR",
    "commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning",
)  # fmt: skip


def mme_shaped(docs: int) -> Path:
    """A data root with `lmms-lab/MME`: pictures of 336 x 336, two docs each. Written in row groups, never held as a whole."""
    root = SCRATCH / f"mme-{docs}"
    target = root / "lmms-lab" / "MME" / "data" / "test-00000-of-00001.parquet"
    if target.exists():
        return root
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    target.parent.mkdir(parents=True, exist_ok=True)
    features = {
        "question_id": {"dtype": "string", "_type": "Value"},
        "image": {"_type": "Image"},
        "question": {"dtype": "string", "_type": "Value"},
        "answer": {"dtype": "string", "_type": "Value"},
        "category": {"dtype": "string", "_type": "Value"},
    }
    picture = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    names = ["question_id", "image", "question", "answer", "category"]
    types = [pa.string(), picture, pa.string(), pa.string(), pa.string()]
    schema = pa.schema(list(zip(names, types, strict=True))).with_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    partial = target.with_suffix(".partial")
    with pq.ParquetWriter(partial, schema) as writer:
        for start in range(0, docs, 200):
            rows = []
            for number in range(start, min(start + 200, docs)):
                blocks = np.random.RandomState(number // 2).randint(0, 256, (8, 8, 3)).astype(np.uint8)
                file = io.BytesIO()
                Image.fromarray(blocks).resize((336, 336)).save(file, "JPEG", quality=88)
                rows.append(
                    {
                        "question_id": f"picture-{number // 2}.jpg",
                        "image": {"bytes": file.getvalue(), "path": None},
                        "question": f"Is there a {WORDS[number % 15]} in this image? Please answer yes or no.",
                        "answer": "No" if number % 2 else "Yes",
                        "category": CATEGORIES[number // 2 % len(CATEGORIES)],
                    }
                )
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
