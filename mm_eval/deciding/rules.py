"""When a run has seen enough: its comparisons are decided, or its numbers are known well enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from mm_eval.deciding.boundaries import group_sequential, pocock
from mm_eval.deciding.looks import Schedule, read_look
from mm_eval.deciding.policy import Clause, Policy, read_policy
from mm_eval.deciding.sequences import LEAST_CLUSTERS, around, factor, half_width
from mm_eval.deciding.trial import BROKEN, AllowedLoss, Pair, Trial, distinct, rounded
from mm_eval.deciding.units import TaskValues, Unit, difference_of, number_of
from mm_eval.request import RunRequest
from mm_eval.results.number_text import Unit as TableUnit
from mm_eval.results.number_text import unit_of
from mm_eval.scoring.run_results import Looks
from mm_eval.values.types import Number

DECIDED, NARROW = "decided", "known well enough"


class Rule(Protocol):
    """look: looks that are tested. over: nothing is left to decide."""

    look: int

    @property
    def over(self) -> bool: ...

    @property
    def broken(self) -> list[str]:
        """The other models that failed, so that nothing is decided."""
        ...

    def begin(self, units: Sequence[Unit], schedule: Schedule) -> None:
        """Gets what is measured, and the docs of each look."""

    def refusal(self, unit: Unit) -> str:
        """Why this rule can't end a unit; empty if it can."""
        ...

    def advance(self, own: Sequence[Mapping[str, TaskValues]]) -> bool:
        """Tests the looks that are complete. own: this model's values on the docs of each look. Whether there was one."""

    def ended_at(self, task: str) -> int | None:
        """The look after which no doc of a task is asked; None while that is open."""

    def outcome(self) -> Looks:
        """{"rows": {row: {"look", "why", "interval"}}, "comparisons": [...]} for the record.

        Where an interval is still wide after all docs also "wide": [{"row", "half"}], half the interval in the table's unit.
        """


def times_of(unit: Unit, schedule: Schedule) -> list[float]:
    """The share of a unit's docs after each look."""
    sizes = [sum(schedule.size(leaf.task, look) for leaf in unit.leaves) for look in range(1, schedule.count + 1)]
    return [size / sizes[-1] for size in sizes]


def add_values(total: dict[str, TaskValues], new: Mapping[str, TaskValues]) -> None:
    """Adds the values on the docs of one more look."""
    for name, own in new.items():
        known = total.setdefault(name, TaskValues(key=own.key))
        known.values.update(own.values)
        known.clusters.update(own.clusters)
        known.key = known.key or own.key


def table_unit(unit: Unit, *numbers: Number | None) -> TableUnit:
    """In which the table shows a row. numbers: the row's."""
    metric = unit.leaves[0].metric if unit.leaves else ""
    return unit_of(*(number for number in numbers if number is not None), metric=metric)


def table_scale(unit: Unit, *numbers: Number | None) -> float:
    """How much of a number is 1 in the table's unit: a point of percent for shares. numbers: the row's."""
    return 1.0 / table_unit(unit, *numbers).factor


