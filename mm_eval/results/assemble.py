"""Makes the `Results` of a run from the scores of its tasks: the rows of tasks and groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import fields, replace

from mm_eval.config.group import GroupConfig, GroupMetric, leaves_of
from mm_eval.config.manager import Loaded
from mm_eval.config.schema import WITH_PYTHON, split_python
from mm_eval.config.task_config import TaskConfig
from mm_eval.prompt.task import Task
from mm_eval.results.number_text import unit_for
from mm_eval.results.recorded import group_entries
from mm_eval.scoring.groups import Leaf, average_of, group_numbers
from mm_eval.scoring.metrics.stderr import combined
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import COUNTS, RARE_COUNTS, Scores, TaskScores, Ungraded
from mm_eval.values.types import NO_SHARE, Number


def assemble(
    loaded: Loaded, tasks: Mapping[str, Task], scores: Mapping[str, TaskScores]
) -> tuple[Results, list[tuple[str, int]]]:
    """The results of a run without `run` and what its parts add, and the rows of the table in order with their depth.

    Everything here is a function of the spec and the answers, so that equal runs give equal bytes.
    """
    members = _with_leaves(loaded.group_map, scores)
    order = list(_rows_in_order(loaded.roots, members, scores))
    rows: dict[str, Scores] = {
        name: as_recorded(score, name, tasks[name].config.row_name) for name, score in scores.items()
    }
    of_tasks = {name: tasks[name].config.shown_num_fewshot for name in scores}
    shots: dict[str, int | str] = {**of_tasks}
    for name in dict.fromkeys(name for name, _ in reversed(order) if name in members):  # inner groups first
        below = Counter(leaves_of(name, members))  # a task that stands below the group twice counts twice
        shots[name] = _shots_of({of_tasks[leaf] for leaf in below})
        row = group_row(loaded.groups[name], {leaf: scores[leaf] for leaf in below}, below)
        stated = loaded.groups[name].shown_num_fewshot
        rows[name] = _with_averages(loaded, name, row, {member: rows[member] for member in members[name]})
        if stated is not None and stated != shots[name]:
            note = f"its configuration states {stated}-shot; its tasks ran with {shots[name]}."
            rows[name].notes.append(note)
    names = list(dict.fromkeys(name for name, _ in order))
    for name in names:
        rows[name].shown = _shown_name(loaded, tasks, name)
    configs: dict[str, GroupConfig | TaskConfig] = {
        **{name: task.config for name, task in tasks.items()},
        **loaded.groups,
    }
    results = Results(
        {name: rows[name] for name in names},
        members,
        {name: tasks[name].config.to_json() for name in scores},
        {name: configs[name].version for name in names},
        {name: shots[name] for name in names},
        {name: group_entries(loaded.groups[name]) for name in members},
        {name: {"original": len(tasks[name].docs), "effective": score.n} for name, score in scores.items()},
    )
    results.categories = {
        name: {
            level: {category: as_recorded(row, category) for category, row in found.items()}
            for level, found in score.categories.items()
        }
        for name, score in scores.items()
        if score.categories
    }
    return results, order


def _shown_name(loaded: Loaded, tasks: Mapping[str, Task], name: str) -> str:
    """What the table calls a row: its `task_alias`, with the format that was requested, or its `group_alias`; "" for neither."""
    if name in loaded.groups:
        return str(loaded.groups[name].source.get("group_alias") or "")
    config = tasks[name].config
    asked = f"@{config.format_asked}" if config.format_asked else ""
    asked += WITH_PYTHON if split_python(config.path)[1] else ""
    return f"{config.task_alias}{asked}" if config.task_alias else ""


def _shots_of(counts: Set[int]) -> int | str:
    """The examples that a group's tasks show: one number, or a range such as "0-5" where they differ."""
    least, most = min(counts), max(counts)
    return least if least == most else f"{least}-{most}"


def as_recorded(row: Scores, name: str, alias: str = "") -> Scores:
    """A row with what results.json has of it: a number's note is among those of the row."""
    without = {number.key: number.value for number in row.without_unanswered}
    return replace(
        Scores(**{each.name: getattr(row, each.name) for each in fields(Scores)}),
        name=name,
        alias=alias,
        numbers=[
            replace(n, note="", higher_is_better=row.better.get(n.metric), scale=_recorded_scale(n))
            for n in row.numbers
        ],
        without_unanswered=[Number(n.key, without.get(n.key)) for n in row.numbers] if row.unanswered else [],
        unparsed_by=row.unparsed_by if len(row.unparsed_by) > 1 else {},
        ungraded={grader: Ungraded(each.docs, each.bounds) for grader, each in row.ungraded.items()},
        notes=list(row.notes),
    )


def _recorded_scale(number: Number) -> tuple[float, float] | None:
    """What a file states: the range of points, and NO_SHARE of a number that looks like a share by its value."""
    if number.scale and number.scale != NO_SHARE:
        return number.scale if number.scale[1] > 1 else None
    looks_like_one = unit_for(number.metric, [number.value]).is_percent
    return NO_SHARE if number.scale == NO_SHARE and looks_like_one else None


