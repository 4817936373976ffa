"""Circular accuracy: a question counts if it is answered right under every rotation of its options.

Source: Liu et al. 2023 (MMBench), arXiv:2307.06281, section 4; open-compass/VLMEvalKit, vlmeval/dataset/utils/multiple_choice.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from mm_eval.errors import ScoringError
from mm_eval.metrics.metric import aggregation
from mm_eval.metrics.traits import declare, smooth

Rotation = tuple[Hashable, float, int]
"""(group, whether this row is right, how many rows its group has)."""


@aggregation("circular_accuracy")
@smooth
@declare(stratum=lambda item: None, content=lambda item: item[1:])
def circular_accuracy(items: Sequence[Rotation]) -> float:
    """The share of groups with every row right. items: one a row, (group, hit, rows of the group).

    A group that lacks rows (a limit, a failed request) is left out: some right rows make no right question. ScoringError if that
    leaves none. With the group as `cluster_key` the standard error is that of a mean over groups.
    """
    found: dict[Hashable, int] = {}
    right: dict[Hashable, bool] = {}
    wanted: dict[Hashable, int] = {}
    for group, hit, rows in items:
        found[group] = found.get(group, 0) + 1
        right[group] = right.get(group, True) and bool(hit)
        wanted[group] = rows
    whole = [right[group] for group, rows in wanted.items() if found[group] >= rows]
    if not whole:
        raise ScoringError("no question has all of its rotations; a --limit cut them, or requests failed")
    return sum(whole) / len(whole)
