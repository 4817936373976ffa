"""The pairs of a comparison, tested look by look until each has ended.

    trial = Trial({pair: times for pair in pairs}, alpha=0.05)
    trial.add(look, {pair: difference, ...})       # as paired_difference gives it, over the docs of all looks so far
    trial.ended                                    # {pair: how it ended}

All pairs go on together, so that their correction (Holm's, for group-sequential tests: Maurer and Bretz 2013) is the same in
whatever order the answers came: of m pairs that have not differed, each is tested with alpha / m; one that differs leaves its
alpha to the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mm_eval.deciding.boundaries import GroupSequential, group_sequential
from mm_eval.deciding.sequences import around, half_width
from mm_eval.values.types import Number

Pair: TypeAlias = tuple[str, str, str]
"""(row of the table, first model, second model)"""
DIFFERS, EQUIVALENT, ALL_DOCS, BROKEN = "differs", "equivalent", "all docs", "broken off"
WITHIN, BEYOND = "loses less than allowed", "loses more than allowed"


@dataclass(frozen=True)
class Tested:
    """One pair at one look.

    look: from 1. time: the share of the docs. difference: over the docs of all looks so far. alpha: that the pair was tested
    with, of which `spent` until here. level: the p-value below which it differs. interval: the repeated one, which holds at all
    looks at once.
    """

    look: int
    time: float
    difference: Number
    alpha: float
    spent: float
    level: float
    critical: float
    interval: tuple[float, float] | None

    @property
    def z(self) -> float | None:
        """The statistic of the test, with the probability of a normal value: exact and Student's p-values included."""
        p, value = self.difference.p_value, self.difference.value
        return None if p is None else math.copysign(z_of(p), value)

    def to_json(self) -> dict[str, Any]:
        found = self.difference
        return {
            "look": self.look,
            "share": round(self.time, 6),
            "docs": found.n,
            "clusters": found.clusters,
            "difference": found.value,
            "stderr": found.stderr,
            "p": found.p_value,
            "level": self.level,
            "alpha": self.alpha,
            "spent": self.spent,
            "interval": None if self.interval is None else list(self.interval),
        }


@dataclass(frozen=True)
class Ended:
    """How a pair ended, and after which look.

    why: `DIFFERS`, `EQUIVALENT`, `ALL_DOCS`, `BROKEN`; of a policy `WITHIN`, `BEYOND`.
    """

    why: str
    look: int


@dataclass(frozen=True)
class AllowedLoss:
    """What the second model of a pair may lose against the first. better: whether a higher number is better."""

    loss: float
    better: bool

    def ends(self, interval: tuple[float, float]) -> tuple[float, float]:
        """The bounds of the loss by those of the difference, second - first."""
        return (-interval[1], -interval[0]) if self.better else interval


