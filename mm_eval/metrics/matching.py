"""Which text of an answer belongs to which text of a reference: the assignment with the least total edit distance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mm_eval.metrics.generation import edit_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray


def normalised_distance(one: str, other: str) -> float:
    """The edit distance divided by the length of the longer text: 0 for equal texts, 1 for texts that share nothing."""
    longest = max(len(one), len(other))
    return edit_distance(one, other) / longest if longest else 0.0


def assignment(cost: NDArray[Any]) -> list[int]:
    """For each row the column that it gets, or -1, so that the sum of costs is least and each column is used once at most.

    cost: finite, of shape (rows, columns). The Hungarian method by shortest paths (Jonker and Volgenant 1987).
    """
    import numpy as np

    rows, columns = cost.shape
    if rows > columns:
        back, given = assignment(cost.T), [-1] * rows
        for column, row in enumerate(back):
            given[row] = column
        return given
    owner = np.full(columns + 1, -1)  # the row of each column; the last column is where a new row begins
    row_price, column_price = np.zeros(rows), np.zeros(columns + 1)
    for row in range(rows):
        owner[columns], at = row, columns
        least, behind, seen = np.full(columns, np.inf), np.full(columns, columns), np.zeros(columns + 1, dtype=bool)
        while owner[at] >= 0:
            seen[at] = True
            free = ~seen[:columns]
            reduced = cost[owner[at]] - row_price[owner[at]] - column_price[:columns]
            better = free & (reduced < least)
            least[better], behind[better] = reduced[better], at
            following = int(np.where(free, least, np.inf).argmin())
            step = least[following]
            row_price[owner[seen]] += step
            column_price[seen] -= step
            least[free] -= step
            at = following
        while at != columns:
            owner[at] = owner[behind[at]]
            at = int(behind[at])
    given = [-1] * rows
    for column in range(columns):
        if owner[column] >= 0:
            given[owner[column]] = column
    return given


def matched(reference: Sequence[str], answer: Sequence[str]) -> list[int]:
    """For each text of the reference the number of the text of the answer that belongs to it, or -1 if none is left."""
    import numpy as np

    if not reference or not answer:
        return [-1] * len(reference)
    distance = lru_cache(maxsize=None)(normalised_distance)  # an answer in a loop repeats its texts
    return assignment(np.array([[distance(gold, text) for text in answer] for gold in reference]))
