"""The numbers of a run with their 95% intervals, and the paired differences of groups.

`estimates` is the one rule for intervals in all reports: Student's t where the docs vary enough, the exact interval elsewhere
(`metrics.paired`); a group's interval comes from those of its tasks.

A group's number is a function f of its tasks' numbers: a mean, or one of the YAML's own. To first order it changes by what each
task's error changes it by. A task adds to the variance of f(second) - f(first)

    da^2 + db^2 - 2 r da db

where da and db are the changes of f by one standard error of the task's number in either run. r is how far the two numbers move
together, which follows from the paired difference: se(b - a)^2 = se(a)^2 + se(b)^2 - 2 r se(a) se(b). For means this is exact.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from mm_eval.config.group import GroupMetric, MemberMetric
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.groups import Leaf, group_numbers
from mm_eval.scoring.metrics.stderr import combined, freedom_of
from mm_eval.values.types import NO_SHARE, MetricKey, Number

Triple = tuple[Number, Number, Number]
"""A number in the first run, in the second, and their paired difference."""
OfTasks = Callable[[Mapping[str, float]], float | None]
"""Computes a group's number from its tasks' numbers."""


def estimates(run: RecordedRun, name: str) -> dict[MetricKey, Number]:
    """The numbers of a task or group by key, each with its 95% interval where there is one.

    For a task whose own functions can no longer be loaded: the recorded number with its standard error.
    """
    is_group, task, row = name in run.results.members, run.tasks.get(name), run.results.rows[name]
    found = {}
    for number in row.numbers:
        if not isinstance(number.value, (int, float)):
            continue
        if is_group:
            found[number.key] = _of_group(run, name, number)
        elif task is not None:
            values = task.values.get(number.key, {})
            sizes = list(Counter(task.clusters[doc_id] for doc_id in values).values())
            recorded = replace(
                number,
                value=float(number.value),
                exact=None,
                n=len(values),
                clusters=len(sizes),
                freedom=freedom_of(sizes),
            )
            found[number.key] = task.number(number.key) or recorded
    for key, interval in row.after_looking.items():
        if key in found:
            found[key] = replace(found[key], exact=interval)
    return found


def numbers_by_path(run: RecordedRun) -> dict[str, tuple[str, Number]]:
    """{"mme/mme_perception_score": (row name, number)}: every number of a run with its interval, as trackers name it.

    The filter pipeline is part of the path where several have the metric: "gsm8k/exact_match,strict".
    """
    found = {}
    for name in run.results.rows:
        numbers = list(estimates(run, name).values())
        for number in numbers:
            alone = [each.metric for each in numbers].count(number.metric) == 1
            found[f"{name}/{number.metric if alone else number.key}"] = name, number
    return found


def group_differences(
    run: RecordedRun, group: str, changes: Mapping[str, Mapping[MetricKey, Triple]]
) -> Iterator[tuple[MetricKey, Number, Number, Number]]:
    """(key, first, second, difference) of each number of a group over the docs that both runs have.

    changes: of each task by key. Nothing where one of the group's tasks is not in both runs, and no number that a task of the
        run has and `changes` lacks: it would be over the other tasks only.
    """
    names = run.results.leaves(group)
    if not names or any(name not in changes for name in names):
        return
    below = {name: changes[name] for name in names}
    for metric in run.group_metrics.get(group, ()):
        if metric.of:
            if (average := _average(run, group, metric, changes)) is not None:
                yield metric.key, *average
            continue
        for key in dict.fromkeys(key for found in below.values() for key in found):
            having = {name: found[key] for name, found in below.items() if key in found}
            if any(key in run.tasks[name].values for name in below if name not in having):
                continue
            places = {name: names.count(name) for name in having}
            sizes = {name: difference.n or 0 for name, (_, _, difference) in having.items()}
            if (total := _difference(key, _function(metric, key, sizes, places), having)) is not None:
                yield key, *total


def _parts(run: RecordedRun, group: str, metric: GroupMetric) -> dict[str, MemberMetric]:
    """The direct members that a mean of unlike metrics is of, by their names in the run."""
    own = {part.member: part for part in metric.of}
    members = run.results.members.get(group, ())
    return {name: own[short] for name in members if (short := name.rpartition("::")[2]) in own}


def _mean_of_parts(metric: GroupMetric) -> OfTasks:
    return lambda values: math.fsum(values.values()) / len(metric.of)


def _average(
    run: RecordedRun, group: str, metric: GroupMetric, changes: Mapping[str, Mapping[MetricKey, Triple]]
) -> Triple | None:
    """The triple of a mean of unlike metrics, from those of the group's members; None where one is missing."""
    found: dict[str, Triple] = {}
    for name, part in _parts(run, group, metric).items():
        of_member = changes.get(name) or {
            key: (first, second, change) for key, first, second, change in group_differences(run, name, changes)
        }
        if (triple := of_member.get(part.key)) is not None:
            first, second, difference = (scaled(estimate, part.scale) for estimate in triple)
            found[name] = first, second, difference
    return _difference(metric.key, _mean_of_parts(metric), found) if len(found) == len(metric.of) else None