@dataclass
class Trial:
    """The pairs of a comparison and their looks so far.

    times: of each pair the share of its docs after each look. margins: of each pair, within which its models are equivalent.
    losses: what each pair may lose by a policy. Then nothing else is tested, and each bound of a loss has alpha over the pairs.
    """

    times: Mapping[Pair, Sequence[float]]
    alpha: float = 0.05
    margins: dict[Pair, float] = field(default_factory=dict)
    losses: dict[Pair, AllowedLoss] = field(default_factory=dict)
    ended: dict[Pair, Ended] = field(default_factory=dict)
    looks: dict[Pair, list[Tested]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.times = {pair: [rounded(time) for time in times] for pair, times in self.times.items()}

    @property
    def open(self) -> list[Pair]:
        """The pairs that have not ended."""
        return [pair for pair in self.times if pair not in self.ended]

    def is_due(self, pair: Pair, look: int) -> bool:
        """Whether a pair has new docs at a look."""
        times = self.times[pair]
        return times[look - 1] > (times[look - 2] if look > 1 else 0.0)

    def add(self, look: int, differences: Mapping[Pair, Number | None]) -> None:
        """Tests the open pairs that are due at a look. differences: None where there is none, so that nothing is tested."""
        due = {
            pair: found
            for pair in self.open
            if (found := differences.get(pair)) is not None and self.is_due(pair, look)
        }
        if self.losses:
            self._decide_losses(look, due)
            due = {}
        waiting, rejected = dict(due), True
        while waiting and rejected:
            alpha = self.alpha / self._not_different()
            rejected = False
            for pair in list(waiting):
                tested = self._tested(pair, look, due[pair], alpha)
                if tested.difference.p_value is not None and tested.difference.p_value <= tested.level:
                    del waiting[pair]
                    self.ended[pair], rejected = Ended(DIFFERS, look), True
                    self.looks.setdefault(pair, []).append(tested)
        for pair, found in waiting.items():
            tested = self._tested(pair, look, found, self.alpha / self._not_different())
            self.looks.setdefault(pair, []).append(tested)
            margin, ends = self.margins.get(pair), tested.interval
            if margin is not None and ends is not None and -margin <= ends[0] and ends[1] <= margin:
                self.ended[pair] = Ended(EQUIVALENT, look)
        for pair in self.open:
            if self.times[pair][look - 1] >= 1 - 1e-9:
                self.ended[pair] = Ended(ALL_DOCS, look)

    def _decide_losses(self, look: int, due: Mapping[Pair, Number]) -> None:
        """Ends the pairs whose loss is surely below what is allowed, or above."""
        for pair, found in due.items():
            tested = self._tested(pair, look, found, 2 * self.alpha / len(self.times))  # two bounds of one side each
            self.looks.setdefault(pair, []).append(tested)
            if tested.interval is None:
                continue
            allowed = self.losses[pair]
            low, high = allowed.ends(tested.interval)
            if high < allowed.loss or low > allowed.loss:
                self.ended[pair] = Ended(WITHIN if high < allowed.loss else BEYOND, look)

    def break_off(self, pair: Pair, look: int) -> None:
        """Ends a pair that can't go on after a look: one of its models failed."""
        self.ended.setdefault(pair, Ended(BROKEN, look))

    def test_of(self, pair: Pair, alpha: float) -> GroupSequential:
        """The boundaries of a pair. Only looks with new docs count."""
        return group_sequential(distinct(self.times[pair]), alpha)

    def _not_different(self) -> int:
        return len(self.times) - sum(ended.why == DIFFERS for ended in self.ended.values())

    def _tested(self, pair: Pair, look: int, difference: Number, alpha: float) -> Tested:
        times, test = self.times[pair], self.test_of(pair, alpha)
        place = distinct(times).index(times[look - 1]) + 1
        interval = repeated_interval(difference, test.critical[place - 1])
        return Tested(
            look,
            times[look - 1],
            difference,
            alpha,
            test.spent(place),
            test.level(place),
            test.critical[place - 1],
            interval,
        )

    def result(self, pair: Pair) -> dict[str, Any]:
        """How a pair ended, for results.json: its last look, its estimate corrected for stopping there, and all looks.

        `difference` is what was measured: in a pair that stopped because it differs it is too far from 0 on average. `corrected`
        is median-unbiased, with its 95% interval (stage-wise ordering); it is None where the pair ended for another reason than
        its boundary or its docs, and where nothing varied.
        """
        ended, looks = self.ended[pair], self.looks.get(pair, [])
        found: dict[str, object] = {"ended": ended.why, "look": ended.look}
        if not looks:
            return {**found, "looks": []}
        last = looks[-1]
        found |= {key: value for key, value in last.to_json().items() if key not in ("look",)}
        found["corrected"] = None
        if (allowed := self.losses.get(pair)) is not None:
            found["allowed"] = allowed.loss
            found["better"] = allowed.better
            found["looks"] = [each.to_json() for each in looks]
            return found
        if ended.why in (DIFFERS, ALL_DOCS) and last.difference.stderr and (z := last.z) is not None:
            place = distinct(self.times[pair]).index(last.time) + 1
            stopped = self.test_of(pair, last.alpha).estimate(place, z)
            scale = last.difference.value / (z / math.sqrt(last.time)) if z else 0.0  # of theta
            if scale > 0:
                ends = (scale * stopped.low, scale * stopped.high)
                found["corrected"] = {"difference": scale * stopped.theta, "interval": list(ends), "p": stopped.p}
        found["looks"] = [each.to_json() for each in looks]
        return found


def rounded(time: float) -> float:
    """A share of the docs, such that equal ones are equal and the last one is 1."""
    return 1.0 if time > 1 - 1e-9 else round(time, 12)


def distinct(times: Sequence[float]) -> tuple[float, ...]:
    """The times at which there are new docs, in order."""
    return tuple(sorted({rounded(time) for time in times if time > 0}))


def z_of(p: float) -> float:
    """The |z| with this two-sided p-value; p-values that are too small for a float count as the smallest one."""
    from statistics import NormalDist

    return 0.0 if p >= 1 else -NormalDist().inv_cdf(max(p, 1e-300) / 2)


def repeated_interval(number: Number, critical: float) -> tuple[float, float] | None:
    """The interval that holds at all looks at once: `critical` standard errors each way (Jennison and Turnbull 1989)."""
    return around(number, half_width(number, critical))


def power_of(theta: float, times: tuple[float, ...], alpha: float) -> tuple[float, float]:
    """(probability that a pair ends because it differs, expected share of the docs) where its truth is theta standard errors of
    all docs away from 0."""
    test = group_sequential(times, alpha)
    found = test.power(theta)
    ending = [b - a for a, b in zip((0.0, *found), found, strict=False)]
    share = math.fsum(time * chance for time, chance in zip(times, ending, strict=True)) + 1 - found[-1]
    return found[-1], share
