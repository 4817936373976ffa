"""What pictures of 1024 x 768 cost before the model sees them.

    python benchmarks/preprocessing.py waiting [PICTURES]
    python benchmarks/preprocessing.py prompts llava-1.5-7b|qwen2.5-vl-7b once|always

waiting: 8 pictures a batch with one question each, on the reference model. Prints the share of wall time, from the first forward
to the last, in which no forward runs, as JSON, and the same with pictures written when they are asked for. A forward on a CPU
takes far longer than on a GPU, so `wait` counts the time itself too.

prompts: writes 25 pictures x 6 questions without a model, with the processor of a checkpoint. Prints as JSON the calls of its
image processor, the decoded pictures, CPU milliseconds a question, and the growth of peak memory in MB while a slow model lets
the writers get ahead as far as they may. `always` decodes and preprocesses for every question, as before pictures were kept.
"""

from __future__ import annotations

import io
import json
import sys
import time
from functools import partial
from typing import Any

import numpy as np
import torch
from large_models import checkpoint
from measure import SCRATCH, cpu_of, peak_memory
from mm_eval.models.hf import asking
from mm_eval.models.hf.prompts import ahead
from mm_eval.models.hf.prompts.preprocessing import Preprocessor
from PIL import Image
from reference_model import build
from workloads import ASKED, read

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import Instance

PICTURES = 25
HEAD_START = 8
"""Seconds that the first question takes the model."""


def _pictures(data: bytes) -> list[Image.Image]:
    return [read(data)]


def questions(first: int, count: int, asked: tuple[str, ...] = ASKED[2:3]) -> list[Instance]:
    """Pictures with the same questions on each."""
    rows = []
    for number in range(first, first + count):
        blocks = np.random.RandomState(number).randint(0, 256, (48, 64, 3)).astype(np.uint8)
        target = io.BytesIO()
        Image.fromarray(blocks).resize((1024, 768)).save(target, "JPEG", quality=88)
        for place, text in enumerate(asked):
            parts = [{"type": "image"}, {"type": "text", "text": text}]
            rows.append(
                Instance(
                    "generate_until",
                    "pictures",
                    number * len(asked) + place,
                    {},
                    context=[{"role": "user", "content": parts}],
                    images=partial(_pictures, target.getvalue()),
                    image_digests=(str(number),),
                    generation_kwargs={"max_new_tokens": 1},
                    pixels=1024 * 768,
                )
            )
    return rows


def waiting(model: Any, rows: list[Instance]) -> tuple[float, float]:
    """Seconds without a forward between the first and the last, and the seconds from first to last."""
    spans: list[tuple[float, float]] = []
    run = model.runtime.answered

    def timed(*args: Any) -> Any:
        start = time.perf_counter()
        answers = list(run(*args))
        spans.append((start, time.perf_counter()))
        return iter(answers)

    model.runtime.answered = timed
    list(model.generate(rows))
    model.runtime.answered = run
    whole = spans[-1][1] - spans[0][0]
    return whole - sum(end - start for start, end in spans), whole


class Counting:
    """An image processor that counts its calls."""

    def __init__(self, own: Any) -> None:
        self._own, self.calls = own, 0

    def __call__(self, *images: Any, **options: Any) -> Any:
        self.calls += 1
        return self._own(*images, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def counted(loads: list[int], images: Any) -> Any:
    """What the function gives. loads: gets an item for each call."""
    loads.append(1)
    return images()


def prompts(name: str, way: str) -> dict[str, float]:
    """What the prompts of 25 pictures x 6 questions cost."""
    torch.set_num_threads(1)
    settings = ModelSettings(device="cpu")
    adapter: Any = MODELS.get("hf")({"pretrained": str(checkpoint(name, tiny=True))}, settings)
    writer = adapter.writer
    writer.write(questions(1000, 1)[0])
    counting = writer.processor.image_processor = Counting(writer.processor.image_processor)
    if way == "always":
        writer._preprocessor = Preprocessor(writer.processor, "processor")
    rows = questions(0, PICTURES, ASKED)
    loads: list[int] = []
    for row in rows:
        row.images = partial(counted, loads, row.images)
    key = ahead.shown if way == "once" else id
    before = peak_memory()

    def taken() -> int:
        tokens = 0
        for _, prompt in asking.written_ahead(rows, writer.write, key):
            time.sleep(0 if tokens else HEAD_START)
            tokens += len(prompt.ids)
        return tokens

    seconds, tokens = cpu_of(taken)
    grown = (peak_memory() - before) / 1024
    return {
        "calls": counting.calls,
        "decoded": len(loads),
        "ms": 1000 * seconds / len(rows),
        "peak": grown,
        "tokens": tokens,
    }


def waits(count: int) -> dict[str, float]:
    torch.set_num_threads(1)
    folder = build(SCRATCH / "reference-model")
    model = MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings(batch_size=8, device="cpu"))
    model.prepare()
    list(model.generate(questions(0, 2)))
    idle, whole = waiting(model, questions(100, count))
    written_ahead = asking.written_ahead
    asking.written_ahead = lambda items, write, has_pictures: written_ahead(items, write, lambda item: None)
    plain_idle, plain_whole = waiting(model, questions(500, count))
    return {
        "share": idle / whole,
        "wait": idle,
        "share_without_threads": plain_idle / plain_whole,
        "wait_without_threads": plain_idle,
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["prompts"]:
        print(json.dumps(prompts(sys.argv[2], sys.argv[3])))
    else:
        print(json.dumps(waits(int(sys.argv[2]) if len(sys.argv) > 2 else 32)))
