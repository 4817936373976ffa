"""From the values of all documents to one number with its standard error, or without a value and the reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Real
from typing import Any

from mm_eval.errors import without_objects
from mm_eval.metrics.aggregation import bypass_agg
from mm_eval.metrics.paired import with_stderr
from mm_eval.metrics.stderr import standard_error
from mm_eval.metrics.traits import traits_of
from mm_eval.types import MetricKey, Number


def number_of(
    key: MetricKey,
    function: Callable[[Sequence[Any]], float],
    of_docs: Mapping[int, Any],
    clusters: Mapping[int, Hashable] | None,
    bootstrap_iters: int,
    seed: int,
    most_calls: int | None = None,
) -> Number:
    """The number that an aggregation makes of the documents' values.

    It raises nothing: an error of the function becomes the note of a number without a value.
    most_calls: how often the standard error may call the aggregation.
    """
    values = list(of_docs.values())
    try:
        value = function(values)
    except Exception as error:
        note = f"the aggregation raised {type(error).__name__}: {without_objects(str(error))}."
        return Number(key, None, n=len(values), note=note)
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return Number(key, None, n=len(values), note=f"{_not_finite(value, function, of_docs)}.")
    drawn = None if clusters is None else [clusters.get(doc_id, ("doc", doc_id)) for doc_id in of_docs]
    stderr = standard_error(function, values, drawn, bootstrap_iters=bootstrap_iters, seed=seed, most_calls=most_calls)
    interval = with_stderr(value, 0.0, function, values, drawn).exact if stderr.value == 0 else None
    note = stderr.note
    if stderr.value == 0 and interval is None and function is not bypass_agg:
        note = "the docs do not vary: a standard error of 0 says nothing about other docs."
    return Number(key, value, stderr.value, interval, len(values), note=note)


def _not_finite(value: float, function: Callable[..., Any], of_docs: Mapping[int, Any]) -> str:
    """Why there is no number, with the first doc that is the cause."""
    kind, what = "NaN" if math.isnan(value) else "infinite", traits_of(function).of
    for doc_id, of_doc in of_docs.items():
        for part in of_doc if isinstance(of_doc, (tuple, list)) else [of_doc]:
            if isinstance(part, Real) and not math.isfinite(part):
                return f"{kind}: the {what} of doc {doc_id} is {float(part)}"
    return f"{kind}, though the {what} of each doc is finite"
