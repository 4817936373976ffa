"""Makes the contents of results.json: the numbers under lm-eval's keys, and what was measured under `run`."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mm_eval.config.group import GroupConfig, GroupMetric, leaves_of
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.ranks import processes
from mm_eval.engine.same_run import scored_by
from mm_eval.package import __version__
from mm_eval.results.recorded_metrics import GROUP_METRICS, group_entries
from mm_eval.results.rows import numbers_of
from mm_eval.scoring.base import as_row
from mm_eval.scoring.groups import Member, aggregate_group, average_of
from mm_eval.scoring.metrics.intervals import combined
from mm_eval.scoring.task_scores import TaskScores, Ungraded, grader_key
from mm_eval.values.types import Number

if TYPE_CHECKING:
    from mm_eval.opening import OpenedTasks


LIBRARIES = ("torch", "transformers", "datasets", "numpy", "pillow", "tokenizers")


def assemble(plan: OpenedTasks, scores: Mapping[str, TaskScores]) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """results.json without `run`, and the rows of the table in order with their depth.

    Everything here is a function of the spec and the answers, so that equal runs give equal bytes.
    """
    rows = {name: task_row(plan.tasks[name].config.row_name, score) for name, score in scores.items()}
    members = _with_leaves(plan.loaded.group_map, rows)
    groups = {name: group_row(plan, name, members, scores) for name in members}
    order = list(_ordered(plan.loaded.roots, members, rows, groups))
    for name in dict.fromkeys(name for name, _ in reversed(order) if name in groups):  # inner groups first
        groups[name] = _with_averages(plan, name, members[name], {**rows, **groups})
    shots = {name: plan.tasks[name].config.shown_num_fewshot for name in rows}
    of_groups: dict[str, int | str] = {}
    for name in groups:
        stated = plan.loaded.groups[name].shown_num_fewshot
        of_groups[name] = _shots_of({shots[leaf] for leaf in leaves_of(name, members)})
        if stated is not None and stated != of_groups[name]:
            note = f"its configuration states {stated}-shot; its tasks ran with {of_groups[name]}."
            groups[name]["notes"] = [*groups[name].get("notes", ()), note]
    better = {name: score.higher_is_better for name, score in scores.items()}
    for name in groups:
        averages = [entry for entry in plan.loaded.groups[name].aggregate_metric_list if entry.of]
        better[name] = {entry.metric: entry.higher_is_better is not False for entry in averages}
        better[name].update({metric: up for leaf in leaves_of(name, members) for metric, up in better[leaf].items()})
    names = list(dict.fromkeys(name for name, _ in order))
    results = {
        "results": {name: groups.get(name) or rows[name] for name in names},
        "groups": {name: groups[name] for name in names if name in groups},
        "group_subtasks": {name: found for name, found in members.items() if name in groups},
        "configs": {name: plan.tasks[name].config.to_json() for name in rows},
        "versions": {
            name: (plan.loaded.groups[name] if name in groups else plan.tasks[name].config).version for name in names
        },
        "n-shot": {name: {**shots, **of_groups}[name] for name in names},
        "higher_is_better": better,
        **({GROUP_METRICS: {name: group_entries(plan.loaded.groups[name]) for name in groups}} if groups else {}),
        "n-samples": {
            name: {"original": len(plan.tasks[name].docs), "effective": score.n} for name, score in scores.items()
        },
    }
    for part in plan.parts:
        results.update(part.results())
    if categories := {name: found for name, score in scores.items() if (found := category_rows(score))}:
        results["categories"] = categories
    return results, order


def _shots_of(counts: Set[int]) -> int | str:
    """The examples that a group's tasks show: one number, or a range such as "0-5" where they differ."""
    least, most = min(counts), max(counts)
    return least if least == most else f"{least}-{most}"


COUNTS = ("n", "failed", "filtered", "refused", "truncated", "unparsed", "cut", "ties")
"""The integers of every row."""
RARE_COUNTS = ("not_requested", "unanswered", "too_large")
"""The integers that stand beside them where they are not zero."""


def task_row(alias: str, scores: TaskScores) -> dict[str, Any]:
    """One task's numbers and counts."""
    row: dict[str, Any] = {"alias": alias, **_row(scores, scores.ungraded)}
    if warning := scores.silent.warning:
        row["warnings"] = [warning]
    return row


def category_rows(scores: TaskScores) -> dict[str, dict[str, dict[str, Any]]]:
    """{level: {category: its numbers and counts}} of a task; empty where it has no categories."""
    return {
        level: {
            name: {
                **_row(of_category, {}),
                **{
                    grader_key(each, "failed"): of_category.ungraded.get(each, Ungraded()).docs
                    for each in scores.graders
                },
            }
            for name, of_category in found.items()
        }
        for level, found in scores.categories.items()
    }


