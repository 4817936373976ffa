"""The numbers of a study over its steps, each with its paired difference to the step before: same documents, so far sharper than
two error bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mm_eval.features.training.study import recorded
from mm_eval.results.compare import Change, compare
from mm_eval.results.number_text import number, signed
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.table import Column, Row, Table, to_text

COLUMNS = (
    Column("step"),
    Column("value"),
    Column("95% interval", "text"),
    Column("change", "text"),
    Column("95% interval of it", "text"),
    Column("learned"),
    Column("forgotten"),
    Column("", "text", "mark"),
)


@dataclass(frozen=True)
class Point:
    """A task at a step. change: paired, from the step before; None at the first one. best: nothing later is told apart as
    better."""

    step: int
    task: str
    change: Change | None
    value: float | None
    interval: tuple[float, float] | None
    best: bool = False


def read(study: Path, include_path: str | None = None) -> dict[int, RecordedRun]:
    """The evaluations of a study that have results, by step."""
    return {step: RecordedRun.read(path, str(step), include_path) for step, path in recorded(study).items()}


def main_change(first: RecordedRun, second: RecordedRun, task: str) -> Change | None:
    """The paired change of a task's main number."""
    headline = second.results.headline(task)
    [found] = compare([first, second], [task])
    return next((each for each in found.changes if headline is not None and each.key == headline.key), None)


def is_better(change: Change | None) -> bool:
    """Whether the second run is told apart as better."""
    return change is not None and change.told_apart and (change.difference.value > 0) == (change.better is not False)


def settled(runs: dict[int, RecordedRun], task: str) -> int | None:
    """The first step from which nothing improved: no later one is told apart as better. None for a single evaluation."""
    steps = [step for step, run in runs.items() if task in run.tasks]
    for place, step in enumerate(steps[:-1]):
        if not any(is_better(main_change(runs[step], runs[later], task)) for later in steps[place + 1 :]):
            return step
    return None


def points(runs: dict[int, RecordedRun], task: str) -> Iterator[Point]:
    """A task at each step that has it."""
    from mm_eval.results.estimates import estimates

    before: RecordedRun | None = None
    first = settled(runs, task)
    for step, run in runs.items():
        if task not in run.tasks:
            continue
        headline = run.results.headline(task)
        found = None if headline is None else estimates(run, task).get(headline.key)
        change = None if before is None else main_change(before, run, task)
        yield Point(
            step, task, change, found.value if found else None, found.interval if found else None, best=step == first
        )
        before = run


def lines(study: Path, include_path: str | None = None) -> Iterator[str]:
    """The curve of each task as a table."""
    runs = read(study, include_path)
    for task in dict.fromkeys(name for run in runs.values() for name in run.tasks):
        metric = next((found.metric for run in runs.values() if (found := run.results.headline(task))), "")
        yield f"{task} ({metric})"
        yield ""
        yield to_text(Table(list(COLUMNS), [Row(_cells(point)) for point in points(runs, task)]), longest=None)
        yield ""


def _cells(point: Point) -> dict[str, str]:
    change = point.change
    flips = change.flips if change is not None else None
    return {
        "step": f"{point.step:,}",
        "value": number(point.value),
        "95% interval": _interval(point.interval),
        "change": "" if change is None else signed(change.difference.value),
        "95% interval of it": "" if change is None else _interval(change.difference.interval, is_change=True),
        "learned": "" if flips is None else str(len(flips.gained)),
        "forgotten": "" if flips is None else str(len(flips.lost)),
        "mark": "nothing later is better" if point.best else "",
    }


def _interval(ends: Sequence[float] | None, is_change: bool = False) -> str:
    shown = signed if is_change else number
    return "" if ends is None else f"{shown(ends[0])} to {shown(ends[1])}"
