"""Variants of a run, paired by doc with the first of them: what every study of this folder is made of.

    found = Prompts.read("tiny-llava", {"default": folder, "qwen_vl": folder})

A study is a subclass that says what its variants are called, which of their numbers are shown, and what follows from them:
`Prompts`, `Blindness`, `Settings` (one setting of a report at a time) and `Runs` (recorded runs of any models).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import ClassVar, Self

from mm_eval.results.changes import Change
from mm_eval.results.estimates import estimates
from mm_eval.results.number_text import Unit, unit_of
from mm_eval.results.recorded import RecordedRun, headline_keys, marks
from mm_eval.values.types import MetricKey, Number
from mm_eval.verbs.study.compare import Comparison, compare


@dataclass
class Variants:
    """Recorded runs by the name of the variant, the baseline first.

    compared: each run after the first, with the first. noun: what a variant is, for tables and the page. title: of the page.
    gain: the heading of the differences where they are the baseline less the variant; "" for the variant less the baseline.
    """

    noun: ClassVar[str]
    title: ClassVar[str]
    gain: ClassVar[str] = ""

    model: str
    runs: dict[str, RecordedRun]
    compared: dict[str, Comparison] = field(default_factory=dict)
    _estimates: dict[tuple[str, str], dict[MetricKey, Number]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, model: str, folders: Mapping[str, Path], include_path: str | None = None) -> Self:
        """The runs in their folders, compared with the first."""
        runs = {key: RecordedRun.read(folder, include_path=include_path) for key, folder in folders.items()}
        return cls.of(model, runs)

    @classmethod
    def of(cls, model: str, runs: dict[str, RecordedRun]) -> Self:
        """Runs that are read, compared with the first."""
        family = attrgetter("task", "key")  # one question for each number: which variant is best
        same_as = cls.asked_the_same(list(runs.values()))
        compared = compare(list(runs.values()), family=family, same_as=same_as) if len(runs) > 1 else []
        return cls(model, runs, dict(zip(list(runs)[1:], compared, strict=True)))

    @classmethod
    def asked_the_same(cls, runs: Sequence[RecordedRun]) -> list[dict[str, int | None]]:
        """`Comparison.same_as` of each run after the first; empty for variants that differ in more than their questions."""
        return []

    @property
    def baseline(self) -> str:
        return next(iter(self.runs))

    @property
    def names(self) -> list[str]:
        """The groups of the run, the outermost first, and its tasks; each has a table of its own."""
        run = self.runs[self.baseline]
        return [*run.results.groups, *run.tasks]

    def shown(self, name: str) -> list[str]:
        """The runs that stand in the table of a task or group, the first one first: one of those that asked the same."""
        return [label for label in self.runs if self.same_as(label, name) == label]

    def same_as(self, variant: str, name: str) -> str:
        """The first variant that asked the same in a task or group: mostly the variant itself."""
        known = self.compared[variant].same_as if variant in self.compared else {}
        if name not in known:
            return variant
        place = known[name]
        return self.baseline if place is None else list(self.compared)[place]

    def label(self, variant: str, name: str) -> str:
        """The name of a variant in the table of a task or group, with those that asked the same: "qwen2_vl = qwen3_vl"."""
        return " = ".join(each for each in self.runs if self.same_as(each, name) == variant)

    def members(self, name: str) -> list[str]:
        """The tasks below a group, or the task itself."""
        return list(dict.fromkeys(self.runs[self.baseline].results.leaves(name)))

    def headlines(self, name: str) -> list[MetricKey]:
        """The keys of a row's numbers: a group's, or those of a task that are not part of another number."""
        run = self.runs[self.baseline]
        return headline_keys(run.tasks[name]) if name in run.tasks else list(self.estimates(self.baseline, name))

    def estimates(self, variant: str, name: str) -> dict[MetricKey, Number]:
        """The numbers of a task or group of a variant; none where the run lacks the task or group."""
        if (variant, name) not in self._estimates:
            run = self.runs.get(variant)
            known = run is not None and name in run.results.rows
            self._estimates[variant, name] = estimates(run, name) if run is not None and known else {}
        return self._estimates[variant, name]

    def estimate(self, variant: str, name: str, metric: MetricKey) -> Number | None:
        """One number of a task or group of a variant; None where there is none."""
        return self.estimates(variant, name).get(metric)

    def change(self, variant: str, task: str, metric: MetricKey) -> Change | None:
        """How a variant changes a number; None for the baseline."""
        found = self.compared[variant].changes if variant in self.compared else []
        return next((change for change in found if (change.task, change.key) == (task, metric)), None)

    def difference(self, change: Change) -> Number:
        """A change as the tables show it: the variant less the baseline, or the gain."""
        found = change.difference
        if not self.gain:
            return found
        exact = None if found.exact is None else (-found.exact[1], -found.exact[0])
        return replace(found, value=-found.value if found.value else 0.0, exact=exact)

    @property
    def heading(self) -> str:
        """The heading of the differences."""
        return self.gain or f"vs {self.baseline}"

    def unit(self, name: str, metric: MetricKey) -> Unit:
        """The unit of a number of all variants."""
        found = [known for key in self.runs if (known := self.estimate(key, name, metric))]
        return unit_of(*found, metric=metric.metric)

    def asked_as(self, variant: str, name: str) -> str:
        """The variant's name in the table of a task or group."""
        return variant

    def advice(self) -> str:
        """What follows from the whole study, in one line; empty where a study says it otherwise."""
        return ""

    def verdicts(self, name: str) -> Iterator[str]:
        """A sentence for each number and variant, and what limits it."""
        raise NotImplementedError

    def best(self, name: str, metric: MetricKey) -> list[str]:
        """The variants with the best number, several where they are equal; none where all are."""
        values = {label: found.value for label in self.shown(name) if (found := self.estimate(label, name, metric))}
        better = self.runs[self.baseline].results.better(name, metric.metric)
        if not values or better is None:
            return []
        best = max(values.values()) if better else min(values.values())
        leading = [label for label, value in values.items() if value == best]
        return leading if len(leading) < len(values) else []

    def texts(self) -> dict[str, str]:
        """What each variant is, in words."""
        raise NotImplementedError

    def flips(self, variant: str, name: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]], int]:
        """(lost, gained, reworded) against the baseline: flipped docs as (task, doc id), the number of changed answers."""
        lost, gained, reworded = [], [], 0
        for task in self.members(name):
            first, second = marks(self.runs[self.baseline].tasks[task]), marks(self.runs[variant].tasks[task])
            shared = sorted(first.keys() & second.keys())
            lost += [(task, i) for i in shared if first[i] is True and second[i] is False]
            gained += [(task, i) for i in shared if first[i] is False and second[i] is True]
            reworded += self.compared[variant].answers[task][0]
        return lost, gained, reworded
