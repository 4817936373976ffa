"""Comparisons for people who look whenever they like: finished runs, and runs that go on.

    for each in looked_at(["runs/a", "runs/b"]): print(each.interval)

A run that goes on has no results yet: its answers are scored from the journal, so the data set must be at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mm_eval.deciding.looks import score_docs
from mm_eval.deciding.sequences import LEAST_CLUSTERS, anytime
from mm_eval.deciding.units import TaskValues, Unit, difference_of, number_of, units_of
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import JournalState, read_journal
from mm_eval.open_run import OpenedRun
from mm_eval.prepare import prepare_from_spec
from mm_eval.results.file import read_run
from mm_eval.results.number_text import Unit as ShownIn
from mm_eval.results.number_text import unit_of
from mm_eval.results.table import Column, Row, Table, to_text
from mm_eval.trust import trusted_request
from mm_eval.values.errors import ConfigError
from mm_eval.values.safe import in_line
from mm_eval.values.types import Number, Slot


@dataclass(frozen=True)
class LiveRun:
    """A run as far as it is answered. total: docs by task. drawn: in random order. goes_on: it has no results yet.

    answered: the docs of each task with an answer, also those that a task's number does not use.
    """

    folder: Path
    name: str
    opened: OpenedRun
    units: list[Unit]
    values: Mapping[str, TaskValues]
    total: Mapping[str, int]
    drawn: bool
    goes_on: bool
    answered: Mapping[str, frozenset[int]]

    def refreshed(self) -> LiveRun:
        """The run with what was answered since: only docs without a value are scored."""
        state = read_journal(self.folder, self.opened.conversations)
        values, answered = dict(self.values), dict(self.answered)
        for leaf in (leaf for unit in self.units for leaf in unit.leaves):
            known = values.get(leaf.task, TaskValues())
            answered[leaf.task] = frozenset(_answered(self.opened, leaf.task, state))
            fresh = sorted(answered[leaf.task].difference(known.values))
            if fresh:
                found = score_docs(self.opened, leaf.task, fresh, state.lookup, leaf.key_of)
                both = {**known.values, **found.values}, {**known.clusters, **found.clusters}
                values[leaf.task] = TaskValues(*both, found.key or known.key)
        going = not (self.folder / "results.json").exists()
        return replace(self, values=values, answered=answered, goes_on=going)

    @classmethod
    def read(cls, folder: str, include_path: str | None = None) -> LiveRun:
        """Scores the docs that are answered so far. Errors: ConfigError where there is no run, or its data is not at hand."""
        path = Path(folder)
        recorded = read_run(path)
        stored = recorded["request"]
        opened = prepare_from_spec(trusted_request(stored, include_path, path), recorded["spec"])
        if opened.judging:
            opened.judging.join(opened, RunFolder(path))
        units = [unit for unit in units_of(opened) if not unit.refusal]
        total = {name: len(docs) for name, docs in opened.doc_ids.items()}
        name = str(stored.get("name") or path.name)
        drawn = bool(stored.get("stop_when") or stored.get("until_interval"))
        return cls(path, name, opened, units, {}, total, drawn, True, {}).refreshed()

    @property
    def described(self) -> str:
        """The folder, with the name and what is to be known before the numbers."""
        sample = ", sample data" if self.opened.sampled else ""
        return f"{self.folder} ({self.name}{sample}{', unfinished' if self.goes_on else ''})"


def _answered(opened: OpenedRun, name: str, state: JournalState) -> list[int]:
    held = {doc_id: state.result(Slot(opened.tasks[name].path, doc_id)) for doc_id in opened.doc_ids[name]}
    return [doc_id for doc_id, found in held.items() if found is not None and found.error is None]


@dataclass(frozen=True)
class LookedAt:
    """One number of two runs over the docs that both have answered. interval: of the difference, valid at every look.

    docs: that both have and the number uses; total: how many it uses of all docs, by its share of those answered in both.
    estimated: docs are missing and the number does not use all, so that its total is not known exactly.
    """

    unit: Unit
    first: Number
    second: Number
    difference: Number
    interval: tuple[float, float] | None
    docs: int
    total: int
    estimated: bool = False

    @property
    def shown_in(self) -> ShownIn:
        """The unit of its numbers in tables."""
        return unit_of(self.first, self.second, metric=self.unit.leaves[0].metric)

    @property
    def verdict(self) -> str:
        if self.interval is None:
            return f"too few: {self.difference.clusters or 0} of {LEAST_CLUSTERS} clusters"
        low, high = self.interval
        return "B is higher" if low > 0 else "B is lower" if high < 0 else "open"

    def to_json(self) -> dict[str, object]:
        return {
            "row": self.unit.name,
            "first": self.first.value,
            "second": self.second.value,
            "difference": self.difference.value,
            "stderr": self.difference.stderr,
            "interval": None if self.interval is None else list(self.interval),
            "docs": self.docs,
            "of": self.total,
            "verdict": self.verdict,
        }


def looked_at(first: LiveRun, second: LiveRun, alpha: float = 0.05) -> Iterator[LookedAt]:
    """The numbers that two runs share, over the docs that both have answered. alpha: at any moment, in any number."""
    others = {unit.name: unit for unit in second.units}
    shared = [unit for unit in first.units if unit.name in others]
    for unit in shared:
        both: list[dict[str, TaskValues]] = [{}, {}]
        for leaf in unit.leaves:
            mine, other = first.values.get(leaf.task), second.values.get(leaf.task)
            docs = _same_docs(first, second, leaf.task) if mine and other else set()
            for values, run in zip(both, (mine, other), strict=True):
                kept = {doc_id: value for doc_id, value in run.values.items() if doc_id in docs} if run else {}
                values[leaf.task] = TaskValues(kept, mine.clusters if mine else {})
        a, b, difference = number_of(unit, both[0]), number_of(unit, both[1]), difference_of(unit, *both)
        total = sum(first.total[leaf.task] for leaf in unit.leaves)
        if a is None or b is None or difference is None or not difference.n:
            continue
        known = sum(len(first.answered[leaf.task] & second.answered[leaf.task]) for leaf in unit.leaves)
        estimated = difference.n < known < total
        total = round(difference.n * total / max(known, difference.n))  # a number may be of some docs only
        half = (difference.clusters or 1) * total / difference.n / 2  # half the benchmark, in clusters
        interval = anytime(difference, max(1.0, half), alpha / len(shared))
        yield LookedAt(unit, a, b, difference, interval, difference.n, total, estimated)


def _same_docs(first: LiveRun, second: LiveRun, name: str) -> set[int]:
    """The docs that both have a value of. ConfigError where the runs are of other data."""
    if first.opened.tasks[name].docs.fingerprint != second.opened.tasks[name].docs.fingerprint:
        raise ConfigError(f"{first.folder} and {second.folder} used different data of {name!r}.")
    return first.values[name].values.keys() & second.values[name].values.keys()


def render(runs: Sequence[LiveRun], found: Mapping[str, Sequence[LookedAt]]) -> str:
    """The tables of each run after the first, and what they mean."""
    parts = [f"A: {runs[0].described}"]
    for run in runs[1:]:
        parts.append(f"B: {run.described}")
        columns = [
            Column("task", "text"),
            *map(Column, ("A", "B", "B - A", "at any time", "docs")),
            Column("", "text", "verdict"),
        ]
        rows = [
            Row(
                {
                    "task": each.unit.name,
                    "A": each.shown_in.text(each.first.value),
                    "B": each.shown_in.text(each.second.value),
                    "B - A": each.shown_in.signed(each.difference.value),
                    "at any time": None
                    if each.interval is None
                    else f"[{', '.join(map(each.shown_in.signed, each.interval))}]",
                    "docs": f"{each.docs:,} of {'about ' if each.estimated else ''}{each.total:,}",
                    "verdict": each.verdict,
                }
            )
            for each in found[str(run.folder)]
        ]
        parts += ["", *to_text(Table(columns, rows)).split("\n"), ""]
    parts.append(
        "The intervals hold at every moment at once (95% for all metrics of a comparison together): look as often as you like, "
        "and stop when one excludes 0."
    )
    if loose := [
        run for run in runs if not run.drawn and any(len(docs) < run.total[n] for n, docs in run.answered.items())
    ]:
        named = " and ".join(str(run.folder) for run in loose)
        parts.append(
            f"{named}: the documents come in the order of the data, so that the first ones may not be representative. A run with "
            "--stop_when or --until_interval asks them in random order."
        )
    return "\n".join(map(in_line, parts))
