"""A run compared with itself without its pictures and sounds, and with those of other docs: how much they matter.

Standard errors go by the pictures and sounds of the run that had them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self

from mm_eval.prompt.blind import joined_media
from mm_eval.results.number_text import p_text, rounded
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import MetricKey, Number
from mm_eval.values.words import counted
from mm_eval.verbs.study.variants import Variants

SENSES = {"pictures": "seeing", "sounds": "hearing", "pictures and sounds": "seeing and hearing"}
"""{what a blind run lacks: row of the table of the run that had it}"""
MODES = {"blind": "without", "shuffled": "shuffled"}
"""{row of the table: value of `--blind`}"""


class Blindness(Variants):
    """The run that had its pictures and sounds first, under the name of its sense (`SENSES`), then the blind ones."""

    noun: ClassVar[str] = "run"
    title: ClassVar[str] = "What does {own} give {models}?"
    gain: ClassVar[str] = "gain of seeing"

    @classmethod
    def read(cls, model: str, folders: Mapping[str, Path], include_path: str | None = None) -> Self:
        runs = {label: RecordedRun.read(folder, include_path=include_path) for label, folder in folders.items()}
        first, *blind = runs.values()
        for run in blind:
            for name, task in run.tasks.items():
                known = first.tasks[name].clusters if name in first.tasks else {}
                task.clusters = {doc_id: known.get(doc_id, own) for doc_id, own in task.clusters.items()}
                task.row = replace(task.row, numbers=[replace(number, stderr=None) for number in task.row.numbers])
        return cls.of(model, runs)

    @property
    def heading(self) -> str:
        return f"gain of {self.baseline}"

    def media(self, label: str, name: str) -> str:
        """What a blind run lacks in a task or group."""
        lacks = self.runs[label].results.run.blind_to
        return joined_media(lacks[task] for task in self.members(name) if task in lacks)

    @property
    def names(self) -> list[str]:
        """The groups and tasks that all runs have."""
        return [name for name in super().names if all(name in run.results.rows for run in self.runs.values())]

    def estimates(self, variant: str, name: str) -> dict[MetricKey, Number]:
        """The numbers over the docs that all runs scored."""
        paired: dict[MetricKey, Number] = {}
        for label, comparison in self.compared.items():
            for change in comparison.changes:
                if change.task == name and change.category is None and variant in (label, self.baseline):
                    paired.setdefault(change.key, change.second if variant == label else change.first)
        return paired or super().estimates(variant, name)

    def verdicts(self, name: str) -> Iterator[str]:
        """A sentence for each blind run, on the main number; for a group on each of its numbers."""
        main = self.runs[self.baseline].results.headline(name)
        keys = self.headlines(name)
        for key in [main.key] if main and main.key in keys else keys:
            for label in self.compared:
                if (change := self.change(label, name, key)) is None:
                    continue
                unit, media = change.unit, self.media(label, name)
                gain, where = self.difference(change), f"{name} ({key.metric})"
                over = f"of {SENSES[media]}" if label == "blind" else f"over {label}"
                said = f"{unit.signed(gain.value)} {unit.spread(gain)}".rstrip()
                if change.difference.p_value is None:
                    yield f"{where}: the gain {over} has no interval: {gain.note}".removesuffix(": ")
                elif change.told_apart:
                    amount = f"{said} (p {p_text(change.corrected, '= ')})"
                    down = change.better is not None and (gain.value > 0) != change.better
                    yield f"{where}: the gain {over} is {amount}{': it answers worse with its own {media}' if down else ''}."
                else:
                    needed = gain.docs_needed
                    more = (
                        f"; about {rounded(needed):,} documents would show it"
                        if needed and needed > (gain.n or 0)
                        else ""
                    )
                    docs = counted(gain.n or 0, "document")
                    yield f"{where}: no significant gain {over} with {docs} ({said}){more}."

    def texts(self) -> dict[str, str]:
        media = joined_media(word for run in self.runs.values() for word in run.results.run.blind_to.values())
        said = {"blind": f"the questions without {media}", "shuffled": f"the questions with {media} of other documents"}
        return {label: said.get(label, f"the questions with their own {media}") for label in self.runs}
