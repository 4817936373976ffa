"""Intervals of shares and of numbers made of parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics.stderr import mean_stderr
from mm_eval.scoring.metrics.traits import traits_of
from mm_eval.values.distributions import beta_quantile, t_quantile

Interval = tuple[float, float]
TAIL = 0.025
"""The probability that a 95% interval leaves out at each end."""


def exact_share(right: float, count: float) -> Interval:
    """The Clopper-Pearson interval of the share of `right` among `count` independent docs; neither must be a whole number."""
    low = 0.0 if right <= 0 else beta_quantile(TAIL, right, count - right + 1)
    high = 1.0 if right >= count else beta_quantile(1 - TAIL, right + 1, count - right)
    return low, high


def share_interval(marks: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> Interval:
    """The interval of the share of true marks. clusters: one per mark; marks of one cluster were drawn together."""
    share, effective = sum(marks) / len(marks), effective_docs(marks, clusters)
    return exact_share(share * effective, effective)


def effective_docs(marks: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> float:
    """How many independent docs would tell the share of true marks as well as these, which may be drawn in clusters."""
    count = len(marks)
    share = sum(marks) / count
    groups = count if clusters is None else len(set(clusters))
    stderr = mean_stderr([float(mark) for mark in marks], clusters)
    if share in (0.0, 1.0) or stderr is None:
        return groups
    effective = count if stderr == 0 else min(count, share * (1 - share) / stderr**2)
    if count > 1 and groups > 1:
        effective *= (t_quantile(1 - TAIL, count - 1) / t_quantile(1 - TAIL, groups - 1)) ** 2
    return effective


def combined(value: float, gaps: Sequence[Interval]) -> Interval:
    """The interval of a sum of independent parts (MOVER). gaps: how far each part's interval goes below and above its value."""
    down, up = (math.sqrt(math.fsum(gap[side] ** 2 for gap in gaps)) for side in (0, 1))
    return value - down, value + up


def difference_of_marks(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Interval:
    """The interval of the second share minus the first over the same docs, from the docs gained and the docs lost."""
    gained = [b and not a for a, b in zip(first, second, strict=True)]
    lost = [a and not b for a, b in zip(first, second, strict=True)]
    up, down = sum(gained) / len(gained), sum(lost) / len(lost)
    (up_low, up_high), (down_low, down_high) = share_interval(gained, clusters), share_interval(lost, clusters)
    low, high = combined(up - down, [(up - up_low, up_high - up), (down_high - down, down - down_low)])
    return max(-1.0, low), min(1.0, high)


def unseen(clusters: int) -> float:
    """The largest share of clusters of another kind of which a sample of this many shows none with a probability of 2.5%."""
    return float(1 - TAIL ** (1 / clusters))


def ends_of(aggregation: Callable[[Sequence[Any]], float], values: Sequence[Any]) -> Interval | None:
    """The least and the greatest value of a number: with all docs right and with all wrong.

    None if the aggregation can't be evaluated for that, or does not depend on it.
    """
    try:
        right, wrong = (float(aggregation([marked(value, mark) for value in values])) for mark in (1.0, 0.0))
    except Exception:  # a task's own function may fail on values that no doc has
        return None
    return (min(right, wrong), max(right, wrong)) if math.isfinite(right - wrong) and right != wrong else None


def reach(aggregation: Callable[[Sequence[Any]], float], values: Sequence[Any]) -> float | None:
    """The range of a number: all docs right minus all docs wrong; None as in `ends_of`."""
    ends = ends_of(aggregation, values)
    return None if ends is None else ends[1] - ends[0]


def is_pair(value: Any) -> bool:
    """Whether a doc's value is (category, score), as macro averages take it; from JSON it is a list."""
    return isinstance(value, (tuple, list)) and len(value) == 2 and isinstance(value[0], str)


def mark_of(value: Any) -> bool | None:
    """Whether a doc's value means right (1) or wrong (0): a number, the `score` of a mapping, or that of a pair."""
    score = value.get("score") if isinstance(value, Mapping) else value[1] if is_pair(value) else value
    return bool(score) if isinstance(score, (bool, int, float)) and score in (0, 1) else None


def marked(value: Any, mark: float) -> Any:
    """A doc's value if the doc were right (1) or wrong (0)."""
    if isinstance(value, Mapping):
        return {**value, "score": mark}
    return (value[0], mark) if is_pair(value) else mark


def independent_clusters(
    aggregation: Callable[[Sequence[Any]], float], values: Sequence[Any], clusters: Sequence[Hashable] | None
) -> int:
    """The number of clusters behind a number; with strata, the clusters of the smallest one times the number of strata.

    A cluster that is in several strata counts once.
    """
    stratum = traits_of(aggregation).stratum
    found: dict[Hashable, set[Hashable]] = {}
    for i, value in enumerate(values):
        key = stratum(value) if stratum else None
        found.setdefault(key, set()).add(i if clusters is None else clusters[i])
    return min(len(found) * min(map(len, found.values())), len(set().union(*found.values())))
