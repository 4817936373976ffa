"""What task files in the form of lmms-eval's guide expect of scoring: bare answers, and a metric's two spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar

from mm_eval.scoring.filters.base import like
from mm_eval.values.types import Doc

MISSPELT = {"mme_percetion_score": "mme_perception_score"}
"""Metric names that the guide misspells, with the right spelling: files written after it have either."""


def with_right_spelling(
    process_results: Callable[..., Any], pipelines: Iterable[Mapping[str, Any]]
) -> Callable[..., Any]:
    """The scoring function with misspelt metric names in its results replaced; replaces them in the pipelines, too."""
    for pipeline in pipelines:
        for metric in pipeline["metric_list"]:
            if isinstance(metric["metric"], str):
                metric["metric"] = MISSPELT.get(metric["metric"], metric["metric"])

    @wraps(process_results)
    def spelt(*args: Any, **kwargs: Any) -> Any:
        returned = process_results(*args, **kwargs)
        if not isinstance(returned, Mapping):
            return returned
        return {MISSPELT.get(name, name): value for name, value in returned.items()}

    if run_judged := getattr(process_results, "run_judged", None):
        setattr(spelt, "run_judged", run_judged)  # noqa: B010  # a function's attribute
    return spelt


class BareAnswers:
    """The last filter of a generation task: answers without the white space around them.

    A filter of such a task may give one text a doc, as AI2D's does: that is its only answer.
    """

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        """The answers of each doc, stripped; each keeps the rule that found it."""

        def bare(answer: Any) -> Any:
            return like(answer.strip(), answer) if isinstance(answer, str) else answer

        return [[bare(answer) for answer in ([found] if isinstance(found, str) else found)] for found in resps]
