"""Which pieces of an answer belong to which pieces of a page: the match that OmniDocBench calls quick_match.

A pair has one piece of each side, or a piece of the page and neighbouring ones of the answer that are nearer to it together, or a
piece of the answer and several of the page that it contains.

Source: utils/match_quick.py of github.com/opendatalab/OmniDocBench, v1.5 (through the fork pichiu/OmniDocBench at 7bd6c2e).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mm_eval.tasks.rules.matching import Packed, assignment, distances

from mm_eval.scoring.metrics.generation import edit_distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIKE = 0.25
"""Nearer texts belong together: they are not merged, and a piece so near to a caption is dropped with it."""
PART = 0.6
"""A piece of the answer may be a part of a text of the page if some place there is nearer."""
APART = 0.7
"""Partners that are further apart are no pair."""
CONTAINED = 0.4
"""A text of the page without a partner is in a piece of the answer if some place there is nearer."""
MOST_PAIRS = 100_000
"""Pages with more pairs of pieces are matched one to one, as in the script those that take it longer than 30 seconds."""
MOST_STEPS = 10_000_000
"""So are pages for which more characters are compared in search of texts within texts."""

Run = tuple[int, int]
"""Neighbouring pieces of an answer: the first, and the one behind the last."""


@dataclass(frozen=True)
class Pair:
    """Pieces that belong together, by their numbers. gold: of the page. said: of the answer; none if the page's was left out."""

    gold: tuple[int, ...]
    said: tuple[int, ...]


class TooMany(Exception):
    """The work for a page is beyond its bound."""


def quick_match(golds: Sequence[str], said: Sequence[str]) -> list[Pair]:
    """The pairs of the pieces of a page, whose numbers are those of the texts. TooMany beyond the bounds of this module.

    Pieces of the answer that are in no pair are not scored.
    """
    if len(golds) * len(said) > MOST_PAIRS:
        raise TooMany
    joined, within = _Joined(golds, said), Within()
    apart = joined.apart([(number, number + 1) for number in range(len(said))])
    runs = _runs(golds, said, joined, within)
    cost = joined.apart(runs)
    pairs: dict[tuple[int, ...], list[int]] = {}
    alone: list[int] = []
    for gold, column in enumerate(assignment(cost)):
        if column >= 0 and not cost[gold, column] > APART:
            pairs[tuple(range(*runs[column]))] = [gold]
        else:
            alone.append(gold)
    placed: set[int] = set()
    for number, text in enumerate(said):
        if inside := [gold for gold in alone if within(text, golds[gold], _most(CONTAINED, golds[gold], equal=False))]:
            pairs.setdefault((number,), []).extend(gold for gold in inside if gold not in placed)
            placed.update(inside)
    found = [Pair(tuple(sorted(both)), parts) for parts, both in pairs.items() if both]
    # The order of the two sets is Python's, as in the script: it decides between equal assignments.
    paired = set().union(*pairs.values())
    left, free = (
        set(range(len(golds))) - paired,
        set(range(len(said))) - {number for parts in pairs for number in parts},
    )
    for gold, number in _leftovers(list(left), list(free), apart):
        found.append(Pair((gold,), (number,)))
        left.discard(gold)
    return [*found, *(Pair((gold,), ()) for gold in sorted(left))]


def _leftovers(left: list[int], free: list[int], apart: NDArray[Any]) -> list[tuple[int, int]]:
    """Pairs of what has no partner on either side, as near as they may be."""
    if not left or not free:
        return []
    columns = assignment(apart[left][:, free])
    return [(left[row], free[column]) for row, column in enumerate(columns) if column >= 0]


def simple_match(golds: Sequence[str], said: Sequence[str]) -> list[Pair]:
    """One piece of the answer at most for each piece of the page."""
    columns = assignment(distances(golds, said)) if golds and said else [-1] * len(golds)
    return [Pair((gold,), (column,) if column >= 0 else ()) for gold, column in enumerate(columns)]


# Pieces of an answer that were one text of the page


def _runs(golds: Sequence[str], said: Sequence[str], joined: _Joined, within: Within) -> list[Run]:
    """The pieces of an answer, neighbouring ones joined where a text of the page is nearer to them together."""
    import numpy as np

    alike = joined.apart([(number, number + 1) for number in range(len(said))]) < ALIKE
    closed: NDArray[Any] = np.asarray(alike.any(axis=0))
    best: list[tuple[Run, float]] = []
    for gold in (gold for gold in range(len(golds)) if not alike[gold].any()):
        reached = [_reached(gold, golds[gold], start, said, closed, joined, within) for start in range(len(said))]
        runs = [(start, end) for start, end in enumerate(reached) if not closed[start]]
        if runs:
            nearest = min(runs, key=lambda run: joined(run)[gold])
            best.append((nearest, float(joined(nearest)[gold])))
    starts = {run[0]: run for run in _chosen(best)}
    found, at = list[Run](), 0
    while at < len(said):
        found.append(starts.get(at, (at, at + 1)))
        at = found[-1][1]
    return found


