"""The numbers of a training over its steps: each with its interval, and with its paired difference to the step before.

    study = Study(Path("runs/sft-7b"))
    for name in study.names: study.curve(name).settled

Differences between two steps are paired by doc, since both answered the same ones: they are far sharper than two error bars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from mm_eval.results.changes import Change, change_of, differences_in_spec
from mm_eval.results.estimates import Triple, estimates, group_differences
from mm_eval.results.judged import judges_behind, judges_differ
from mm_eval.results.recorded import RecordedRun, RecordedTask, headline_keys
from mm_eval.results.run_table import said_of_sample
from mm_eval.results.sample_rows import DocDigests
from mm_eval.scoring.metrics.paired import right_or_wrong
from mm_eval.values.distributions import holm
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import OtherFormatError
from mm_eval.values.types import MetricKey, Number
from mm_eval.values.words import of_all
from mm_eval.verbs.training.study import recorded, step_folders, step_of

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Evaluation:
    """A step's run: its main numbers, and of each task what differences are made of."""

    step: int
    run: RecordedRun
    numbers: Mapping[str, Number]
    tasks: Mapping[str, RecordedTask]

    @classmethod
    def read(cls, folder: Path, step: int, include_path: str | None = None) -> Evaluation:
        """Reads a run folder with results. Errors: as `RecordedRun.read`."""
        run = RecordedRun.read(folder, include_path=include_path)
        numbers = {}
        for name in run.results.rows:
            headline = run.results.headline(name)
            found = None if headline is None else estimates(run, name).get(headline.key)
            if found is not None:
                numbers[name] = found
        return cls(step, run, numbers, run.tasks)

    def docs(self, task: str) -> dict[int, DocDigests]:
        """The docs of a task as digests; needed only where two steps were given other data."""
        if task not in self._digests:
            self._digests[task] = self.run.recorded_docs(task)
        return self._digests[task]

    @cached_property
    def _digests(self) -> dict[str, dict[int, DocDigests]]:
        return {}


@dataclass(frozen=True)
class Point:
    """A number at a step. change: paired, from the step before; None at the first one. remark: that its run stopped early."""

    step: int
    number: Number
    change: Change | None = None
    remark: str = ""


@dataclass(frozen=True)
class Regression:
    """A category, or a task of a group, that became worse between two steps, after correction for all that were looked at."""

    name: str
    first: int
    second: int
    change: Change


@dataclass(frozen=True)
class Histories:
    """How docs went over all steps that have them. Each doc counts once; `several` changed more than once."""

    right: int
    wrong: int
    learned: int
    forgotten: int
    several: int


@dataclass(frozen=True)
class Curve:
    """A number over the steps.

    settled: the first step that no later one improves on; None for a single step, or a number without a direction.
    regressions: neighbouring steps, and the last one against the first and against `settled`.
    histories: of right/wrong metrics, else None. inner: whether a group that is shown contains it.
    """

    name: str
    key: MetricKey
    better: bool | None
    points: Sequence[Point]
    settled: int | None = None
    regressions: Sequence[Regression] = ()
    histories: Histories | None = None
    inner: bool = False

    @property
    def improves(self) -> bool:
        """Whether the last step is the one that nothing later improves on: the training may be stopped too early."""
        return bool(self.points) and self.settled == self.points[-1].step


