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


class Packed:
    """Texts side by side in one integer, for the edit distances of another text to all of them at once.

    `edit_distance` with the columns of all tables in one integer, a bit for each character and an empty one behind each text,
    where an addition carries no further. In the end a distance is the other text's length plus the rises and minus the falls.

    >>> Packed(["cat", "", "a cat"]).distances("cat")
    [0, 3, 2]
    """

    def __init__(self, texts: Sequence[str]) -> None:
        places: dict[str, list[int]] = {}
        self.starts, at = list[int](), 0
        for text in texts:
            self.starts.append(at)
            for i, character in enumerate(text, at):
                places.setdefault(character, []).append(i)
            at += len(text) + 1
        self.lengths = [len(text) for text in texts]
        self.places = {character: _bits(found, at) for character, found in places.items()}
        self.every = _bits([i for found in places.values() for i in found], at)
        self.first = _bits([start for start, length in zip(self.starts, self.lengths, strict=True) if length], at)

    def distances(self, text: str) -> list[int]:
        """The edit distance of a text to each of the texts."""
        up, down, every, first, places = self.every, 0, self.every, self.first, self.places
        for character in text:
            equal = places.get(character, 0)
            diagonal = ((((equal & up) + up) ^ up) | equal | down) & every
            right_up, right_down = down | (every & ~(diagonal | up)), up & diagonal
            right_up, right_down = (right_up << 1) & every | first, (right_down << 1) & every
            up, down = right_down | (every & ~(diagonal | right_up)), right_up & diagonal
        found: list[int] = []
        for start, length in zip(self.starts, self.lengths, strict=True):
            own = ((1 << length) - 1) << start
            found.append(len(text) + (up & own).bit_count() - (down & own).bit_count())
        return found

    def normalised(self, text: str) -> NDArray[Any]:
        """The distances, each divided by the length of the longer text; 0 for two empty texts."""
        import numpy as np

        longest = [max(length, len(text), 1) for length in self.lengths]
        return np.array(self.distances(text), dtype=np.float64) / np.array(longest, dtype=np.float64)


def _bits(places: Sequence[int], size: int) -> int:
    """The integer of up to `size` bits that has ones at these places."""
    content = bytearray(size // 8 + 1)
    for place in places:
        content[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(content, "little")


def distances(reference: Sequence[str], answer: Sequence[str]) -> NDArray[Any]:
    """The normalised distance of each text of a reference (rows) to each text of an answer (columns)."""
    import numpy as np

    packed = Packed(reference)
    columns = {text: packed.normalised(text) for text in dict.fromkeys(answer)}
    return np.array([columns[text] for text in answer]).T.reshape(len(reference), len(answer))


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

    Of several such assignments it is the one that scipy's `linear_sum_assignment` gives, which the benchmarks' scripts use: among
    columns at the same distance a free one comes first, the last in a list from which the script takes those that are done.
    cost: finite, of shape (rows, columns). The Hungarian method by shortest paths (Jonker and Volgenant 1987; Crouse 2016).
    """
    import numpy as np

    rows, columns = cost.shape
    if rows > columns:
        back, given = assignment(cost.T), [-1] * rows
        for column, row in enumerate(back):
            given[row] = column
        return given
    owner, given = np.full(columns, -1), [-1] * rows
    row_price, column_price = np.zeros(rows), np.zeros(columns)
    for row in range(rows):
        left, at = np.arange(columns)[::-1].copy(), row
        least, behind = np.full(columns, np.inf), np.full(columns, -1)
        seen_rows, seen_columns, so_far = list[int](), list[int](), 0.0
        while True:
            seen_rows.append(at)
            reduced = so_far + cost[at, left] - row_price[at] - column_price[left]
            better = reduced < least[left]
            least[left[better]], behind[left[better]] = reduced[better], at
            so_far = float(least[left].min())
            nearest = np.flatnonzero(least[left] == so_far)
            free = nearest[owner[left[nearest]] < 0]
            place = int(free[-1] if len(free) else nearest[0])
            column = int(left[place])
            seen_columns.append(column)
            left[place] = left[-1]
            left = left[:-1]
            if owner[column] < 0:
                break
            at = int(owner[column])
        row_price[row] += so_far
        for other in seen_rows[1:]:
            row_price[other] += so_far - least[given[other]]
        column_price[seen_columns] -= so_far - least[seen_columns]
        at = -1
        while at != row:
            at = int(behind[column])
            owner[column] = at
            given[at], column = column, given[at]
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