def _reached(
    gold: int, text: str, start: int, said: Sequence[str], closed: NDArray[Any], joined: _Joined, within: Within
) -> int:
    """How far the pieces from `start` on are joined: while each is a part of the page's text, and they are nearer together."""
    end = start + 1
    while not closed[start] and end < len(said) and not closed[end]:
        if joined((start, end + 1))[gold] > joined((start, end))[gold]:
            break
        if not all(within(text, piece, _most(PART, piece, equal=True)) for piece in said[start:end]):
            break
        if not within(text, said[end], _most(PART, said[end], equal=False)):
            break
        end += 1
        if sum(map(len, said[start:end])) + end - start - 1 > len(text):
            break
    return end


class _Joined:
    """How far the texts of the page are from neighbouring pieces of the answer with a blank between them."""

    def __init__(self, golds: Sequence[str], said: Sequence[str]) -> None:
        self.packed, self.size, self.said = Packed(golds), len(golds), said
        self.columns: dict[str, NDArray[Any]] = {}

    def __call__(self, run: Run) -> NDArray[Any]:
        """The normalised distance of each text of the page."""
        text = " ".join(self.said[slice(*run)])
        if text not in self.columns:
            self.columns[text] = self.packed.normalised(text)
        return self.columns[text]

    def apart(self, runs: Sequence[Run]) -> NDArray[Any]:
        """The distances of all texts of the page (rows) to these."""
        import numpy as np

        return np.array([self(run) for run in runs]).T.reshape(self.size, len(runs))


def _chosen(best: list[tuple[Run, float]]) -> list[Run]:
    """Runs that do not overlap. Of those that do, a list of such that fit together, the nearest on average.

    Such lists are made by going through the runs once: a run joins each list that it fits, and begins one where it joins none.
    One that is in a list already stays there with its lesser distance.
    """
    groups: list[list[tuple[Run, float]]] = []
    reached = 0
    for run, distance in sorted(best, key=lambda each: each[0][0]):
        if groups and run[0] < reached:
            groups[-1].append((run, distance))
            reached = max(reached, run[1])
        else:
            groups.append([(run, distance)])
            reached = run[1]
    chosen: list[Run] = []
    for group in groups:
        paths: list[dict[Run, float]] = []
        for run, distance in group:
            joins = False
            for path in paths:
                if run in path:
                    joins = True
                    if path[run] > distance:
                        del path[run]
                        path[run] = distance
                elif not any(run[0] < other[1] and other[0] < run[1] for other in path):
                    joins = True
                    path[run] = distance
            if not joins:
                paths.append({run: distance})
        means = [sum(path.values()) / len(path) for path in paths]
        chosen += paths[means.index(min(means))]
    return chosen


# A text within another


def _most(share: float, text: str, equal: bool) -> int:
    """The most edits that are less than a share of a text's length, or as much; -1 if there are none."""
    edits = int(share * len(text)) + 1
    while edits >= 0 and not (edits / len(text) <= share if equal else edits / len(text) < share):
        edits -= 1
    return edits


class Within:
    """Tells whether a text is, but for some edits, at some place in another one: a place as long as the text.

    It counts the characters that it compares, and ends with TooMany beyond the bound.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.counts: dict[str, Counter[str]] = {}
        self.found: dict[tuple[str, str, int], bool] = {}

    def __call__(self, text: str, part: str, most: int) -> bool:
        if not 0 < len(part) <= len(text) or most < 0:
            return False
        key = text, part, most
        if key not in self.found:
            self.found[key] = self._holds(text, part, most)
        return self.found[key]

    def _holds(self, text: str, part: str, most: int) -> bool:
        if part in text:
            return True
        there, letters = (self.counts.setdefault(each, Counter(each)) for each in (text, part))
        if len(part) - sum(min(count, there[letter]) for letter, count in letters.items()) > most:
            return False
        self._count(len(text))
        ends = least_by_end(text, part)
        # The nearest part of the text, of any length, is no further; one as long is at most twice as far, by its length.
        if 2 * min(ends) <= most:
            return True
        places = [end - len(part) for end, edits in enumerate(ends) if edits <= most and end >= len(part)]
        reached = 0
        for place in places:
            if place >= reached:
                self._count(len(part))
                edits = edit_distance(text[place : place + len(part)], part)
                if edits <= most:
                    return True
                reached = place + (edits - most + 1) // 2  # a step of one character is worth two edits at most
        return False

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > MOST_STEPS:
            raise TooMany


def least_by_end(text: str, part: str) -> list[int]:
    """For each place in a text the fewest edits between the part and what ends there, of any length (Sellers 1980)."""
    places: dict[str, int] = {}
    for i, character in enumerate(part):
        places[character] = places.get(character, 0) | 1 << i
    every, last = (1 << len(part)) - 1, 1 << (len(part) - 1)
    up, down, distance = every, 0, len(part)
    found = [distance]
    for character in text:
        equal = places.get(character, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        right_up, right_down = down | (every & ~(diagonal | up)), up & diagonal
        distance += bool(right_up & last) - bool(right_down & last)
        found.append(distance)
        right_up, right_down = (right_up << 1) & every, (right_down << 1) & every
        up, down = right_down | (every & ~(diagonal | right_up)), right_up & diagonal
    return found