@dataclass
class WhenDecided:
    """The comparisons of several models. policy: that of `--gate`, whose losses are decided in place of differences."""

    request: RunRequest
    policy: Policy | None = None
    look: int = 0
    units: dict[str, Unit] = field(default_factory=dict)
    trial: Trial = field(default_factory=lambda: Trial({}))
    _models: dict[str, dict[str, TaskValues]] = field(default_factory=dict)
    _numbers: dict[str, Number | None] = field(default_factory=dict)

    @property
    def _linked(self) -> Mapping[str, Any]:
        return self.request.deciding.linked or {}

    @property
    def name(self) -> str:
        return str(self._linked["name"])

    @property
    def over(self) -> bool:
        """Whether all pairs of this model have ended."""
        return all(pair in self.trial.ended for pair in self.trial.times if self.name in pair[1:])

    @classmethod
    def of(cls, request: RunRequest) -> WhenDecided:
        """ConfigError for a policy that can't be read."""
        return cls(request, read_policy(request.deciding.gate) if request.deciding.gate else None)

    def refusal(self, unit: Unit) -> str:
        """Why the policy can't end a row; empty if it can, and without one."""
        if self.policy is None:
            return ""
        clause = self._clause(unit.name)
        if clause is None or clause.advisory:
            return "the policy has no clause on it that decides"
        if clause.metric is not None and clause.metric != (unit.leaves[0].metric if unit.leaves else ""):
            return f"its clause is on {clause.metric}, which is not its main metric"
        return "" if unit.better is not None else "its number has no direction, so no change is a loss"

    def _clause(self, name: str) -> Clause | None:
        return None if self.policy is None else self.policy.clauses.get(name, self.policy.default)

    def begin(self, units: Sequence[Unit], schedule: Schedule) -> None:
        self.units, self.schedule = {unit.name: unit for unit in units}, schedule
        times = {
            (unit.name, first, second): times_of(unit, schedule)
            for unit in units
            for first, second in self._linked["pairs"]
        }
        alpha = self.policy.alpha if self.policy is not None else float(self.request.deciding.alpha)
        self.trial = Trial(times, alpha)
        if self.policy is not None:
            self.trial.losses = {pair: AllowedLoss(0.0, bool(self.units[pair[0]].better)) for pair in times}

    def advance(self, own: Sequence[Mapping[str, TaskValues]]) -> bool:
        moved = False
        while self.look < self.schedule.count and self.trial.open:
            found = self._values_at(self.look + 1, own)
            if found is None or not self.trial.open:
                break
            self._test(self.look + 1, found)
            moved = True
        return moved

    def _values_at(
        self, look: int, own: Sequence[Mapping[str, TaskValues]]
    ) -> dict[str, Mapping[str, TaskValues]] | None:
        """The values of all models with an open pair on the docs of a look; None while one is missing."""
        found: dict[str, Mapping[str, TaskValues]] = {}
        for name in dict.fromkeys(name for pair in self.trial.open for name in pair[1:]):
            if name == self.name:
                if len(own) < look:
                    return None
                found[name] = own[look - 1]
                continue
            over = self._is_over(name)  # before its file, which it writes before it ends
            values = read_look(Path(self._linked["folders"][name]), look, self.schedule.digest)
            if values is None and not over:
                return None
            if values is None:
                for pair in list(self.trial.open):
                    if name in pair[1:]:
                        self.trial.break_off(pair, self.look)
            else:
                found[name] = values
        return found

    def _is_over(self, name: str) -> bool:
        """Whether another model has ended in this launch; what an earlier one left says nothing."""
        try:
            return bool(Path(self._linked["over"][name]).read_text() == self._linked.get("launch", ""))
        except (OSError, ValueError):
            return False

    def _test(self, look: int, found: Mapping[str, Mapping[str, TaskValues]]) -> None:
        for name, values in found.items():
            add_values(self._models.setdefault(name, {}), values)
        differences: dict[Pair, Number | None] = {}
        for pair in self.trial.open:
            unit, first, second = pair
            if self.trial.is_due(pair, look) and first in found and second in found:
                differences[pair] = difference_of(self.units[unit], self._models[first], self._models[second])
                if differences[pair] is None:
                    continue
                both = [number_of(self.units[unit], self._models[name]) for name in (first, second)]
                clause = self._clause(unit)
                if clause is not None:
                    reference = 0.0 if both[0] is None else float(both[0].value)
                    loss = clause.margin(table_unit(self.units[unit], *both), reference)
                    self.trial.losses[pair] = AllowedLoss(loss, bool(self.units[unit].better))
                elif self.request.deciding.margin is not None:
                    scale = table_scale(self.units[unit], *both)
                    self.trial.margins[pair] = float(self.request.deciding.margin) * scale
        self.trial.add(look, differences)
        for unit in self.units:
            if self._ended_unit(unit) == look:
                self._numbers[unit] = number_of(self.units[unit], self._models.get(self.name, {}))
        self.look = look

    def _ended_unit(self, unit: str) -> int | None:
        """The look at which the last pair of this model on a unit ended; None while one is open."""
        pairs = [pair for pair in self.trial.times if pair[0] == unit and self.name in pair[1:]]
        ends = [self.trial.ended[pair].look for pair in pairs if pair in self.trial.ended]
        return max(ends) if len(ends) == len(pairs) else None

    def ended_at(self, task: str) -> int | None:
        ends = [
            self._ended_unit(name)
            for name, unit in self.units.items()
            if any(leaf.task == task for leaf in unit.leaves)
        ]
        known = [end for end in ends if end is not None]
        return max(known) if known and len(known) == len(ends) else None

    def outcome(self) -> Looks:
        rows = {}
        for name in self.units:
            look = self._ended_unit(name)
            ends = [self.trial.ended[pair] for pair in self.trial.times if pair[0] == name and self.name in pair[1:]]
            if look is None or not look:
                continue
            why = BROKEN if any(end.why == BROKEN for end in ends) else DECIDED
            rows[name] = {"look": look, "why": why, **self._interval(name, look)}
        comparisons = [
            {"row": unit, "first": first, "second": second, **self.trial.result((unit, first, second))}
            for unit, first, second in self.trial.times
            if self.name in (first, second) and (unit, first, second) in self.trial.ended
        ]
        for found in comparisons:
            if found["looks"]:
                unit = self.units[found["row"]]
                both = [number_of(unit, self._models.get(found[which], {})) for which in ("first", "second")]
                found["unit"] = 1.0 / table_scale(unit, *both)
        return {"rows": rows, "comparisons": comparisons}

    def _interval(self, unit: str, look: int) -> dict[str, Any]:
        """The repeated interval of this model's own number, by Pocock's boundary: it holds at all looks, whatever stopped."""
        number = self._numbers.get(unit)
        times = [rounded(time) for time in times_of(self.units[unit], self.schedule)]
        test = group_sequential(distinct(times), 0.05, pocock)
        critical = test.critical[distinct(times).index(times[look - 1])]
        found = None if number is None else around(number, half_width(number, critical))
        return {"factor": critical, "interval": None if found is None else list(found)}

    @property
    def broken(self) -> list[str]:
        pairs = [pair for pair, end in self.trial.ended.items() if end.why == BROKEN and self.name in pair[1:]]
        return list(dict.fromkeys(name for pair in pairs for name in pair[1:] if name != self.name))