def _row(scores: TaskScores, ungraded: Mapping[str, Ungraded]) -> dict[str, Any]:
    """ungraded: with what the row says of those who grade beside the task's rules."""
    row: dict[str, Any] = {**as_row(scores.numbers), **{count: getattr(scores, count) for count in COUNTS}}
    for count in RARE_COUNTS:
        if number := getattr(scores, count):
            row[count] = number
    row.update(_fewer(_sizes(scores), scores.scored))
    if scores.unanswered:
        without = {str(number.key): number.value for number in scores.without_unanswered}
        row["value_without_unanswered"] = {str(number.key): without.get(str(number.key)) for number in scores.numbers}
    if exact := {str(number.key): list(number.exact) for number in scores.numbers if number.exact}:
        row["intervals"] = exact
    if len(scores.unparsed_by) > 1:
        row["unparsed_by_filter"] = dict(scores.unparsed_by)
    for grader, found in ungraded.items():
        row[grader_key(grader, "failed")], row[grader_key(grader, "bounds")] = found.docs, found.bounds
    if scores.notes:
        row["notes"] = list(scores.notes)
    return row


def group_row(
    plan: OpenedTasks, name: str, members: Mapping[str, list[str]], scores: Mapping[str, TaskScores]
) -> dict[str, Any]:
    """One group's numbers over its leaf tasks, and their counts added up."""
    places = Counter(leaves_of(name, members))  # a task that stands below the group twice counts twice
    leaves = {leaf: scores[leaf] for leaf in places}
    config = plan.loaded.groups[name]
    metrics = config.aggregate_metric_list
    below = {
        leaf: Member(as_row(score.numbers), score.scored, _sizes(score), places[leaf]) for leaf, score in leaves.items()
    }
    result = aggregate_group(below, metrics)
    row: dict[str, Any] = {"alias": name, **result.numbers}
    for count in COUNTS:
        row[count] = sum(getattr(score, count) * places[leaf] for leaf, score in leaves.items())
    for count in RARE_COUNTS:
        if found := sum(getattr(score, count) * places[leaf] for leaf, score in leaves.items()):
            row[count] = found
    if "unanswered" in row:
        answered = {
            leaf: replace(
                below[leaf],
                numbers=as_row(score.without_unanswered),
                n=score.scored - score.unanswered,
                sizes={str(number.key): number.n or 0 for number in score.without_unanswered},
            )
            if score.unanswered
            else below[leaf]
            for leaf, score in leaves.items()
            if score.scored > score.unanswered or not score.unanswered
        }
        without = {number.key: number.value for number in numbers_of(aggregate_group(answered, metrics).numbers)}
        row["value_without_unanswered"] = {str(n.key): without.get(n.key) for n in numbers_of(result.numbers)}
    for grader in dict.fromkeys(grader for score in leaves.values() for grader in score.graders):
        of_leaves = {leaf: score.ungraded[grader] for leaf, score in leaves.items() if grader in score.ungraded}
        row[grader_key(grader, "failed")] = sum(each.docs * places[leaf] for leaf, each in of_leaves.items())
        row[grader_key(grader, "bounds")] = _group_bounds(below, metrics, leaves, of_leaves)
    row.update(_fewer(result.sizes, row["n"] - row["failed"] - row.get("not_requested", 0)))
    if intervals := _group_intervals(numbers_of(result.numbers), below, metrics, leaves):
        row["intervals"] = intervals
    if notes := [*([config.note] if config.note else []), *result.notes]:
        row["notes"] = notes
    return row


