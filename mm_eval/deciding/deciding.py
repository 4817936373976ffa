"""A run that stops when it is decided."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mm_eval.deciding.course import Course
from mm_eval.deciding.looks import Schedule, forget_looks, kept_looks
from mm_eval.deciding.record import Record
from mm_eval.deciding.rules import Rule, WhenDecided, WhenNarrow
from mm_eval.deciding.units import Unit, units_of
from mm_eval.engine.launch import processes
from mm_eval.open_run import OpenedRun
from mm_eval.open_tasks import Asking, Pass, PendingDocs
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.words import listed

FINE = 100
"""Looks of `--until_interval`, whose interval holds at every moment."""
OPTIONS = ("stop_when", "looks", "alpha", "margin", "gate", "until_interval")


@dataclass
class Deciding:
    """How a run stops. stop_record: where it did, once a launch has. broken: what failed, so that a comparison is not decided."""

    request: RunRequest
    rule: Rule
    schedule: Schedule | None = None
    units: list[Unit] = field(default_factory=list)
    stop_record: Record | None = None
    broken: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, request: RunRequest) -> Deciding:
        """Of a request with `--stop_when` or `--until_interval`. ConfigError where it can't be stopped so."""
        if request.deciding.stop_when and request.deciding.until_interval:
            raise ConfigError("--stop_when and --until_interval can't be combined.", hint="Give one or the other.")
        where = _option(request)
        if request.deciding.stop_when and not request.deciding.linked:
            hint = "mm-eval run --config release.yaml --stop_when decided; --until_interval is for one model."
            raise ConfigError("a comparison needs the models of a release.", where=where, hint=hint)
        if request.deciding.gate and not request.deciding.stop_when:
            hint = "State --stop_when decided with it, or ask `mm-eval gate` afterwards."
            raise ConfigError("a policy ends the comparisons of several models.", where="--gate", hint=hint)
        if request.deciding.gate and request.deciding.margin is not None:
            hint = "Leave --margin out: the policy states what each benchmark may lose."
            raise ConfigError("--gate and --margin can't be combined.", hint=hint)
        if request.predict_only:
            raise ConfigError("with --predict_only nothing is scored, so nothing is decided.", where=where)
        if processes().count > 1:
            hint = "Start one process; --executor ray uses several machines."
            raise ConfigError("a run of several processes can't be stopped.", where=where, hint=hint)
        goal = float(request.deciding.until_interval or 0)
        return cls(request, WhenDecided.of(request) if request.deciding.stop_when else WhenNarrow(goal))

    def draw(self, opened: OpenedRun) -> list[str]:
        """Finds what can be stopped, and draws the order. Notes on what can't be; ConfigError where nothing can."""
        where = _option(self.request)
        if opened.judging and opened.judging.named_now and opened.judging.needs_memory:
            what = "the judge has its weights on this machine, and would be loaded again for each look."
            raise ConfigError(what, where=where, hint="Let a model behind a server grade them.")
        units = units_of(opened)
        units = [replace(unit, refusal=unit.refusal or self.rule.refusal(unit)) for unit in units]
        refused = [f"{unit.name} can't be stopped: {unit.refusal}" for unit in units if unit.refusal]
        self.units = [unit for unit in units if not unit.refusal]
        if not self.units:
            raise ConfigError(f"nothing of this run can be stopped: {'; '.join(refused)}.", where=where)
        seed = (self.request.deciding.linked or {}).get("seed", self.request.seed)
        launch = str((self.request.deciding.linked or {}).get("launch", ""))
        self.schedule = Schedule.of(
            opened, self.request.deciding.looks if self.request.deciding.stop_when else FINE, seed, launch
        )
        self.rule.begin(self.units, self.schedule)
        return [f"{each}: all of its documents are asked" for each in refused]

    def passes(self, opened: OpenedRun, asking: Asking, pending: PendingDocs) -> Iterator[Pass]:
        """The passes of the run look by look. After each pass the judges are asked about its answers, then the next is taken.

        A pass is read while the model answers, so it may end early. Sets `waiting` of the outcome where the run must end without
        results, to go on later.
        """
        assert self.schedule is not None
        linked = self.request.deciding.linked
        together = None if linked is None else bool(linked["together"])
        course = Course(opened, asking, pending, self.rule, self.schedule, self.units, together)
        if together is False:
            course.keep(kept_looks(asking.folder, self.schedule))
        else:
            forget_looks(asking.folder)  # all are written again
        yield from course.passes()
        if course.waits:
            asking.outcome.waiting = f"it is waiting for the other models after look {self.rule.look}"
        elif self.rule.over and not asking.outcome.interrupted and not course.stopped:
            self.broken = list(self.rule.broken)
            stated = self.request.options()
            options = {name: stated[name] for name in OPTIONS if stated[name] is not None}
            self.stop_record = Record.of(self.rule, self.schedule, opened, options)
            self.stop_record.write(asking.folder)
        if self.broken:
            what = f"{listed(self.broken, 4)} failed, so the comparison is not decided."
            asking.outcome.undecided = ModelError(what, hint="The same command continues where each model stopped.")


def _option(request: RunRequest) -> str:
    return "--stop_when" if request.deciding.stop_when else "--until_interval"
