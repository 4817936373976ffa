"""Which setting explains the difference between a run and the number of a report.

The run is repeated with one setting of the protocol at a time. Each trial is compared with the run on the same docs, paired.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mm_eval.prompt.blocks import FRAMES_KEY
from mm_eval.results.changes import Change
from mm_eval.results.number_text import rounded
from mm_eval.values.types import MetricKey
from mm_eval.verbs.study.compare import verdict
from mm_eval.verbs.study.reported import Difference, reports
from mm_eval.verbs.study.variants import Variants

AS_RUN, ALL = "as run", "all settings"
LABELS = {
    "prompt": "prompt",
    "system_instruction": "system prompt",
    "chat_template": "chat template",
    "gen_kwargs": "generation",
    "num_fewshot": "examples",
    "filter_list": "extraction",
    FRAMES_KEY: "frames",
    "model_args": "model arguments",
    "tools": "tools",
}
"""How the settings of a protocol are called in the table."""
FEWEST, MOST = 100, 400
"""Docs of a task that are asked without `--docs`."""
CHANGED = 0.15
"""The least share of docs that a setting is assumed to change, to plan how many docs are needed."""
BOTH = (1.96 + 0.84) ** 2
"""A difference of so many squared standard errors is found to differ from 0 in 80% of evaluations."""


def setting_of(difference: Difference) -> str:
    """The name of the protocol's setting that a difference is of, as in `SETTINGS`."""
    if difference.setting is not None:
        return str(difference.setting.name)
    return difference.name if difference.name in reports().SETTINGS else "gen_kwargs"


def chosen_docs(clusters: Mapping[int, Hashable], count: int, seed: int) -> list[int]:
    """About `count` of the docs, drawn by the seed. Docs of one cluster stay together; more docs contain fewer."""
    members: dict[Hashable, list[int]] = {}
    for doc_id in sorted(clusters):
        members.setdefault(clusters[doc_id], []).append(doc_id)
    drawn: list[int] = []
    for of_cluster in sorted(members.values(), key=lambda ids: hashlib.sha256(f"{seed} {ids[0]}".encode()).digest()):
        if len(drawn) >= count:
            break
        drawn += of_cluster
    return sorted(drawn)


def docs_for(gap: float | None) -> int | None:
    """About how many docs show a difference of two shares in 80% of evaluations, if `CHANGED` of the docs change.

    gap: the difference, of fractions. None if it is unknown or 0.
    """
    return math.ceil(BOTH * max(CHANGED, abs(gap)) / (gap * gap)) if gap else None


@dataclass(frozen=True)
class Gap:
    """What is to be explained: the report's number less the run's. scale: as in `ReportedNumbers`; tolerance: of the report."""

    reported: float
    ours: float
    tolerance: float
    scale: float
    verdict: str

    @property
    def value(self) -> float:
        return self.reported - self.ours

    @property
    def matches(self) -> bool:
        return abs(self.value) <= self.tolerance


def gaps_of(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Gap]:
    """{(task, metric): what is to be explained} from the rows of `protocol` in results.json; none for sample data."""
    found = {}
    for row in rows:
        if row.get("reported") is not None and "ours" in row and "sample data" not in row["verdict"]:
            gap = Gap(row["reported"], row["ours"], row["tolerance"], row["scale"], row["verdict"])
            found[row["task"], row["metric"]] = gap
    return found


@dataclass
class Settings(Variants):
    """A run and its trials, each with one setting of the protocol.

    differing: {task: {label of a trial: what it changes}}. gaps: what is to be explained. reported: {task or group: the metrics
    behind the report's numbers}.
    """

    noun: ClassVar[str] = "setting"
    title: ClassVar[str] = "Which setting explains the number of {models}?"

    differing: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gaps: Mapping[tuple[str, str], Gap] = field(default_factory=dict)
    reported: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def headlines(self, name: str) -> list[MetricKey]:
        """The keys of the numbers that the report prints; the first number where it prints none."""
        own = self.reported.get(name, ())
        known = self.runs[self.baseline].tasks
        keys = list(known[name].values) if name in known else super().headlines(name)
        return [key for key in keys if key.metric in own] or super().headlines(name)[:1]

    def shown(self, name: str) -> list[str]:
        changed = {label for task in self.members(name) for label in self.differing.get(task, ())}
        return [label for label in self.runs if label == self.baseline or label in changed]

    def verdicts(self, name: str) -> Iterator[str]:
        """What is to be explained, and a sentence for each setting and number."""
        shown = self.shown(name)
        for (task, metric), gap in self.gaps.items():
            if task == name:
                ours, theirs = (f"{value * gap.scale:.2f}" for value in (gap.ours, gap.reported))
                yield f"{name} ({metric}): the run has {ours}, the report {theirs}: {gap.verdict}."
        for key in self.headlines(name):
            for label in shown[1:]:
                if (change := self.change(label, name, key)) is not None:
                    yield self._verdict(change, label)
        if len(shown) == 1:
            yield f"{name}: no setting was tried."

    def _verdict(self, change: Change, label: str) -> str:
        gap, found = self.gaps.get((change.task, change.key.metric)), change.difference
        said = verdict(change, f"the protocol's {label.removeprefix('all ')}", "the run")
        few = (
            " There are few documents, so the interval may be too short."
            if found.few and not found.exact and found.value
            else ""
        )
        if change.told_apart and (needed := found.docs_needed):
            few = f" About {rounded(needed):,} documents show it.{few}"
        if gap is None or gap.matches or not change.told_apart or found.interval is None:
            return said + few
        (low, high), unit = found.interval, change.unit
        moved = f"{change.task} ({change.key.metric}): {unit.signed(gap.value)} is to be explained, and the protocol's"
        moved += f" {label.removeprefix('all ')} gives {unit.signed(found.value)} {unit.spread(found)}"
        if found.value * gap.value < 0:
            return f"{moved}: this leads away from the report.{few}"
        if low - gap.tolerance <= gap.value <= high + gap.tolerance:
            return f"{moved}: this explains the difference.{few}"
        part = "part of" if abs(found.value) < abs(gap.value) else "more than"
        return f"{moved}: this explains {part} the difference ({unit.signless(gap.value - found.value)} apart).{few}"

    def texts(self) -> dict[str, str]:
        """What each trial changes, task by task."""
        found = {}
        for label in self.runs:
            tasks: dict[str, list[str]] = {}
            for task, labels in self.differing.items():
                if label in labels:
                    tasks.setdefault(labels[label], []).append(task)
            found[label] = "; ".join(f"{said} ({', '.join(names[:3])})" for said, names in tasks.items()) or "(nothing)"
        return found
