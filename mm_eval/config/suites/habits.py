"""The weights of lmms-eval's groups, which are imitated: published numbers of these groups need them.

What its task code needs while it runs (replies of another model, data that it loads, aggregations that are called once) is in
`foreign_code/child/`, the process of that code.
"""

from __future__ import annotations

from dataclasses import replace

from mm_eval.config.group import GroupConfig, GroupNode, TaskNode, descendants
from mm_eval.config.suites.origin import is_from_lmms_eval

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
        "`weight_by_size: true` in the group's file gives the mean over documents."
    )
    return replace(group, aggregate_metric_list=metrics, note=note if names else "")


def _is_group_of_lmms_eval(node: GroupNode) -> bool:
    """Whether a group's file is lmms-eval's, or all of its tasks are and have their files in its folder or below."""
    file = node.config.file
    if is_from_lmms_eval(node.config.source, file):
        return True
    tasks = [below.config for below in descendants(node) if isinstance(below, TaskNode)]
    return (
        file is not None
        and bool(tasks)
        and all(task.file is not None and task.file.is_relative_to(file.parent) and task.of_lmms_eval for task in tasks)
    )