def scaled(estimate: Number, scale: float) -> Number:
    """A number times a factor, with its interval and scale; -1 turns a difference round."""
    stderr = None if estimate.stderr is None else abs(scale) * estimate.stderr
    ends = [scale * end for end in estimate.exact or ()]
    exact = (min(ends), max(ends)) if ends else None
    limits = [
        scale * end for end in (estimate.scale if estimate.scale != NO_SHARE else None) or ()
    ]  # it may make a share
    within = (min(limits), max(limits)) if limits else None
    return replace(estimate, value=scale * estimate.value, stderr=stderr, exact=exact, scale=within)


def _of_group(run: RecordedRun, group: str, number: Number) -> Number:
    """A recorded number of a group with its interval."""
    for metric in run.group_metrics.get(group, ()):
        if metric.of and metric.key == number.key:
            members = _parts(run, group, metric).items()
            of_members = {name: scaled(estimates(run, name)[part.key], part.scale) for name, part in members}
            return _together(number.key, float(number.value), number.stderr, of_members, _mean_of_parts(metric))
    key, names = number.key, run.results.leaves(group)
    below = {name: e for name in dict.fromkeys(names) if (e := run.tasks[name].number(key))}
    places = {name: names.count(name) for name in below}
    values, sizes = {name: e.value for name, e in below.items()}, {name: e.n or 0 for name, e in below.items()}
    functions = (_function(metric, key, sizes, places) for metric in run.group_metrics.get(group, ()))
    fitting = (
        f for f in functions if (made := f(values)) is not None and math.isclose(made, number.value, rel_tol=1e-6)
    )
    return _together(number.key, float(number.value), number.stderr, below, next(fitting, None))


def _difference(key: MetricKey, f: OfTasks, tasks: Mapping[str, Triple]) -> Triple | None:
    """The triple of a number that f computes from those of its tasks; None where f fails on them."""
    before, after, changed = ({name: triple[n] for name, triple in tasks.items()} for n in range(3))
    first, second = (f({name: e.value for name, e in found.items()}) for found in (before, after))
    if first is None or second is None:
        return None
    da, db = _shifts(f, before), _shifts(f, after)
    shares = {name: _share(da[name], db[name], *tasks[name]) for name in tasks}
    values = {name: e.value for name, e in after.items()}

    def changed_by(differences: Mapping[str, float]) -> float | None:
        """The group's change if these were the tasks' changes."""
        moved = f({name: values[name] + differences[name] - changed[name].value for name in values})
        return None if moved is None or first is None else moved - first

    of_first, of_second = ({name: None if d is None else d * d for name, d in shifts.items()} for shifts in (da, db))
    return (
        _together(key, first, _root(of_first.values()), before, f, of_first),
        _together(key, second, _root(of_second.values()), after, f, of_second),
        _together(key, second - first, _root(shares.values()), changed, changed_by, shares),
    )


