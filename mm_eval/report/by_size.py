"""The share of right answers by how long the answer is, for the page of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mm_eval.metrics.aggregation import mean
from mm_eval.metrics.paired import estimate
from mm_eval.runs.prompts import marks
from mm_eval.runs.recorded import RecordedTask


def right_by_size(task: RecordedTask, tokens: Mapping[int, int]) -> Iterator[dict[str, Any]]:
    """A chart for characters and one for tokens, each with a bar for lengths from a power of two to the next.

    tokens: of each doc's first answer. Only docs that are right or wrong count; no chart where all lengths are in one bar.
    """
    right = {doc_id: mark for doc_id, mark in marks(task).items() if mark is not None}
    for unit, sizes in (("characters", task.sizes.get("characters", {})), ("tokens", tokens)):
        bins: dict[int, list[int]] = {}
        for doc_id, size in sizes.items():
            if doc_id in right:
                bins.setdefault(size.bit_length(), []).append(doc_id)
        if len(bins) > 1:
            parts = [_part(task, right, place, bins[place]) for place in sorted(bins)]
            yield {"by": f"Share right by {unit} of the answer", "unit": unit, "parts": parts}


def _part(task: RecordedTask, right: Mapping[int, bool], place: int, doc_ids: list[int]) -> dict[str, Any]:
    """A bar: the lengths from `first` to `last`, their share of right answers with its 95% interval."""
    first, last = (1 << place - 1, (1 << place) - 1) if place else (0, 0)
    found = estimate(mean, [float(right[i]) for i in doc_ids], [task.clusters[i] for i in doc_ids])
    name = str(first) if first == last else f"{first:,} to {last:,}"
    interval = list(found.interval) if found.interval else None
    return {"name": name, "first": first, "last": last, "value": found.value, "interval": interval, "n": len(doc_ids)}
