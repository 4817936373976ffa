"""Which text of an answer belongs to which text of a reference: the assignment with the least total edit distance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.metrics.bounds import too_large
from mm_eval.scoring.metrics.generation import edit_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray


def normalised_distance(one: str, other: str) -> float:
    """The edit distance divided by the length of the longer text: 0 for equal texts, 1 for texts that share nothing."""
    longest = max(len(one), len(other))
    return edit_distance(one, other) / longest if longest else 0.0


WORD = 64
"""The bits of a word."""
LONGEST_SIDE_BY_SIDE = 256
"""Longer texts are compared one by one: each character of the longest is an operation on arrays."""


class Texts:
    """Several texts, for the normalised distances of one text to all of them at once.

    `edit_distance` for texts side by side: a column of its table is one 64-bit word, so a text of up to 64 characters is compared
    with all others of ordinary length by a few operations on arrays for each of their characters. `steps` counts the operations
    that comparing some texts takes beside that, one for each character of a text that is compared alone.

    >>> Texts(["cat", "", "a cat"]).distances("cat").tolist()
    [0.0, 1.0, 0.4]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy as np

        self.texts = texts
        self.long = [place for place, text in enumerate(texts) if len(text) > LONGEST_SIDE_BY_SIDE]
        short = set(range(len(texts))).difference(self.long)
        self.order = sorted(short, key=lambda place: -len(texts[place]))
        self.lengths = np.array([len(texts[place]) for place in self.order], dtype=np.int64)
        characters = dict.fromkeys("".join(texts[place] for place in self.order))
        self.alphabet = {character: number for number, character in enumerate(characters)}
        self.columns = []
        """For each position the characters there, of the texts that are long enough: the first ones in their order."""
        for at in range(int(self.lengths[0]) if self.order else 0):
            reaching = self.order[: int((self.lengths > at).sum())]
            self.columns.append(np.array([self.alphabet[texts[place][at]] for place in reaching]))

    def steps(self, texts: Sequence[str]) -> int:
        """The characters of all comparisons of these texts that are made one by one."""
        alone = [len(text) for text in texts if len(text) > WORD]
        return sum(alone) * len(self.texts) + len(texts) * sum(len(self.texts[place]) for place in self.long)

    def distances(self, text: str) -> NDArray[Any]:
        """The normalised distance of a text to each of the texts."""
        import numpy as np

        if not 0 < len(text) <= WORD:
            return np.array([normalised_distance(text, other) for other in self.texts])
        places = np.zeros(len(self.alphabet) or 1, dtype=np.uint64)
        for i, character in enumerate(text):
            if character in self.alphabet:
                places[self.alphabet[character]] |= np.uint64(1 << i)
        one, last = np.uint64(1), np.uint64(len(text) - 1)
        up = np.full(len(self.order), ~np.uint64(0))
        down = np.zeros(len(self.order), dtype=np.uint64)
        distance = np.full(len(self.order), len(text), dtype=np.int64)
        for column in self.columns:
            reached = len(column)
            up, down, equal = up[:reached], down[:reached], places[column]
            diagonal = (((equal & up) + up) ^ up) | equal | down
            right_up, right_down = down | ~(diagonal | up), up & diagonal
            distance[:reached] += (right_up >> last & one).astype(np.int64) - (right_down >> last & one).astype(
                np.int64
            )
            right_up, right_down = right_up << one | one, right_down << one
            up, down = right_down | ~(diagonal | right_up), right_up & diagonal
        found = np.empty(len(self.texts))
        found[self.order] = distance / np.maximum(self.lengths, len(text))
        found[self.long] = [normalised_distance(text, self.texts[place]) for place in self.long]
        return found


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


MOST_CHARACTERS = 20_000_000
"""Texts whose comparisons, each with each, take more characters are not matched."""


def matched(reference: Sequence[str], answer: Sequence[str]) -> list[int]:
    """For each text of the reference the number of the text of the answer that belongs to it, or -1 if none is left.

    Equal sequences are matched in their order. Where comparing others takes more than MOST_CHARACTERS, a text that occurs several
    times counted once, none has a partner, and that is reported.
    """
    import numpy as np

    if not reference or not answer:
        return [-1] * len(reference)
    if list(reference) == list(answer):
        return list(range(len(reference)))
    golds, texts = set(reference), set(answer)
    if len(golds) * sum(map(len, texts)) + len(texts) * sum(map(len, golds)) > MOST_CHARACTERS:
        too_large(f"the matching of texts (at most {MOST_CHARACTERS:,} characters in comparisons of each with each)")
        return [-1] * len(reference)
    distance = lru_cache(maxsize=None)(normalised_distance)  # an answer in a loop repeats its texts
    return assignment(np.array([[distance(gold, text) for text in answer] for gold in reference]))
