"""The edits of TER between two long texts: those of sacrebleu, with a bound on the work and none on the size.

TER counts the fewest edits of words, where moving a run of words is one edit. sacrebleu searches for moves one after the other,
and compares the texts again for each candidate: 1,000 times at most, in Python. Texts that are nearly alike have few candidates,
so that their length costs little; unlike ones of 300 words take more than 10 seconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mm_eval.scoring.metrics.generation import edit_distance

MOST_STEPS = 10_000_000
"""Steps of sacrebleu's search for the moves between two texts: about as many as two unlike texts of 250 words take.

A cell that is computed is a step of half a microsecond. Eight cells that are only laid out, or pairs of words that are only
looked at, take as long."""

MOST_CELLS = 10_000_000
"""Cells of the last table, around the diagonal: about as many as texts of 200,000 words have."""


class _Spent(Exception):
    """The next table is beyond the bound."""


def edits_of(hypothesis: Sequence[str], reference: Sequence[str]) -> tuple[int, bool]:
    """(the edits that turn one text into the other, whether they are sacrebleu's).

    Where the bound ends the search for moves, the moves found so far count, and single edits for the rest: an upper end, since
    each further move would save more than it costs. The single edits are sacrebleu's, too, which looks at 25 words around the
    diagonal: of texts that are turned by more, it counts more edits than the fewest.
    """
    if list(hypothesis) == list(reference):
        return 0, True
    if not hypothesis or not reference:
        return max(len(hypothesis), len(reference)), True
    words, moves, candidates = list(hypothesis), 0, 0
    from sacrebleu.metrics import lib_ter

    table = _bounded_table(lib_ter.BeamEditDistance)(list(reference))
    try:
        while True:
            table.spend(len(words) * len(reference) // 8)  # a search looks at all pairs of words
            gain, moved, candidates = lib_ter._shift(words, list(reference), table, candidates)
            if candidates >= lib_ter._MAX_SHIFT_CANDIDATES or gain <= 0:
                return moves + table(words)[0], True
            words, moves = moved, moves + 1
    except _Spent:
        return moves + _beam_edits(words, reference), False


def _bounded_table(kind: Any) -> Any:
    """sacrebleu's class of edit distances, which counts its steps and raises _Spent before the bound is passed."""

    class Bounded(kind):  # type: ignore[misc]
        left = MOST_STEPS

        def spend(self, steps: int) -> None:
            self.left -= steps
            if self.left < 0:
                raise _Spent

        def _edit_distance(self, words: list[str], start: int, known: list[object]) -> object:
            columns = self._n_words_ref + 1
            computed = min(columns, max(50, 50 + columns // len(words)))  # around the diagonal, wider for a short text
            self.spend((len(words) - start) * (computed + columns // 8))
            return super()._edit_distance(words, start, known)

    return Bounded


def _beam_edits(words: Sequence[str], reference: Sequence[str]) -> int:
    """The edits without moves as sacrebleu counts them, one row of its table at a time; beyond the bound, the fewest."""
    from sacrebleu.metrics import lib_ter

    ratio, width = len(reference) / len(words), lib_ter._BEAM_WIDTH
    if width < ratio / 2:
        width = math.ceil(ratio / 2 + width)
    if len(words) * 2 * width > MOST_CELLS:
        return _single_edits(words, reference)
    columns, unknown = len(reference) + 1, lib_ter._INT_INFINITY
    first, row = 0, list(range(columns))
    for place, word in enumerate(words, start=1):
        diagonal = math.floor(place * ratio)
        start = max(0, diagonal - width)
        end = columns if place == len(words) else min(columns, diagonal + width)
        above = [row[j - first] if 0 <= j - first < len(row) else unknown for j in range(start - 1, end)]
        found = list[int]()
        for j in range(start, end):
            changed = above[j - start] + (j == 0 or word != reference[j - 1])
            left = found[-1] if found else unknown
            found.append(min(changed, above[j - start + 1] + 1, left + 1, unknown))
        first, row = start, found
    return row[-1]


def _single_edits(one: Sequence[str], other: Sequence[str]) -> int:
    """The edits without moves: the edit distance of words, each written as one character."""
    letters = {word: chr(n) for n, word in enumerate(dict.fromkeys((*one, *other)))}
    return edit_distance("".join(letters[word] for word in one), "".join(letters[word] for word in other))