@dataclass
class Study:
    """The evaluations below a folder. `refresh` reads those that are new; nothing is read twice.

    version: counts the changes. waiting: steps without results so far. unreadable: {folder name: why}.
    """

    folder: Path
    include_path: str | None = None
    evaluations: dict[int, Evaluation] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    version: int = 0
    _times: dict[Path, int] = field(default_factory=dict)
    _changes: dict[tuple[int, int, str], Change | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.refresh()

    def refresh(self) -> bool:
        """Reads what is new or has changed; whether anything was."""
        found = recorded(self.folder)
        changed = set(self.evaluations.keys() - found.keys())
        for step, folder in found.items():
            time = (folder / "results.json").stat().st_mtime_ns
            if self._times.get(folder) == time:
                continue
            self._times[folder] = time
            changed.add(step)
            self.unreadable.pop(folder.name, None)
            try:
                self.evaluations[step] = Evaluation.read(folder, step, self.include_path)
            except OtherFormatError:
                raise
            except MMEvalError as error:
                self.unreadable[folder.name] = str(error)
                self.evaluations.pop(step, None)
        for step in self.evaluations.keys() - found.keys():
            del self.evaluations[step]
        self.evaluations = dict(sorted(self.evaluations.items()))
        self._changes = {pair: each for pair, each in self._changes.items() if not changed.intersection(pair[:2])}
        begun = {step_of(path) for path in step_folders(self.folder) if (path / "run.json").is_file()}
        before, self.waiting = self.waiting, sorted(step for step in begun if step is not None and step not in found)
        self.version += bool(changed) or self.waiting != before
        return bool(changed) or self.waiting != before

    @property
    def names(self) -> list[str]:
        """The rows of the steps' tables that have a number, in their order."""
        return list(dict.fromkeys(name for each in self.evaluations.values() for name in each.numbers))

    @property
    def inner(self) -> set[str]:
        """The rows that are part of a group."""
        return {
            name
            for each in self.evaluations.values()
            for group in each.run.results.groups
            if group in each.numbers
            for name in (*each.run.results.members[group], *each.run.results.leaves(group))
        }

    @property
    def differs(self) -> list[str]:
        """How the steps were asked differently, in sentences; to be read before the numbers."""
        said = []
        for first, second in pairs(list(self.evaluations.values())):
            for each in differences_in_spec(first.run, second.run):
                said.append(f"steps {first.step:,} and {second.step:,}: {each}")
        return said

    @property
    def remarks(self) -> list[str]:
        """What a reader of the numbers has to know, in sentences: sample data, docs without a number, other questions."""
        names = {name: None for each in self.evaluations.values() for name in each.run.results.run.sample}
        said = [said_of_sample(list(names))] if names else []
        if self.waiting:
            waiting = ", ".join(f"{step:,}" for step in self.waiting)
            said.append(f"steps without results so far: {waiting}; `mm-eval score STEP` scores what is answered")
        said += [f"{name} can't be read: {why}" for name, why in self.unreadable.items()]
        return [*said, *self.failed, *self.differs]

    @property
    def failed(self) -> list[str]:
        """The docs that are in no number, in sentences. A step of which all docs failed has no point."""
        said = []
        for each in self.evaluations.values():
            for name, row in each.run.results.rows.items():
                missing = row.failed + row.not_requested
                if missing and name in each.tasks:
                    said.append(
                        f"step {each.step:,}: {of_all(missing, row.n, 'document')} of {name} failed and left out"
                    )
        return said

    def curve(self, name: str) -> Curve:
        """A row over the steps that have it. KeyError where none has it."""
        having = [each for each in self.evaluations.values() if name in each.numbers]
        if not having:
            raise KeyError(name)
        changes = [self.change(first, second, name) for first, second in pairs(having)]
        shown = iter(corrected([change for change in changes if change is not None]))
        before = [None, *(None if change is None else next(shown) for change in changes)]
        points = [
            Point(each.step, each.numbers[name], change, each.run.results.rows[name].stopped)
            for each, change in zip(having, before, strict=True)
        ]
        last = having[-1]
        key, settled = last.numbers[name].key, self._settled(having, name)
        regressions = list(self._regressions(having, name, settled))
        better = last.run.results.better(name, key.metric)
        inside = name in self.inner
        return Curve(name, key, better, points, settled, regressions, histories(having, name), inside)

    def change(self, first: Evaluation, second: Evaluation, name: str) -> Change | None:
        """The paired change of a row's main number; None where the two steps share no docs, or judges differ."""
        pair = first.step, second.step, name
        if pair not in self._changes:
            of_task = name in first.tasks
            self._changes[pair] = (_task_change if of_task else _group_change)(first, second, name)
        return self._changes[pair]

    def _settled(self, having: Sequence[Evaluation], name: str) -> int | None:
        """The first step that no later one improves on, each tested after Holm's correction for all that come later."""
        for place, first in enumerate(having[:-1]):
            later = having[place + 1 :]
            if not self._is_improved(first, later, name):
                return first.step
        return None if len(having) < 2 else having[-1].step

    def _is_improved(self, first: Evaluation, later: Sequence[Evaluation], name: str) -> bool:
        found = list[Change]()
        for second in reversed(later):  # the last ones differ most: mostly one test is enough
            change = self.change(first, second, name)
            if change is None or change.difference.p_value is None:
                continue
            if is_better(change) and change.difference.p_value * len(later) < SIGNIFICANT:
                return True
            found.append(change)
        return any(is_better(each) and each.told_apart for each in corrected(found))

    def _regressions(self, having: Sequence[Evaluation], name: str, settled: int | None) -> Iterator[Regression]:
        last = having[-1]
        looked = list(pairs(having))
        earlier = {each.step: each for each in having if each.step in (having[0].step, settled)}
        looked += [(each, last) for each in earlier.values() if each is not last and (each, last) not in looked]
        found = [
            (label, first.step, second.step, change)
            for first, second in looked
            for label, change in self._parts(first, second, name)
        ]
        for (label, first_step, second_step, _), change in zip(
            found, corrected([each for *_, each in found]), strict=True
        ):
            if change.told_apart and is_worse(change):
                yield Regression(label, first_step, second_step, change)

    def _parts(self, first: Evaluation, second: Evaluation, name: str) -> Iterator[tuple[str, Change]]:
        """The change of each category of a task, or of each member of a group."""
        for member in first.run.results.members.get(name, ()):
            if member in first.numbers and (change := self.change(first, second, member)) is not None:
                yield member, change
        if name not in first.tasks or self.change(first, second, name) is None:
            return
        key, (mine, other) = first.numbers[name].key, (first.tasks[name], second.tasks[name])
        both = set(shared_docs(first, second, name, key))
        for part in mine.values.keys() - set(headline_keys(mine)):  # MME's categories are numbers of their own
            if (change := _task_change(first, second, name, part)) is not None:
                yield part.label, change
        several = len(mine.categories) > 1
        for level, of_level in mine.categories.items():
            for category, docs in of_level.items():
                change = change_of(mine, other, key, sorted(both.intersection(docs)))
                if change is not None:
                    yield f"{level}: {category}" if several else category, change


def pairs(items: Sequence[Evaluation]) -> Iterator[tuple[Evaluation, Evaluation]]:
    """Each evaluation with the next one."""
    return zip(items, items[1:], strict=False)


def shared_docs(first: Evaluation, second: Evaluation, task: str, key: MetricKey) -> list[int]:
    """The docs that both steps scored, and that are equal in both."""
    mine, other = (each.tasks[task].values.get(key, {}) for each in (first, second))
    shared = sorted(mine.keys() & other.keys())
    if first.run.spec["tasks"][task]["data"] != second.run.spec["tasks"][task]["data"]:
        before, after = first.docs(task), second.docs(task)
        shared = [doc_id for doc_id in shared if before[doc_id].doc == after[doc_id].doc]
    return shared


def _task_change(first: Evaluation, second: Evaluation, name: str, key: MetricKey | None = None) -> Change | None:
    if name not in first.tasks or name not in second.tasks or name not in first.numbers:
        return None
    key = key or first.numbers[name].key
    if judges_differ(*(judges_behind(each.run.results, name, key) for each in (first, second))):
        return None
    return change_of(first.tasks[name], second.tasks[name], key, shared_docs(first, second, name, key))


def _group_change(first: Evaluation, second: Evaluation, name: str) -> Change | None:
    if name not in first.run.results.members or name not in first.numbers:
        return None
    by_task: dict[str, dict[MetricKey, Triple]] = {}
    for task in dict.fromkeys(first.run.results.leaves(name)):
        for key in first.tasks[task].values if task in first.tasks else ():
            if (change := _task_change(first, second, task, key)) is not None:
                by_task.setdefault(task, {})[key] = change.first, change.second, change.difference
    wanted = first.numbers[name].key
    for key, *triple in group_differences(first.run, name, by_task):
        if key == wanted:
            before, after, difference = triple
            return Change(name, key, before, after, difference, None, first.run.results.better(name, key.metric))
    return None


def corrected(changes: Sequence[Change]) -> list[Change]:
    """The changes with p-values after Holm's correction for all of them; those without a p-value as they are."""
    tested = {place: p for place, change in enumerate(changes) if (p := change.difference.p_value) is not None}
    after = dict(zip(tested, holm(list(tested.values())), strict=True))
    return [replace(change, corrected=after.get(place)) for place, change in enumerate(changes)]


def is_better(change: Change) -> bool:
    """Whether a change goes in the number's good direction."""
    return change.better is not None and change.difference.value != 0 and (change.difference.value > 0) == change.better


def is_worse(change: Change) -> bool:
    """Whether a change goes in the number's bad direction."""
    return change.better is not None and change.difference.value != 0 and not is_better(change)


def marks_of(having: Sequence[Evaluation], name: str) -> dict[int, str]:
    """{doc: "0010111"}: whether it was wrong or right at each step, of docs that all steps scored right or wrong."""
    of_steps = []
    for each in having:
        task = each.tasks.get(name)
        values = {} if task is None else task.values.get(each.numbers[name].key, {})
        of_steps.append(
            {doc_id: mark for doc_id, value in values.items() if (mark := right_or_wrong(value)) is not None}
        )
    shared = set.intersection(*map(set, of_steps)) if of_steps else set()
    return {doc_id: "".join("01"[marks[doc_id]] for marks in of_steps) for doc_id in sorted(shared)}


def histories(having: Sequence[Evaluation], name: str) -> Histories | None:
    """How the docs of a task went; None for a group, a single step, and values that are neither right nor wrong."""
    kinds = Counter(map(_history, marks_of(having, name).values())) if len(having) > 1 else None
    return Histories(**{kind: kinds[kind] for kind in Histories.__dataclass_fields__}) if kinds else None


def _history(marks: str) -> str:
    turns = sum(a != b for a, b in zip(marks, marks[1:], strict=False))
    ends = "right" if marks[0] == "1" else "wrong"
    return ends if turns == 0 else "several" if turns > 1 else "forgotten" if ends == "right" else "learned"
