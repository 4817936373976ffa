"""Intervals where a standard error says nothing: all docs right, all wrong, no doc flipped, or nearly so.

A standard error of 0 from 30 right answers does not mean that the 31st is right. The exact (Clopper-Pearson) interval of a share
holds there; docs that were drawn together count as the number of independent docs that has their standard error (Korn and
Graubard 1998), and where there is no spread at all, each cluster counts as one doc.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from mm_eval.metrics.stderr import mean_stderr
from mm_eval.metrics.student import beta_quantile, t_quantile
from mm_eval.metrics.traits import traits_of

Interval = tuple[float, float]
TAIL = 0.025
"""What a 95% interval leaves out at either end."""


def exact_share(right: float, count: float) -> Interval:
    """The Clopper-Pearson interval of `right` of `count` independent docs; neither needs to be whole."""
    low = 0.0 if right <= 0 else beta_quantile(TAIL, right, count - right + 1)
    high = 1.0 if right >= count else beta_quantile(1 - TAIL, right + 1, count - right)
    return low, high


def share_interval(marks: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> Interval:
    """The interval of the share of true marks. clusters: one a mark; marks of one cluster were drawn together."""
    count = len(marks)
    share = sum(marks) / count
    groups = count if clusters is None else len(set(clusters))
    stderr = mean_stderr([float(mark) for mark in marks], clusters)
    if share in (0.0, 1.0) or stderr is None:
        return exact_share(share * groups, groups)
    effective = count if stderr == 0 else min(count, share * (1 - share) / stderr**2)
    if count > 1 and groups > 1:
        effective *= (t_quantile(1 - TAIL, count - 1) / t_quantile(1 - TAIL, groups - 1)) ** 2
    return exact_share(share * effective, effective)


def combined(value: float, gaps: Sequence[Interval]) -> Interval:
    """The interval of a number to which independent parts add: gaps are how far each part may take it down and up (MOVER)."""
    down, up = (math.sqrt(math.fsum(gap[side] ** 2 for gap in gaps)) for side in (0, 1))
    return value - down, value + up


def difference_of_marks(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Interval:
    """The interval of the share of second minus that of first, over the same docs: from the docs gained and those lost."""
    gained = [b and not a for a, b in zip(first, second, strict=True)]
    lost = [a and not b for a, b in zip(first, second, strict=True)]
    up, down = sum(gained) / len(gained), sum(lost) / len(lost)
    (up_low, up_high), (down_low, down_high) = share_interval(gained, clusters), share_interval(lost, clusters)
    low, high = combined(up - down, [(up - up_low, up_high - up), (down_high - down, down - down_low)])
    return max(-1.0, low), min(1.0, high)


def unseen(clusters: int) -> float:
    """The largest share of clusters of another kind that would stay unseen in so many with a chance of 2.5%."""
    return float(1 - TAIL ** (1 / clusters))


def reach(aggregation: Callable[[Sequence[Any]], float], values: Sequence[Any]) -> float | None:
    """How far a number may go: that of the docs all right minus that of all wrong; None where their values don't say."""
    try:
        right, wrong = ([marked(value, mark) for value in values] for mark in (1.0, 0.0))
        found = abs(float(aggregation(right)) - float(aggregation(wrong)))
    except Exception:  # the task's own function, on values that no doc had
        return None
    return found if math.isfinite(found) and found > 0 else None


def marked(value: Any, mark: float) -> Any:
    """A doc's value as it would be, were the doc right (1) or wrong (0)."""
    return {**value, "score": mark} if isinstance(value, Mapping) else mark


def independent_clusters(
    aggregation: Callable[[Sequence[Any]], float], values: Sequence[Any], clusters: Sequence[Hashable] | None
) -> int:
    """How many clusters a number rests on: of a number that is made of strata, the smallest one's in each of them."""
    stratum = traits_of(aggregation).stratum
    found: dict[Hashable, set[Hashable]] = {}
    for i, value in enumerate(values):
        place = stratum(value) if stratum else None
        found.setdefault(place, set()).add(i if clusters is None else clusters[i])
    return len(found) * min(map(len, found.values()))