def _function(metric: GroupMetric, key: MetricKey, sizes: Mapping[str, int], places: Mapping[str, int]) -> OfTasks:
    """The function that computes a group's number from its tasks' numbers; it returns None for another key, or where it fails."""

    def f(values: Mapping[str, float]) -> float | None:
        leaves = {name: Leaf([Number(key, value, n=sizes[name])], places[name]) for name, value in values.items()}
        found = next((number.value for number in group_numbers(leaves, [metric])[0] if number.key == key), None)
        return None if found is None or not math.isfinite(found) else float(found)

    return f


def _shifts(f: OfTasks, tasks: Mapping[str, Number]) -> dict[str, float | None]:
    """The change of f by each task's standard error; None where either is unknown."""
    values = {name: found.value for name, found in tasks.items()}

    def shift(name: str, error: float | None) -> float | None:
        if error is None:
            return None
        up, down = f({**values, name: values[name] + error}), f({**values, name: values[name] - error})
        return None if up is None or down is None else (up - down) / 2

    return {name: shift(name, found.stderr) for name, found in tasks.items()}


def _share(da: float | None, db: float | None, a: Number, b: Number, difference: Number) -> float | None:
    """A task's share in the variance of the group's difference."""
    if da is None or db is None or difference.stderr is None:
        return None
    if not a.stderr or not b.stderr:  # a number without spread is not correlated with any other
        return da * da + db * db
    together = (a.stderr**2 + b.stderr**2 - difference.stderr**2) / (2 * a.stderr * b.stderr)
    return da * da + db * db - 2 * max(-1.0, min(1.0, together)) * da * db


def _root(parts: Collection[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return math.sqrt(max(0.0, math.fsum(known))) if len(known) == len(parts) else None


def _together(
    key: MetricKey,
    value: float,
    stderr: float | None,
    below: Mapping[str, Number],
    f: OfTasks | None,
    shares: Mapping[str, float | None] | None = None,
) -> Number:
    """A number over the docs of several tasks.

    f: computes it from the tasks' numbers; None where that is not known. shares: each task's share in its variance; computed
        with f where they are None. The degrees of freedom are Satterthwaite's: a task's count as much as its share.
    """
    if shares is None and f is not None:
        shares = {name: None if d is None else d * d for name, d in _shifts(f, below).items()}
    plain = [share for share in (shares or {}).values() if share]
    known = [(v * below[name].lacking ** 2, below[name].freedom or 1) for name, v in (shares or {}).items() if v]
    lacking = 1.0
    if known:
        lacking = math.sqrt(math.fsum(v for v, _ in known) / math.fsum(plain))
        freedom: float = round(math.fsum(v for v, _ in known) ** 2 / math.fsum(v * v / df for v, df in known))
    else:
        freedom = min((e.freedom or 1 for e in below.values()), default=1)
    n, clusters = (sum(getattr(e, name) or 0 for e in below.values()) for name in ("n", "clusters"))
    exact, scale = _exact(value, below, f), _scale(below, f)
    found = Number(key, value, stderr, exact, n, clusters=clusters, freedom=max(1, freedom), lacking=lacking)
    return replace(found, scale=scale)


def _scale(below: Mapping[str, Number], f: OfTasks | None) -> tuple[float, float] | None:
    """The least and the greatest number of a group, from those of its tasks; None where one of them is not known."""
    scales = {name: e.scale for name, e in below.items() if e.scale is not None}
    if f is None or not below or len(scales) < len(below):
        return None
    least, most = (f({name: ends[n] for name, ends in scales.items()}) for n in (0, 1))
    return None if least is None or most is None else (min(least, most), max(least, most))


def _exact(value: float, below: Mapping[str, Number], f: OfTasks | None) -> tuple[float, float] | None:
    """The interval of a group with a task whose own is exact: from the change of f by each end of the tasks' intervals."""
    if f is None or all(e.exact is None for e in below.values()):
        return None
    values, gaps = {name: e.value for name, e in below.items()}, []
    for name, e in below.items():
        if e.interval is None:
            return None
        ends = [f({**values, name: bound}) for bound in e.interval]
        known = [end for end in ends if end is not None]
        if len(known) < 2:
            return None
        gaps.append((max(0.0, value - min(known)), max(0.0, max(known) - value)))
    return combined(value, gaps)