def _with_averages(
    plan: OpenedTasks, name: str, members: Sequence[str], rows: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """A group's row with its means of unlike metrics, which come first. rows: of all tasks and inner groups."""
    row = dict(rows[name])
    entries = [entry for entry in plan.loaded.groups[name].aggregate_metric_list if entry.of]
    if not entries:
        return row
    configs: dict[str, TaskConfig | GroupConfig] = {**plan.loaded.tasks, **plan.loaded.groups}
    numbers = {configs[member].name: {n.key: n for n in numbers_of(rows[member])} for member in members}
    averages = [average_of(entry, numbers) for entry in entries]
    row = {"alias": row.pop("alias"), **as_row(averages), **row}
    scored = row["n"] - row["failed"] - row.get("not_requested", 0)
    fewer = _fewer({str(average.key): average.n or 0 for average in averages if average.value is not None}, scored)
    for key, found in fewer.items():
        row[key] = {**row.get(key, {}), **found}
    if exact := {str(average.key): list(average.exact) for average in averages if average.exact}:
        row["intervals"] = {**row.get("intervals", {}), **exact}
    if notes := [average.note for average in averages if average.note]:
        row["notes"] = [*row.get("notes", ()), *notes]
    return row


def _sizes(scores: TaskScores) -> dict[str, int]:
    """The documents of each number."""
    return {str(number.key): number.n or 0 for number in scores.numbers}


def _group_bounds(
    below: Mapping[str, Member],
    metrics: Sequence[GroupMetric],
    leaves: Mapping[str, TaskScores],
    ungraded: Mapping[str, Ungraded],
) -> list[float] | None:
    """The group's first number with those of its tasks that a grader gives at their ends; None if no doc lacks a value.

    ungraded: of the grader, by task.
    """
    if not any(each.bounds for each in ungraded.values()):
        return None
    ends: list[float] = []
    for end in (0, 1):
        moved = dict(below)
        for leaf, each in ungraded.items():
            if each.bounds is not None and leaves[leaf].numbers:
                graded = str(next((n.key for n in leaves[leaf].numbers if n.key.metric == each.metric), ""))
                sizes = {**below[leaf].sizes, graded: below[leaf].sizes.get(graded, 0) + each.docs}
                numbers = {**below[leaf].numbers, graded: each.bounds[end]}
                moved[leaf] = replace(below[leaf], numbers=numbers, sizes=sizes)
        first = next(iter(numbers_of(aggregate_group(moved, metrics).numbers)), None)
        if first is None or not isinstance(first.value, (int, float)):
            return None
        ends.append(float(first.value))
    return ends


def _group_intervals(
    numbers: Sequence[Number],
    below: Mapping[str, Member],
    metrics: Sequence[GroupMetric],
    leaves: Mapping[str, TaskScores],
) -> dict[str, list[float]]:
    """Intervals of the group's numbers whose standard error is 0 because none of its tasks varies: from the tasks' own."""
    found = {}
    for number in numbers:
        if number.stderr != 0 or not isinstance(number.value, (int, float)):
            continue
        text, gaps = str(number.key), []
        for leaf, score in leaves.items():
            for bound in next((own.exact for own in score.numbers if own.key == number.key), None) or ():
                moved = {**below, leaf: replace(below[leaf], numbers={**below[leaf].numbers, text: bound})}
                gap = aggregate_group(moved, metrics).numbers.get(text, number.value) - number.value
                gaps.append((max(0.0, -gap), max(0.0, gap)))
        if gaps:
            found[text] = list(combined(float(number.value), gaps))
    return found


def _fewer(sizes: Mapping[str, int], scored: int) -> dict[str, dict[str, int]]:
    """`n_by_metric`: the size of each number that is not of all scored documents; nothing where there is none."""
    fewer = {key: size for key, size in sizes.items() if size != scored}
    return {"n_by_metric": fewer} if fewer else {}


def environment(plan: OpenedTasks, spec: Mapping[str, Any], started: float) -> dict[str, Any]:
    """What was measured, with which versions, and when: the part of results.json that may differ between equal runs.

    started: by `time.monotonic`, since the clock of a machine may be set back during a run.
    """
    seconds = time.monotonic() - started
    return {
        "mm_eval": __version__,
        "model_name": plan.request.model_name,
        "model": spec["model"],
        "sample": plan.sampled,
        "seed": plan.request.seed,
        "chat_template": spec["chat"],
        "system_instruction": spec["system"],
        **({"blind": spec["blind"]} if spec.get("blind") else {}),
        "prompts": {name: task["prompt"] for name, task in spec["tasks"].items()},
        "data": {name: task["data"] for name, task in spec["tasks"].items()},
        "scored_by": scored_by(plan.configs),
        "limit": plan.request.limit,
        "in_part": plan.in_part,
        "bootstrap_iters": plan.request.bootstrap_iters,
        "libraries": {name: version for name in LIBRARIES if (version := _version(name))},
        "python": platform.python_version(),
        "processes": processes().count,
        "started": round(time.time() - seconds, 3),
        "seconds": round(seconds, 3),
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _ordered(
    names: list[str],
    members: Mapping[str, list[str]],
    rows: Mapping[str, Any],
    groups: Mapping[str, Any],
    depth: int = 0,
) -> list[tuple[str, int]]:
    """Rows in the requested order, each group above its members; a member of two groups has a row below each."""
    order: list[tuple[str, int]] = []
    for name in names:
        if name in groups:
            order.append((name, depth))
            order += _ordered(members[name], members, rows, groups, depth + 1)
        elif name in rows:
            order.append((name, depth))
    return order


def _with_leaves(group_map: Mapping[str, list[str]], rows: Mapping[str, Any]) -> dict[str, list[str]]:
    """The groups that have a task with a row below them, and of their members those that have one."""

    def has_leaf(name: str) -> bool:
        return name in rows or any(has_leaf(member) for member in group_map.get(name, ()))

    return {name: [m for m in found if has_leaf(m)] for name, found in group_map.items() if has_leaf(name)}
