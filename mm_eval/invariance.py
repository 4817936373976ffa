"""Does an answer depend on what it was asked with? The same docs at batch 1, at the real batch, and in two shards.

An evaluation whose numbers move with the batch size or the number of processes measures its own launch. This asks a few docs
of each task in all three ways and lists every answer that differs. In float32 none should; in half precision rounding depends
on the shape of a batch, and this shows how far that goes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from mm_eval.engine.model import Model
from mm_eval.engine.plan import planned
from mm_eval.errors import MMEvalError
from mm_eval.preparation import Plan, prepare
from mm_eval.request import RunRequest
from mm_eval.types import Instance, Slot

log = logging.getLogger(__name__)
TOLERANCE = 1e-4
"""Nats by which log-likelihoods may differ: what float32 allows."""

Outputs = dict[Slot, Any]


@dataclass(frozen=True)
class Difference:
    """One slot that was answered differently: at batch 1, and the other way."""

    slot: Slot
    way: str
    alone: Any
    other: Any

    def __str__(self) -> str:
        place = f"{self.slot.task} doc {self.slot.doc_id}"
        place += f" repeat {self.slot.repeat}" if self.slot.repeat else ""
        place += f" choice {self.slot.choice}" if isinstance(self.alone, tuple) else ""
        return f"{place}: {_shown(self.alone)} at batch 1, {_shown(self.other)} {self.way}"


@dataclass(frozen=True)
class Comparison:
    """How one way of asking compares with batch 1.

    answers: what was answered in both ways; a question that failed in both shows nothing.
    worst: the largest difference of log-likelihoods, in nats.
    """

    way: str
    answers: int
    worst: float
    differences: list[Difference]


def invariance(request: RunRequest) -> Iterator[Comparison]:
    """Asks the docs of a request in three ways; one comparison for the real batch, one for two shards."""
    plan = prepare(replace(request, batch_size=1))
    assert plan.model is not None
    alone = _answers(plan.model, _instances(plan))
    if failed := [output for output in alone.values() if _failed(output)]:
        log.warning("%d of %d questions failed at batch 1, the first with %s", len(failed), len(alone), failed[0])
    plan.model = None  # its memory is needed for the other one
    real = prepare(request)
    assert real.model is not None
    model = real.model
    together = _answers(model, _instances(real))
    yield compare(alone, together, f"at batch {request.batch_size}")
    sharded = {**_answers(model, _instances(real, 0)), **_answers(model, _instances(real, 1))}
    yield compare(alone, sharded, "in two shards")


def compare(alone: Outputs, other: Outputs, way: str) -> Comparison:
    """Every slot whose answers differ; log-likelihoods by more than TOLERANCE."""
    worst, differences, answers = 0.0, [], 0
    for slot, one in alone.items():
        two = other.get(slot)
        if _failed(one) and _failed(two):
            continue
        answers += 1
        if isinstance(one, tuple) and isinstance(two, tuple):
            gap = 0.0 if one[0] == two[0] else abs(one[0] - two[0])
            worst = max(worst, gap)
            equal = gap <= TOLERANCE and one[1] == two[1]
        else:
            equal = one == two
        if not equal:
            differences.append(Difference(slot, way, one, two))
    return Comparison(way, answers, worst, differences)


def _instances(plan: Plan, shard: int | None = None) -> Iterator[Instance]:
    for name, task in plan.tasks.items():
        doc_ids = plan.doc_ids[name] if shard is None else plan.doc_ids[name][shard::2]
        if doc_ids:
            yield from task.instances(doc_ids, plan.styles[name])


def _answers(model: Model, instances: Iterator[Instance]) -> Outputs:
    """What the model answers, errors in their place; nothing is asked twice, nothing is kept on disk."""
    ways = {
        "generate_until": model.generate,
        "loglikelihood": model.loglikelihood,
        "loglikelihood_rolling": model.loglikelihood_rolling,
    }
    model.prepare()
    found: Outputs = {}

    def sound(group: Iterator[Instance]) -> Iterator[Instance]:
        for instance in group:
            if instance.error is None:
                yield instance
            else:
                found[instance.slot] = instance.error

    for kind, group in groupby(planned(instances), key=lambda instance: instance.request_type):
        for instance, answer in ways[kind](sound(group)):
            found[instance.slot] = answer if isinstance(answer, MMEvalError) else answer.output
    return found


def _failed(output: Any) -> bool:
    return isinstance(output, MMEvalError)


def _shown(output: Any) -> str:
    if isinstance(output, tuple):
        return f"{output[0]:.5f}{' (greedy)' if output[1] else ''}"
    text = f"error: {output}" if _failed(output) else repr(output)
    return text if len(text) < 80 else f"{text[:77]}..."
