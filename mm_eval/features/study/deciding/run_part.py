"""A run that stops when it is decided, as a part of it (`RunPart`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import JournalState
from mm_eval.engine.outcome import Outcome
from mm_eval.engine.ranks import processes
from mm_eval.features.study.deciding.course import Course
from mm_eval.features.study.deciding.looks import Schedule, forget, forget_looks, kept_looks
from mm_eval.features.study.deciding.record import Record
from mm_eval.features.study.deciding.rules import Rule, WhenDecided, WhenNarrow
from mm_eval.features.study.deciding.units import Unit, units_of
from mm_eval.opening import Asking, OpenedTasks, PendingDocs, RunPart
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import TaskScores
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Instance
from mm_eval.values.words import listed

FINE = 100
"""Looks of `--until_interval`, whose interval holds at every moment."""
OPTIONS = ("stop_when", "looks", "alpha", "margin", "until_interval")


@dataclass
class DecidingPart(RunPart):
    """How a run stops; nothing in a run that does not. scores_again: it is a recorded run. record: of a launch that stopped."""

    request: RunRequest
    rule: Rule | None = None
    scores_again: bool = False
    schedule: Schedule | None = None
    units: list[Unit] = field(default_factory=list)
    recorded: Record | None = None
    broken: list[str] = field(default_factory=list)

    @classmethod
    def begin(
        cls, request: RunRequest, loaded: Loaded, options: Mapping[str, Any] | None = None
    ) -> DecidingPart | None:
        if options is not None or not (request.deciding.stop_when or request.deciding.until_interval):
            return cls(request, scores_again=options is not None)
        if request.deciding.stop_when and request.deciding.until_interval:
            raise ConfigError("--stop_when and --until_interval exclude each other.", hint="Give one or the other.")
        where = _option(request)
        if request.deciding.stop_when and not request.deciding.linked:
            hint = "mm-eval run --config release.yaml --stop_when decided; --until_interval is for one model."
            raise ConfigError("a comparison needs the models of a release.", where=where, hint=hint)
        if request.predict_only:
            raise ConfigError("with --predict_only nothing is scored, so nothing is decided.", where=where)
        if processes().count > 1:
            hint = "Start one process; --executor ray uses several machines."
            raise ConfigError("a run of several processes can't be stopped.", where=where, hint=hint)
        goal = float(request.deciding.until_interval or 0)
        return cls(request, WhenDecided(request) if request.deciding.stop_when else WhenNarrow(goal))

    def describe(self, opened: OpenedTasks) -> list[str]:
        """Finds what can be stopped, and draws the order. ConfigError where nothing can."""
        if self.rule is None:
            return []
        where = _option(self.request)
        if any(part.asks and part.needs_memory for part in opened.parts):
            what = "what grades the answers has its weights on this machine, and would be loaded anew for each look."
            raise ConfigError(what, where=where, hint="Let a model behind a server grade them.")
        units = units_of(opened)
        self.units = [unit for unit in units if not unit.refusal]
        refused = [f"{unit.name} can't be stopped: {unit.refusal}" for unit in units if unit.refusal]
        if not self.units:
            raise ConfigError(f"nothing of this run can be stopped: {'; '.join(refused)}.", where=where)
        seed = (self.request.deciding.linked or {}).get("seed", self.request.seed)
        launch = str((self.request.deciding.linked or {}).get("launch", ""))
        self.schedule = Schedule.of(
            opened, self.request.deciding.looks if self.request.deciding.stop_when else FINE, seed, launch
        )
        self.rule.begin(self.units, self.schedule)
        return [f"{each}: all of its docs are asked" for each in refused]

    def join(self, opened: OpenedTasks, folder: RunFolder) -> None:
        if self.scores_again:
            self.recorded = Record.read(folder, opened)

    def record(self, folder: RunFolder) -> None:
        """A launch without the option goes on to all docs: what an earlier one that stopped left is removed."""
        if self.rule is None and not self.scores_again:
            forget(folder)

    def passes(self, opened: OpenedTasks, asking: Asking, pending: PendingDocs) -> Iterator[Iterable[Instance]] | None:
        return None if self.rule is None else self._passes(opened, asking, pending)

    def _passes(self, opened: OpenedTasks, asking: Asking, pending: PendingDocs) -> Iterator[Iterable[Instance]]:
        assert self.rule is not None and self.schedule is not None
        linked = self.request.deciding.linked
        together = None if linked is None else bool(linked["together"])
        course = Course(opened, asking, pending, self.rule, self.schedule, self.units, together)
        if together is False:
            course.keep(kept_looks(asking.folder, self.schedule))
        else:
            forget_looks(asking.folder)  # all are written anew
        yield from course.passes()
        if course.waits:
            own = len(course.values)
            asking.outcome.waiting = f"it waits for the other models after look {self.rule.look}, with {own} of its own"
        elif self.rule.over and not asking.outcome.interrupted and not course.stopped:
            self.broken = list(self.rule.broken)
            stated = self.request.options()
            options = {name: stated[name] for name in OPTIONS if stated[name] is not None}
            self.recorded = Record.of(self.rule, self.schedule, opened, options)
            self.recorded.write(asking.folder)
        if self.broken:
            what = f"{listed(self.broken, 4)} failed, so the comparison is not decided."
            stopped = ModelError(what, hint="The same command goes on where each model stopped.")
            asking.outcome.of_parts["deciding"] = Outcome(stopped=stopped)

    def docs_scored(self) -> Mapping[str, list[int]]:
        return self.recorded.docs if self.recorded else {}

    def complete(self, opened: OpenedTasks, folder: RunFolder, results: Results, state: JournalState) -> None:
        if self.recorded is not None:
            self.recorded.mark(results)

    def notes(self, state: JournalState, outcome: Outcome) -> list[str]:
        return self.recorded.notes() if self.recorded else []

    def problems(self, outcome: Outcome, scores: Mapping[str, TaskScores]) -> list[str]:
        found = outcome.of_parts.get("deciding")
        return [f"stopped early: {found.stopped}"] if found is not None and found.stopped else []


def _option(request: RunRequest) -> str:
    return "--stop_when" if request.deciding.stop_when else "--until_interval"
