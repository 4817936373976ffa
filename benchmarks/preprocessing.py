"""How long the model waits for pictures: 8 pictures of 1024 x 768 a batch, one question each, on the reference model.

    python benchmarks/preprocessing.py [PICTURES]

Prints the share of wall time, from the first forward to the last, in which no forward runs, as JSON, and the same with pictures
written when they are asked for. A forward on a CPU takes far longer than on a GPU, so `wait` counts the time itself too.
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
from measure import SCRATCH
from mm_eval.models.hf import asking
from PIL import Image
from reference_model import build
from workloads import read

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.types import Instance


def _pictures(data: bytes) -> list[Image.Image]:
    return [read(data)]


def questions(first: int, count: int) -> list[Instance]:
    rows = []
    for number in range(first, first + count):
        blocks = np.random.RandomState(number).randint(0, 256, (48, 64, 3)).astype(np.uint8)
        target = io.BytesIO()
        Image.fromarray(blocks).resize((1024, 768)).save(target, "JPEG", quality=88)
        parts = [{"type": "image"}, {"type": "text", "text": "Is there a dog? Answer yes or no."}]
        rows.append(
            Instance(
                "generate_until",
                "pictures",
                number,
                {},
                context=[{"role": "user", "content": parts}],
                images=partial(_pictures, target.getvalue()),
                image_digests=(str(number),),
                generation_kwargs={"max_new_tokens": 1},
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


def main(count: int) -> None:
    torch.set_num_threads(1)
    folder = build(SCRATCH / "reference-model")
    model = MODELS.get("hf").create({"pretrained": str(folder)}, ModelSettings(batch_size=8, device="cpu"))
    model.prepare()
    list(model.generate(questions(0, 2)))
    idle, whole = waiting(model, questions(100, count))
    ahead = asking.written_ahead
    asking.written_ahead = lambda items, write, has_pictures: ahead(items, write, lambda item: False)
    plain_idle, plain_whole = waiting(model, questions(500, count))
    print(
        json.dumps(
            {
                "share": idle / whole,
                "wait": idle,
                "share_without_threads": plain_idle / plain_whole,
                "wait_without_threads": plain_idle,
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 32)
