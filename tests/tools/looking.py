"""Chains with zoom in which a real model answers: it looks at a part before each answer but the last, whatever it says.

The bundled models were not trained to call, so a call is put behind their own words. What they say to the part, and to all that
was said before, is theirs: it is equal for two engines only if these build equal prompts, turn after turn, pictures included.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mm_eval import evaluate
from mm_eval.data.media import picture_digest
from mm_eval.engine.model import Answers, Model
from mm_eval.values.types import Answer, Instance
from tests.folders import write_task
from tests.tools.scripted import call

DOCS = 3
TASK = """task: looks
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
doc_to_visual: !function utils.visual
generation_kwargs: {max_new_tokens: 6}
tools: {use: [zoom, crop], rounds: 4, format: hermes, boxes: per_mille}
metric_list: [{metric: exact_match}]
"""
UTILS = """
import numpy as np
from PIL import Image


def visual(doc):
    blocks = np.random.RandomState(doc["n"]).randint(0, 256, (6, 8, 3)).astype("uint8")
    return [Image.fromarray(blocks).resize((160 + 32 * doc["n"], 120), Image.Resampling.NEAREST)]
"""
QUESTIONS = ("What is shown in the picture?", "Which colour is the largest part?", "Is there a red circle?")


def write(folder: Path) -> str:
    """The files of the task. Returns the path of its YAML."""
    rows = [{"n": n, "q": QUESTIONS[n], "a": ""} for n in range(DOCS)]
    return write_task(folder, "looks", TASK, UTILS, rows)


def looks(instance: Instance, answer: Answer) -> Answer:
    """The answer with a call behind it. The second document looks at a part of a part, the third looks twice in a turn."""
    if instance.turn == 2:
        return answer
    corner = 100 * instance.doc_id + 50 * instance.turn
    of_part = {"img_idx": 1} if instance.doc_id == 1 and instance.turn else {}
    calls = [call(bbox_2d=[corner, corner, corner + 400, 700], **of_part)]
    if instance.doc_id == 2:
        calls.append(call("crop", bbox_2d=[0, 0, 500, 500 + corner]))
    return replace(answer, output="\n".join([str(answer.output), *calls]), ended="stop")


def chains(task: str, folder: Path, model: Model, **options: Any) -> list[list[dict[str, Any]]]:
    """The turns of each document under a model that looks: the pictures that were shown, and the answers."""
    whole = model.generate

    def generate(instances: Iterable[Instance]) -> Answers:
        for instance, answer in whole(instances):
            assert isinstance(answer, Answer), answer
            yield instance, looks(instance, answer)

    model.generate = generate  # type: ignore[method-assign]
    try:
        results = evaluate(model=model, tasks=[task], output_path=str(folder), report=False, **options)
    finally:
        del model.generate
    rows = [json.loads(line) for line in (folder / "samples" / "looks.jsonl").read_text().splitlines()]
    assert results.exit_code == 0, [row.get("error") for row in rows]
    found = [
        [{**_shown(turn), **{name: turn[name] for name in ("answer", "ended")}} for turn in row["turns"][0]]
        for row in rows
    ]
    assert [len(turns) for turns in found] == [3] * DOCS and [row["tools"]["pictures"] for row in rows] == [2, 2, 4]
    return found


def _shown(turn: Mapping[str, Any]) -> dict[str, Any]:
    """The pictures in what was said before an answer: a server gets results as messages of their own, and the same pictures."""
    parts = [part for message in turn["messages"] for part in message["content"]]
    return {"shown": [(part["digest"], part["size"]) for part in parts if part["type"] == "image"]}


def instance_of(body: Mapping[str, Any]) -> Instance:
    """What a server's model is asked by a request in OpenAI's protocol."""
    from tests.faults.server import pixels

    pictures, messages = [], []
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        pictures += [pixels(part["image_url"]["url"])[1] for part in parts if part["type"] == "image_url"]
        shown = [{"type": "image"} if part["type"] == "image_url" else part for part in parts]
        messages.append({**message, "content": shown})
    digests = tuple(map(picture_digest, pictures))
    cap = {"max_new_tokens": body["max_tokens"]}
    return Instance(
        "generate_until",
        "served",
        0,
        {},
        messages,
        generation_kwargs=cap,
        images=lambda: pictures,
        image_digests=digests,
    )