def group_row(config: GroupConfig, leaves: Mapping[str, TaskScores], places: Mapping[str, int]) -> Scores:
    """One group's numbers over its leaf tasks, and their counts added up. places: how often each stands below the group."""
    metrics = config.aggregate_metric_list
    below = {leaf: Leaf(score.numbers, places[leaf]) for leaf, score in leaves.items()}
    row = Scores()
    row.numbers, row.notes = group_numbers(below, metrics)
    if config.note:
        row.notes.insert(0, config.note)
    for count in (*COUNTS, *RARE_COUNTS):
        setattr(row, count, sum(getattr(score, count) * places[leaf] for leaf, score in leaves.items()))
    if row.unanswered:
        answered = {
            leaf: Leaf(score.without_unanswered, places[leaf]) if score.unanswered else below[leaf]
            for leaf, score in leaves.items()
            if score.scored > score.unanswered or not score.unanswered
        }
        row.without_unanswered, _ = group_numbers(answered, metrics)
    for grader in dict.fromkeys(grader for score in leaves.values() for grader in score.graders):
        of_leaves = {leaf: score.ungraded[grader] for leaf, score in leaves.items() if grader in score.ungraded}
        docs = sum(each.docs * places[leaf] for leaf, each in of_leaves.items())
        row.ungraded[grader] = Ungraded(docs, _group_bounds(below, metrics, of_leaves))
    row.numbers = [replace(number, exact=_group_interval(number, below, metrics)) for number in row.numbers]
    for score in leaves.values():
        row.better.update(score.better)
    return row


def _with_averages(loaded: Loaded, name: str, row: Scores, members: Mapping[str, Scores]) -> Scores:
    """A group's row with its means of unlike metrics, which come first. members: the rows of its tasks and inner groups."""
    entries = [entry for entry in loaded.groups[name].aggregate_metric_list if entry.of]
    configs: dict[str, TaskConfig | GroupConfig] = {**loaded.tasks, **loaded.groups}
    numbers = {configs[member].name: {n.key: n for n in below.numbers} for member, below in members.items()}
    averages = [average_of(entry, numbers) for entry in entries]
    better = {entry.metric: entry.higher_is_better is not False for entry in entries}
    made = replace(
        row,
        numbers=[*({each.key: each for each in [*averages, *row.numbers]}.values())],
        better={**better, **row.better},
        notes=[*row.notes, *(average.note for average in averages if average.note)],
    )
    return as_recorded(made, name, name)


def _group_bounds(
    below: Mapping[str, Leaf], metrics: Sequence[GroupMetric], ungraded: Mapping[str, Ungraded]
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
            graded = next((n for n in below[leaf].numbers if n.metric == each.metric), None)
            if each.bounds is not None and graded is not None:
                moved[leaf] = _with(below[leaf], replace(graded, value=each.bounds[end], n=(graded.n or 0) + each.docs))
        first = next(iter(group_numbers(moved, metrics)[0]), None)
        if first is None or not isinstance(first.value, (int, float)):
            return None
        ends.append(float(first.value))
    return ends


def _with(leaf: Leaf, number: Number) -> Leaf:
    """A leaf with another number of its key."""
    return replace(leaf, numbers=[number if each.key == number.key else each for each in leaf.numbers])


def _group_interval(
    number: Number, below: Mapping[str, Leaf], metrics: Sequence[GroupMetric]
) -> tuple[float, float] | None:
    """The interval of a group's number whose standard error is 0 because none of its tasks varies: from the tasks' own."""
    if number.stderr != 0 or not isinstance(number.value, (int, float)):
        return None
    gaps = []
    for name, leaf in below.items():
        own = next((each for each in leaf.numbers if each.key == number.key), None)
        for bound in (own.exact if own else None) or ():
            assert own is not None
            moved, _ = group_numbers({**below, name: _with(leaf, replace(own, value=bound))}, metrics)
            end = next((each.value for each in moved if each.key == number.key), number.value)
            gaps.append((max(0.0, number.value - end), max(0.0, end - number.value)))
    return combined(float(number.value), gaps) if gaps else None


def _rows_in_order(
    names: list[str], members: Mapping[str, list[str]], tasks: Container[str], depth: int = 0
) -> list[tuple[str, int]]:
    """Rows in the requested order, each group above its members; a member of two groups has a row below each."""
    order: list[tuple[str, int]] = []
    for name in names:
        if name in members:
            order.append((name, depth))
            order += _rows_in_order(members[name], members, tasks, depth + 1)
        elif name in tasks:
            order.append((name, depth))
    return order


def _with_leaves(group_map: Mapping[str, list[str]], tasks: Container[str]) -> dict[str, list[str]]:
    """The groups that have a task with a row below them, and of their members those that have one."""

    def has_leaf(name: str) -> bool:
        return name in tasks or any(has_leaf(member) for member in group_map.get(name, ()))

    return {name: [m for m in found if has_leaf(m)] for name, found in group_map.items() if has_leaf(name)}
