"""The judges of a run as a part of it (`RunPart`): tried before the first request, asked after the answers, read when scoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import Journal, JournalState
from mm_eval.engine.model import account, dollars
from mm_eval.engine.outcome import Outcome
from mm_eval.features.judge.asking import ask_judges
from mm_eval.features.judge.code import verdicts_of
from mm_eval.features.judge.config import judge_of_task
from mm_eval.features.judge.judges import (
    Judge,
    check_stated,
    identity_of,
    joined_judges,
    judged_configs,
    judges_of,
    make_judges,
    record_judges,
)
from mm_eval.features.judge.preflight import Tried, try_judges
from mm_eval.features.judge.scoring import with_judges
from mm_eval.features.judge.verdicts import Lookup, Verdicts
from mm_eval.opening import Asking, OpenedTasks, RunPart
from mm_eval.prompt.task import Task
from mm_eval.request import RunRequest
from mm_eval.results.judged import name_numbers
from mm_eval.results.number_text import unit_for
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import TaskScores
from mm_eval.values.errors import MMEvalError
from mm_eval.values.words import counted, of_all

NOT_JUDGED = "not judged: the numbers that a judge gives are left out (--no_judge)."


@dataclass
class JudgePart(RunPart):
    """The judges of a run with judged tasks.

    judges: those of the run folder, the first one first; before `join` those of the request.
    asked: those of the request. scoring: the user's options where a recorded run is scored again; None in a new run.
    """

    judges: list[Judge]
    asked: Sequence[Judge] = ()
    scoring: Mapping[str, Any] | None = None
    tried: Tried = field(default_factory=Tried)
    _verdicts: dict[str, dict[str, Verdicts]] = field(default_factory=dict)
    _identities: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def begin(cls, request: RunRequest, loaded: Loaded, options: Mapping[str, Any] | None = None) -> JudgePart | None:
        """The judges, their arguments checked and no weights loaded. ConfigError where a task needs one that is not named."""
        if options is None:
            check_stated(request, loaded.tasks)
        if not judged_configs(loaded.tasks) or request.predict_only:
            if judges_of(request) and options is None:
                loaded.notes.append("no task of this run is judged: --judge was not asked")
            return None
        # The judges of a recorded run are named now, however the run was made.
        judges = make_judges(request if options is None else replace(request, offline=False))
        return cls(judges, judges, options)

    def describe(self, opened: OpenedTasks) -> list[str]:
        """Nothing to say. ConfigError if a judge can't generate with the options of a task."""
        for judge in self.judges:
            judge.check_generation(opened.configs)
        return []

    @property
    def asks(self) -> bool:
        return bool(self.asked)

    @property
    def needs_memory(self) -> bool:
        return any(judge.model and judge.model.facts.local for judge in self.asked)

    def recall(self, folder: RunFolder) -> None:
        for judge in self.asked:
            judge.recall(folder)

    def before(self, opened: OpenedTasks, state: JournalState, progress: Callable[[str], None]) -> MMEvalError | None:
        self.tried = try_judges(opened, self.judges, state, progress)
        return self.tried.error

    def join(self, opened: OpenedTasks, folder: RunFolder) -> None:
        without = opened.request.judge.left_out if self.scoring is None else self.scoring.get("no_judge")
        self.judges = [] if without else joined_judges(folder, self.asked, opened.tasks)
        if self.scoring is not None:
            check_stated(opened.request, opened.configs, self.judges)

    def record(self, folder: RunFolder) -> None:
        if self.judges:
            record_judges(folder, self.judges)

    def keep(self, journal: Journal, state: JournalState) -> None:
        self.tried.write(journal, state)

    def after(self, opened: OpenedTasks, asking: Asking) -> None:
        ask_judges(opened, self.judges, asking)

    def scorers(self, task: Task, scorers: Sequence[Scorer], lookup: Lookup) -> Sequence[Scorer]:
        found = {judge.name: verdicts_of(task, judge.name, lookup) for judge in self.judges}
        self._verdicts[task.path] = found
        return with_judges(task.config, scorers, found)

    def complete(self, opened: OpenedTasks, folder: RunFolder, results: Results, state: JournalState) -> None:
        """Adds who judged each task, what the judges' endpoints refuse, and the tokens that the judges took."""
        for name, task in opened.tasks.items():
            if judge_of_task(task.config) is not None:
                verdicts = self._verdicts[task.path]
                self._identities[name] = [
                    identity_of(judge, task, verdicts[judge.name].models) for judge in self.judges
                ]
                if not self.judges:
                    results.rows[name].notes.insert(0, NOT_JUDGED)
        if self._identities:
            results.judges = self._identities
            name_numbers(results)
        if refused := {judge.name: kept for judge in self.judges if (kept := folder.refused(judge.endpoint))}:
            results.run.facts["judge_endpoints"] = refused
        if state.judge_usage:
            results.run.facts["judge_usage"] = state.judge_usage

    def spent(self, state: JournalState) -> float | None:
        models = {judge.name: judge.model for judge in self.judges if judge.model is not None}
        costs = [dollars(model, state.judge_usage.get(name, {})) for name, model in models.items()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def cost(self, state: JournalState, before: Mapping[str, Any]) -> dict[str, Any]:
        judges = dict(before["judges"]) if isinstance(before.get("judges"), dict) else {}
        for judge in self.judges:
            if judge.model is not None and (own := judge.model.facts.price) is not None:
                dollars = round(own.dollars(state.judge_usage.get(judge.name, {})), 6)
                judges[judge.name] = {"dollars": dollars, "price": own.to_json()}
        return {"judges": judges} if judges else {}

    def notes(self, state: JournalState, outcome: Outcome) -> list[str]:
        """What the verdicts took, and where they came from."""
        notes: list[str] = []
        for judge in self.judges:
            used = state.judge_usage.get(judge.name, {})
            if judge.model is not None and (tokens := account(judge.model, used)):
                notes.append(f"judge {judge.name}: {tokens}")
        if (verdicts := outcome.of_parts.get("judge")) is not None:
            ends = [
                (verdicts.reused, "was there already", "were there already"),
                (verdicts.requested, "was requested", "were requested"),
                (verdicts.cached, "came from --use_cache", "came from --use_cache"),
                (verdicts.shared, "is equal to another one", "are equal to another one"),
            ]
            notes.append(f"verdicts: {', '.join(counted(*each) for each in ends if each[0]) or 'none was needed'}")
        return notes

    def problems(self, outcome: Outcome, scores: Mapping[str, TaskScores]) -> list[str]:
        """Why judging stopped, and the docs of each task without a verdict."""
        stopped = outcome.of_parts["judge"].stopped if "judge" in outcome.of_parts else None
        found = [f"judging stopped early: {stopped}"] if stopped is not None else []
        return found + [problem for name, of_task in scores.items() for problem in self._without_verdict(name, of_task)]

    def _without_verdict(self, name: str, scores: TaskScores) -> list[str]:
        """The docs of a task that each judge gave no verdict on, why, and what that may change."""
        found: list[str] = []
        entries = self._identities.get(name, ())
        for number, entry in enumerate(entries):
            judge = str(entry["name"])
            missing = scores.ungraded.get(f"judge@{judge}" if number else "judge")
            if missing is None or not missing.docs:
                continue
            whose = f" of {judge}" if len(entries) > 1 else ""
            what = of_all(
                missing.docs, scores.n, "doc", f"has no verdict{whose} and is", f"have no verdict{whose} and are"
            )
            found.append(f"{name}: {what} not in its number:")
            found += [f"  {error}" for error in missing.errors]
            if missing.bounds is not None:
                scales = [number.scale for number in scores.numbers if number.metric == missing.metric]
                unit = unit_for(missing.metric, missing.bounds, scales=scales)
                low, high = map(unit.text, missing.bounds)
                ends = f"{low} with the lowest verdict on them, {high} with the highest"
                found.append(f"  {missing.metric} would be {ends}")
        return found


def judges_of_run(opened: OpenedTasks) -> list[Judge]:
    """The judges of opened tasks."""
    return [judge for part in opened.parts if isinstance(part, JudgePart) for judge in part.judges]
