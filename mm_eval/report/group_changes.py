"""Differences of groups: what their tasks' paired differences add up to.

A mean over tasks is linear, so that the group's difference is the mean of its tasks' differences, and the same holds for the
standard errors. A group whose aggregation is a function of its own is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from mm_eval.metrics.paired import Estimate
from mm_eval.report.recorded import RecordedRun
from mm_eval.scorers.groups import Member, aggregate_group
from mm_eval.types import MetricKey

if TYPE_CHECKING:
    from mm_eval.report.comparison import Change


def leaves(run: RecordedRun, group: str) -> list[str]:
    """The tasks below a group, once for each place where they stand."""
    members = run.results["group_subtasks"].get(group)
    if members is None:
        return [group] if group in run.spec["tasks"] else []
    return [leaf for member in members for leaf in leaves(run, member)]


def group_estimates(
    run: RecordedRun, group: str, changes: Mapping[str, Sequence[Change]]
) -> Iterator[tuple[str, Estimate, Estimate, Estimate]]:
    """(key, first, second, difference) of each number of a group.

    changes: those of each task. Nothing where one of the group's tasks is not in both runs.
    """
    names = leaves(run, group)
    metrics = [metric for metric in run.group_metrics.get(group, ()) if metric.aggregation == "mean"]
    if not names or not metrics or any(name not in changes for name in names):
        return
    below = {name: {change.key: change for change in changes[name]} for name in names}

    def total(part: str, key: str) -> Estimate | None:
        estimates = {name: getattr(found[key], part) for name, found in below.items() if key in found}
        error_key = str(MetricKey(key.split(",")[0], key.split(",", 1)[1], is_stderr=True))
        members = {
            name: Member({key: e.value, error_key: e.stderr}, e.docs, {}, names.count(name))
            for name, e in estimates.items()
        }
        numbers = aggregate_group(members, metrics).numbers
        if numbers.get(key) is None:
            return None
        docs, clusters = (sum(getattr(e, what) for e in estimates.values()) for what in ("docs", "clusters"))
        freedom = sum(e.freedom for e in estimates.values())
        return Estimate(float(numbers[key]), numbers.get(error_key), docs, clusters, freedom)

    for key in dict.fromkeys(key for found in below.values() for key in found):
        first, second, difference = total("first", key), total("second", key), total("difference", key)
        if first is not None and second is not None and difference is not None:
            yield key, first, second, difference