@dataclass
class WhenNarrow:
    """The numbers of one model, until half their intervals are at most `goal` in the table's unit."""

    goal: float
    look: int = 0
    units: dict[str, Unit] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    _values: dict[str, TaskValues] = field(default_factory=dict)
    _intervals: dict[str, dict[str, object]] = field(default_factory=dict)
    _halves: dict[str, float] = field(default_factory=dict)
    """Half the interval of each number after the last look, in the table's unit."""

    @property
    def over(self) -> bool:
        return len(self.ended) == len(self.units) or self.look == self.schedule.count

    def refusal(self, unit: Unit) -> str:
        return ""

    def begin(self, units: Sequence[Unit], schedule: Schedule) -> None:
        self.units, self.schedule = {unit.name: unit for unit in units}, schedule

    def advance(self, own: Sequence[Mapping[str, TaskValues]]) -> bool:
        moved = False
        while self.look < len(own) and not self.over:
            add_values(self._values, own[self.look])
            self.look += 1
            moved = True
            for name in [name for name in self.units if name not in self.ended]:
                self._look_at(name)
        return moved

    def _look_at(self, name: str) -> None:
        unit = self.units[name]
        number, share = number_of(unit, self._values), times_of(unit, self.schedule)[self.look - 1]
        if number is None or not number.clusters or number.clusters < LEAST_CLUSTERS:
            return
        # Narrowest at half the benchmark: what that is in clusters is known from the docs of the looks, not from the answers.
        errors = factor(number.clusters, number.clusters / share / 2)
        half = half_width(number, errors)
        found = around(number, half)
        self._intervals[name] = {"factor": errors, "interval": None if found is None else list(found)}
        if half is None:
            return
        self._halves[name] = half / table_scale(unit, number)
        if self._halves[name] <= self.goal:
            self.ended[name] = self.look

    def ended_at(self, task: str) -> int | None:
        own = [name for name, unit in self.units.items() if any(leaf.task == task for leaf in unit.leaves)]
        return max(self.ended[name] for name in own) if own and all(name in self.ended for name in own) else None

    def outcome(self) -> Looks:
        rows = {name: {"look": look, "why": NARROW, **self._intervals[name]} for name, look in self.ended.items()}
        wide = [{"row": name, "half": self._halves.get(name)} for name in self.units if name not in self.ended]
        found: Looks = {"rows": rows, "comparisons": []}
        return {**found, "wide": wide} if wide else found

    @property
    def broken(self) -> list[str]:
        return []
