"""Habits of lmms-eval that its task files and functions rely on, imitated in one place.

Each section names a habit and why it is imitated: the weights of lmms-eval's groups; answers and metric names. What its code
needs while it runs (its judge, data that it loads, aggregations that are called once) is in `child/`, the process of that code.

All folders, the catalogue included, import this module inside functions, and only where a task needs it. So a task without
these habits never loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar

from mm_eval.config.group import GroupConfig, GroupNode, TaskNode, descendants
from mm_eval.features.suites.origin import is_from_lmms_eval
from mm_eval.values.types import Doc

# ------------------------------------------------------------------ groups
# Habit: where a group's file has no `weight_by_size`, each task counts once, whatever its size. Our default, and
# lm-eval's, is that each doc counts once; published numbers of lmms-eval's groups need that suite's default.


def with_default_weights(node: GroupNode) -> GroupConfig:
    """A group's config, with lmms-eval's weights, and a note, if the group is lmms-eval's and doesn't state weights."""
    group = node.config
    unweighted = group.unweighted
    if not unweighted or not _is_group_of_lmms_eval(node):
        return group
    metrics = tuple(
        replace(metric, weight_by_size=False) if metric in unweighted else metric
        for metric in group.aggregate_metric_list
    )
    names = ", ".join(metric.metric for metric in unweighted if metric.aggregation == "mean")
    note = (
        f"{names}: the mean over tasks, each of which counts the same, as lmms-eval has it for its own groups; "
        "`weight_by_size: true` in the group's file gives the mean over docs."
    )
    return replace(group, aggregate_metric_list=metrics, note=note if names else "")


def _is_group_of_lmms_eval(node: GroupNode) -> bool:
    """Whether a group's file is lmms-eval's, or all of its tasks are and lie in its folder or below."""
    file = node.config.file
    if is_from_lmms_eval(node.config.source, file):
        return True
    tasks = [below.config for below in descendants(node) if isinstance(below, TaskNode)]
    return (
        file is not None
        and bool(tasks)
        and all(task.file is not None and task.file.is_relative_to(file.parent) and task.of_lmms_eval for task in tasks)
    )


# ------------------------------------------------------------------ answers and metric names
# Habits: every generated answer is stripped before it is scored, a filter may give one text a doc in place of a list,
# and the task guide misspells a metric, so that files written after it have either spelling.

MISSPELT = {"mme_percetion_score": "mme_perception_score"}
"""Metric names that lmms-eval's task guide misspells, with the right spelling."""


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
    """The last filter of lmms-eval's generation tasks: answers without the white space around them.

    A filter of theirs may give one text a doc, as AI2D's does: that is its only answer.
    """

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        """The answers of each doc, stripped; each keeps the rule that found it."""
        from mm_eval.scoring.filters.base import like

        def bare(answer: Any) -> Any:
            return like(answer.strip(), answer) if isinstance(answer, str) else answer

        return [[bare(answer) for answer in ([found] if isinstance(found, str) else found)] for found in resps]
