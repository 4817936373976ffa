"""Long answers: prompts with answers of 10 to 512 tokens, each on a picture of its own, against what a full batch costs.

    python benchmarks/long_answers.py PROMPTS

Prints CPU seconds as JSON, after a warm-up. ours: instances through the adapter; the lengths are drawn log-uniform and stated as
caps, which nothing but the end of a row reads. prefill: the prompts alone, in the batches that memory allows. token: one token
of a batch that is as full as ours was, with answers as long as they are on average while they are written. The floor is the
prefill and every token at that price. first: the share of our time after which the first answer came.
"""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from measure import SCRATCH, cpu_of
from reference_model import build
from workloads import instances

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import Instance

SHORTEST, LONGEST = 10, 512
STEPS = 40


def lengths(count: int) -> list[int]:
    """Tokens of the answers, log-uniform, in an order that says nothing about them."""
    spread = np.linspace(math.log(SHORTEST), math.log(LONGEST), count)
    return [round(math.exp(each)) for each in np.random.RandomState(0).permutation(spread)]


def questions(first: int, caps: list[int]) -> list[Instance]:
    return [
        replace(row, generation_kwargs={"max_new_tokens": cap, "min_new_tokens": cap})
        for row, cap in zip(instances("yes_no", first, len(caps), 1), caps, strict=True)
    ]


def ours(model: Any, rows: list[Instance]) -> tuple[float, float, int]:
    """CPU seconds, the share of them after which the first answer came, and the rows of the fullest batch."""
    from mm_eval.models.hf.inference.cache import Rows

    most, run = [0], Rows.run

    def looked_at(held: Rows, ids: Any, keep: int = 1) -> Any:
        most[0] = max(most[0], len(held.lengths))
        return run(held, ids, keep)

    Rows.run = looked_at
    start, first = time.process_time(), 0.0
    for row, answer in model.generate(rows):
        first = first or time.process_time() - start
        assert answer.usage["completion_tokens"] == row.generation_kwargs["max_new_tokens"]
    Rows.run = run
    seconds = time.process_time() - start
    return seconds, first / seconds, most[0]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def prefilled(model: Any, prompts: list[Any]) -> Any:
    """The prompts, run in batches as large as a forward may be."""
    from mm_eval.models.hf.inference.prefixes import prefill

    runtime, made = model.runtime, []
    size = next(n for n in range(1, len(prompts) + 1) if runtime.is_full(n, len(prompts[0].ids)))
    for start in range(0, len(prompts), size):
        made.append(prefill(runtime, prompts[start : start + size]))
    return made


@torch.inference_mode()  # type: ignore[untyped-decorator]
def token(model: Any, prefixes: list[Any], rows: int, average: int) -> float:
    """CPU seconds of one token in a full batch of so many rows."""
    from mm_eval.models.hf.inference.cache import Rows

    held = Rows(model.runtime)
    for prefix in prefixes:
        for line in range(len(prefix.mask)):
            if len(held.lengths) < rows:
                held.add_whole(prefix, line)
    held.run([[7] * (average - STEPS // 2)] * rows)

    def steps() -> None:
        for _ in range(STEPS):
            held.run([[7]] * rows)

    return cpu_of(steps)[0] / (STEPS * rows)


def main(count: int) -> None:
    torch.set_num_threads(1)
    folder = build(SCRATCH / "reference-model")
    model: Any = MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings(batch_size="auto", device="cpu"))
    model.prepare()
    caps = lengths(count)
    ours(model, questions(0, [12, 8]))
    rows = questions(1000, caps)
    seconds, first, most = ours(model, rows)
    model.runtime.forget()
    prompts = [model.writer.write(row) for row in rows]
    prefill, prefixes = cpu_of(lambda: prefilled(model, prompts))
    average = round(sum(cap * cap for cap in caps) / sum(caps) / 2)
    price = token(model, prefixes, most, average)
    floor = prefill + sum(caps) * price
    measured = {"ours": seconds, "floor": floor, "prefill": prefill, "token": price, "rows": most, "first": first}
    print(json.dumps({**measured, "tokens": sum(caps)}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
