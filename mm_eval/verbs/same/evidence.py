"""Whether two sides are one model, by levels of evidence over the documents that both were asked.

Each level measures how far two replies to one document are apart, from 0 to 1. Where a side was asked twice, the distance of
its own two replies is the noise. The difference is the distance between the sides less the noise: if both are one model, the
four replies may stand in any order, and it is 0 in the mean, whatever the noise is. A level differs if the lower bound of the
difference is above what is allowed, and is alike if the upper bound is below it. The bounds hold for any distribution, at alpha
divided by the number of bounds that can say "differs".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Place
from mm_eval.verbs.same.bounds import bounds, needed, smallest_found
from mm_eval.verbs.same.replies import Asked, Reply, Side

ALIKE, DIFFERS, OPEN, UNTOLD = "alike", "differs", "not decided", "not told"
SAME, OTHER, UNDECIDED = "SAME", "DIFFERS", "NOT DECIDED"

TOKENS, PLACES, TEXTS, ENDINGS, SCORES, STEADY = "tokens", "logprobs", "texts", "endings", "accuracy", "steadiness"
LEVELS: Mapping[str, str] = {
    TOKENS: "the prompt's tokens, as they are counted: another template, picture size or system text shows at once",
    PLACES: "the log-probabilities of the first 8 tokens, as far as the texts agree",
    TEXTS: "the greedy texts",
    ENDINGS: "how answers end: stop, length, filtered, refused, tool",
    SCORES: "how many answers are right",
    STEADY: "how often a side says something else when it is asked again",
}
"""The levels in their order, and what each compares."""
TWO_SIDED = (SCORES, STEADY)
ASKED_ONCE = ("was asked once", "were asked once")
CERTAIN = (TOKENS, SCORES)
"""Levels that need no control: tokens are counted and not drawn, and scores have no direction without a difference."""
STEADY_LIMIT = 0.25
"""How much oftener than the other one side may change its answer when it is asked again. Batches make a server unsteady in few
answers, sampling in most."""
ALPHA = 0.05
PLACES_KEPT = 8
TOLERANCES: Mapping[str, float] = {"float64": 0.001, "float32": 0.001, "float16": 0.01, "bfloat16": 0.05}
"""How far the probabilities of a token may be apart, as total variation, for one model in two builds of this type."""
UNKNOWN_TYPE = "bfloat16"
"""The type of a side that does not state one."""


@dataclass(frozen=True)
class Rules:
    """What is allowed. difference: a share of documents. levels: those that decide. tolerance: None for that of the types."""

    difference: float = 0.05
    levels: Sequence[str] = tuple(LEVELS)
    tolerance: float | None = None


class Pair(NamedTuple):
    """A document that both sides were asked in the same words. key: (task, doc id)."""

    key: tuple[str, int]
    first: Asked
    second: Asked

    @property
    def cluster(self) -> Hashable:
        return self.key[0], self.first.cluster

    @property
    def docs(self) -> tuple[Asked, Asked]:
        """The document as each side was asked it."""
        return self.first, self.second


@dataclass(frozen=True)
class Level:
    """What one level says.

    within: how far each side is apart from itself; None where it was not asked twice. between: the two sides from each other.
    value, low, high: of the difference. limit: what is allowed. docs: that count. missing: without a reply on one side.
    differing: the documents that are apart. why: what keeps it from being told or decided. needed: documents that would decide.
    """

    name: str
    state: str
    decides: bool = True
    within: tuple[float | None, float | None] = (None, None)
    between: float = 0.0
    value: float = 0.0
    low: float = -1.0
    high: float = 1.0
    limit: float = 0.05
    docs: int = 0
    missing: int = 0
    differing: Sequence[Pair] = ()
    why: str = ""
    needed: int | None = None


@dataclass
class Evidence:
    """Both sides and what each level says of them."""

    first: Side
    second: Side
    rules: Rules = field(default_factory=Rules)

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.first, self.second

    @cached_property
    def pairs(self) -> list[Pair]:
        """The documents that both were asked in the same words. ConfigError where there is none."""
        both = [key for key in self.first.docs if key in self.second.docs]
        found = [Pair(key, self.first.docs[key], self.second.docs[key]) for key in both]
        same = [pair for pair in found if pair.first.asked == pair.second.asked]
        if not same:
            what = "the sides have no document that both were asked in the same words"
            what += f": {len(both):,} are asked in other words." if both else ": no document is in both."
            hint = "Give one side as a model: it is asked what the run of the other was asked."
            raise ConfigError(what, where=f"{self.first.name} and {self.second.name}", hint=hint)
        return same

    @property
    def asked_otherwise(self) -> int:
        """Documents of both whose prompts differ."""
        return sum(key in self.second.docs for key in self.first.docs) - len(self.pairs)

    @property
    def controls(self) -> tuple[bool, bool]:
        """Whether each side was asked twice."""
        return self.first.repeats > 1, self.second.repeats > 1

    @property
    def tolerance(self) -> float:
        """How far the probabilities of a token may be apart."""
        if self.rules.tolerance is not None:
            return self.rules.tolerance
        known = [TOLERANCES.get(side.dtype.removeprefix("torch."), TOLERANCES[UNKNOWN_TYPE]) for side in self.sides]
        return max(known)

    @cached_property
    def level(self) -> float:
        """The alpha of each bound."""
        deciding = [name for name in LEVELS if name in self.rules.levels]
        return ALPHA / max(1, sum(2 if name in TWO_SIDED else 1 for name in deciding))

    @cached_property
    def levels(self) -> list[Level]:
        return [self._level(name) for name in LEVELS]

    @property
    def deciding(self) -> list[Level]:
        return [each for each in self.levels if each.decides and each.state != UNTOLD]

    @property
    def verdict(self) -> str:
        states = {each.state for each in self.deciding}
        if DIFFERS in states:
            return OTHER
        half = self.asked_otherwise > len(self.pairs)
        return UNDECIDED if not states or OPEN in states or half else SAME

    @property
    def smallest_found(self) -> float | None:
        """The share of differing documents that so many documents show."""
        clusters = len({pair.cluster for pair in self.pairs})
        return smallest_found(clusters, self.rules.difference, self.level)

    @property
    def docs_needed(self) -> int | None:
        """The documents that show that no more than what is allowed differs, where nothing does."""
        return needed([0.0], -self.rules.difference, self.level)

    # ------------------------------------------------------------------ one level
    def _level(self, name: str) -> Level:
        decides, limit = name in self.rules.levels, STEADY_LIMIT if name == STEADY else self.rules.difference
        empty = Level(name, UNTOLD, decides, limit=limit)
        if why := self._untold(name):
            return Level(name, UNTOLD, decides, limit=limit, why=why)
        if name == SCORES:
            return self._bounded(empty, lambda pair: _less(pair.first.score, pair.second.score))
        if name == STEADY:
            apart = _texts_apart

            def unsteadier(pair: Pair) -> float | None:
                return _less(_within(pair.second, apart), _within(pair.first, apart))

            return self._bounded(empty, unsteadier)
        return self._compared(empty, self._apart(name))

    def _apart(self, name: str) -> Callable[[Reply, Reply], float | None]:
        """How far two replies are apart."""
        if name == TOKENS:
            return lambda a, b: None if a.tokens is None or b.tokens is None else float(a.tokens != b.tokens)
        if name == PLACES:
            return lambda a, b: None if (gap := gap_of(a, b)) is None else float(gap > self.tolerance)
        return _texts_apart if name == TEXTS else lambda a, b: float(a.ended != b.ended)

    def _untold(self, name: str) -> str:
        """Why the sides do not tell a level; empty where both do."""
        told: dict[str, tuple[Callable[[Asked], bool], str, str]] = {
            TOKENS: (
                lambda doc: any(r is not None and r.tokens is not None for r in doc.replies),
                "counts no prompt tokens",
                "count no prompt tokens",
            ),
            PLACES: (
                lambda doc: any(r is not None and r.places for r in doc.replies),
                "has no log-probabilities",
                "have no log-probabilities",
            ),
            SCORES: (
                lambda doc: doc.score is not None,
                "has no scores of right and wrong",
                "have no scores of right and wrong",
            ),
            STEADY: (lambda doc: len(doc.replies) > 1, *ASKED_ONCE),
        }
        if name not in told:
            return ""
        tells, *said = told[name]
        silent = [
            side.name
            for place, side in enumerate(self.sides)
            if not any(tells(pair.docs[place]) for pair in self.pairs)
        ]
        return _of_sides(silent, *said) if silent else ""

    def _compared(self, empty: Level, apart: Callable[[Reply, Reply], float | None]) -> Level:
        """A level whose replies are apart or not."""
        between = {pair.key: _between(pair, apart) for pair in self.pairs}
        noise = [
            {pair.key: _within(pair.docs[place], apart) for pair in self.pairs} if control else None
            for place, control in enumerate(self.controls)
        ]
        known = [each for each in noise if each is not None]

        def difference(pair: Pair) -> float | None:
            values = [of_side[pair.key] for of_side in known]
            own, far = [value for value in values if value is not None], between[pair.key]
            return None if far is None or len(own) < len(values) else far - (sum(own) / len(own) if own else 0.0)

        found = self._bounded(empty, difference)
        within = tuple(None if each is None else _mean(each.values()) for each in noise)
        differing = [pair for pair in self.pairs if between[pair.key]]
        far = _mean(between.values())
        raw = self._bounded(empty, lambda pair: between[pair.key])
        state, why, more = found.state, found.why, found.needed
        if empty.name not in CERTAIN and not all(self.controls):
            without = [side.name for side, control in zip(self.sides, self.controls, strict=True) if not control]
            once = _of_sides(without, *ASKED_ONCE)
            if state == DIFFERS and not known:
                state, more, why = OPEN, None, f"{once}, so a difference may be its noise"
            if state == ALIKE and raw.state != ALIKE:
                state, more = OPEN, None
                why = f"{once}, so the noise is not known, and the sides may differ by more than it"
        return Level(
            found.name, state, found.decides, (within[0], within[1]), far or 0.0, found.value, found.low, found.high,
            found.limit, found.docs, found.missing, differing, why, more,
        )  # fmt: skip

    def _bounded(self, empty: Level, difference: Callable[[Pair], float | None]) -> Level:
        """The bounds of the mean difference, whatever the missing documents would say; each cluster counts once."""
        values = [(pair, difference(pair)) for pair in self.pairs]
        clusters: dict[Hashable, list[float]] = {}
        for pair, value in values:
            if value is not None:
                clusters.setdefault(pair.cluster, []).append(value)
        units = [sum(each) / len(each) for each in clusters.values()]
        missing = sum(value is None for _, value in values)
        share = missing / len(values)
        low, high = bounds(units, self.level)
        low, high = (1 - share) * low - share, (1 - share) * high + share
        limit, value = empty.limit, sum(units) / len(units) if units else 0.0
        both = empty.name in TWO_SIDED
        state, why, more = OPEN, "", None
        if low > limit or both and high < -limit:
            state = DIFFERS
        elif high < limit and (not both or low > -limit):
            state = ALIKE
        elif missing:
            why = f"{missing:,} of {len(values):,} documents have no reply of one side that counts here"
        else:
            docs = self._needed(units, limit, both)
            more = None if docs is None else math.ceil(docs * len(values) / len(units))
        pairs = [pair for pair, each in values if each]
        return Level(
            empty.name, state, empty.decides, (None, None), 0.0, value, low, high, limit, len(values) - missing, missing,
            pairs, why, more,
        )  # fmt: skip

    def _needed(self, units: Sequence[float], limit: float, both: bool) -> int | None:
        """About how many documents like these would decide a level."""
        mirrored = [-unit for unit in units]
        ways = [needed(units, limit, self.level)]
        if both:
            ways.append(needed(mirrored, limit, self.level))
        inside = [needed(mirrored, -limit, self.level), *([needed(units, -limit, self.level)] if both else [])]
        if all(each is not None for each in inside):
            ways.append(max(each for each in inside if each is not None))
        return min((each for each in ways if each is not None), default=None)


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _mean(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) / len(known) if known else None


def _of_sides(names: Sequence[str], of_one: str, of_both: str) -> str:
    """ "A was asked once", or "A and B were asked once" """
    different = list(dict.fromkeys(names))
    return f"{' and '.join(different)} {of_both if len(different) > 1 else of_one}"


def _within(doc: Asked, apart: Callable[[Reply, Reply], float | None]) -> float | None:
    """How far the first two replies of one side are apart; None where one is missing."""
    if len(doc.replies) < 2:
        return None
    first, second = doc.replies[:2]
    return None if first is None or second is None else apart(first, second)


def _between(pair: Pair, apart: Callable[[Reply, Reply], float | None]) -> float | None:
    """How far the replies of two sides are apart, in the mean over their first two; None where one is missing."""
    found = [
        None if a is None or b is None else apart(a, b)
        for a, b in product(pair.first.replies[:2], pair.second.replies[:2])
    ]
    known = [each for each in found if each is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def _texts_apart(first: Reply, second: Reply) -> float:
    return float(first.said.strip() != second.said.strip())


def gap_of(first: Reply, second: Reply) -> float | None:
    """How far the probabilities of the first tokens are apart, at the place where they are furthest; None where one has none.

    Places count up to the first one where the texts part: what follows has another context.
    """
    if not first.places or not second.places:
        return None
    furthest = 0.0
    for a, b in zip(first.places, second.places, strict=False):
        furthest = max(furthest, variation(a, b))
        if _plain(a.token) != _plain(b.token):
            break
    return furthest


def variation(first: Place, second: Place) -> float:
    """The total variation of two places: how much probability moved, as far as the listed tokens tell.

    What both list is compared token by token, all else together.
    """
    a, b = _shares(first), _shares(second)
    both = a.keys() & b.keys()
    moved = sum(abs(a[token] - b[token]) for token in both)
    rest = abs(sum(a[token] for token in both) - sum(b[token] for token in both))
    return min(1.0, (moved + rest) / 2)


def _shares(place: Place) -> dict[str, float]:
    """{token: its probability}; tokens that differ by a space, which servers write in several ways, are one."""
    found: Counter[str] = Counter()
    for token, ll in place.likeliest.items():
        found[_plain(token)] += math.exp(min(0.0, ll))  # type: ignore[assignment]
    return dict(found)


def _plain(token: str) -> str:
    return token.strip(" \u2581\u0120")


def first_difference(first: str, second: str) -> int:
    """At which character two texts part, from 0.

    >>> first_difference("a cat", "a car")
    4
    """
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def by_kind(level: Level, pairs: Sequence[Pair]) -> dict[str, tuple[int, int]]:
    """{kind: (documents that are apart, all of it)}."""
    every, apart = Counter(pair.first.kind for pair in pairs), Counter(pair.first.kind for pair in level.differing)
    return {kind: (apart[kind], count) for kind, count in every.items()}
