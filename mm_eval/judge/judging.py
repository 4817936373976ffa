"""The judges of a run : tried before the first request, asked after the answers, read when scoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mm_eval.config.manager import Loaded
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import Journal, JournalState
from mm_eval.engine.model import account, dollars
from mm_eval.engine.outcome import Outcome
from mm_eval.judge.asking import ask_judges
from mm_eval.judge.code import verdicts_of
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.judges import (
    Judge,
    check_stated,
    identity_of,
    joined_judges,
    judged_configs,
    judges_of,
    make_judges,
    names_by_rule,
    record_judges,
)
from mm_eval.judge.scoring import with_judges
from mm_eval.judge.trial import Tried, try_judges
from mm_eval.judge.verdicts import Lookup, Verdicts
from mm_eval.open_tasks import Asking, OpenedTasks
from mm_eval.prompt.task import Task
from mm_eval.request import RunRequest
from mm_eval.results.judged import name_numbers
from mm_eval.results.number_text import unit_for
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import TaskScores
from mm_eval.values.errors import MMEvalError
from mm_eval.values.types import Fields
from mm_eval.values.words import counted, of_all

NOT_JUDGED = "not judged: judged scores are left out (--no_judge)."


@dataclass
class Judging:
    """The judges of a run with judged tasks.

    judges: those of the run folder, the first one first; before `join` those of the request.
    named_now: those of the request. is_rescoring: a recorded run is scored again. left_out: without its judges (`--no_judge`).
    """

    judges: list[Judge]
    named_now: Sequence[Judge] = ()
    is_rescoring: bool = False
    left_out: bool = False
    tried: Tried = field(default_factory=Tried)
    _verdicts: dict[str, dict[str, Verdicts]] = field(default_factory=dict)
    _identities: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    @classmethod
    def of(cls, request: RunRequest, loaded: Loaded) -> Judging | None:
        """The judges of a new run, their arguments checked and no weights loaded; None where no task is judged.

        loaded: the configs of the run, which take notes. Errors: ConfigError where a task needs a judge that is not named.
        """
        check_stated(request, loaded.tasks, by_rule=names_by_rule(loaded))
        if not judged_configs(loaded.tasks) or request.predict_only:
            if judges_of(request):
                loaded.notes.append("no task of this run is judged: --judge was not asked")
            return None
        judges = make_judges(request)
        return cls(judges, judges, left_out=request.judge.left_out)

    @classmethod
    def of_recorded(cls, request: RunRequest, loaded: Loaded, left_out: bool) -> Judging | None:
        """Those that a recorded run is scored again with: the judges of its folder, and those that are named now.

        request: with the judges of now. left_out: scored without any.
        """
        if not judged_configs(loaded.tasks) or request.predict_only:
            return None
        judges = make_judges(replace(request, offline=False))  # named now, however the run was made
        return cls(judges, judges, is_rescoring=True, left_out=left_out)

    def check_generation(self, opened: OpenedTasks) -> None:
        """ConfigError if a judge can't generate with the options of a task."""
        for judge in self.judges:
            judge.check_generation(opened.configs)

    @property
    def needs_memory(self) -> bool:
        """Whether a judge is loaded on this machine: the model of the run is closed before."""
        return any(judge.model and judge.model.facts.local for judge in self.named_now)

    def recall(self, folder: RunFolder) -> None:
        """Begins with what earlier launches found out about the endpoints of the judges."""
        for judge in self.named_now:
            judge.recall(folder)

    def try_all(self, opened: OpenedTasks, state: JournalState, progress: Callable[[str], None]) -> MMEvalError | None:
        """Asks each judge about a gold and an empty answer. Returns why the run can't begin. state: to be changed at will."""
        self.tried = try_judges(opened, self.judges, state, progress)
        return self.tried.error

    def join(self, opened: OpenedTasks, folder: RunFolder) -> None:
        """Takes over the judges of earlier launches. ConfigError where they do not go with those of this one."""
        self.judges = [] if self.left_out else joined_judges(folder, self.named_now, opened.tasks)
        if self.is_rescoring:
            check_stated(opened.request, opened.configs, self.judges)

    def record(self, folder: RunFolder) -> None:
        """Writes the judges into run.json."""
        if self.judges:
            record_judges(folder, self.judges)

    def keep(self, journal: Journal, state: JournalState) -> None:
        """Adds what the judges said in `try_all`, before there was a journal, to it and to what was read of it."""
        self.tried.write(journal, state)

    def ask(self, opened: OpenedTasks, asking: Asking, doc_ids: Mapping[str, list[int]]) -> None:
        """Asks for the verdicts that docs of this process lack."""
        ask_judges(opened, self.judges, asking, doc_ids)

    def with_judges(self, task: Task, scorers: Sequence[Scorer], lookup: Lookup) -> Sequence[Scorer]:
        """The scorers of a task with those of its verdicts. lookup: the recorded answers and replies of judges."""
        found = {judge.name: verdicts_of(task, judge.name, lookup) for judge in self.judges}
        self._verdicts[task.path] = found
        return with_judges(task.config, scorers, found)

    def add_to(self, results: Results, opened: OpenedTasks, folder: RunFolder, state: JournalState) -> None:
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
        """The dollars of all verdicts so far; None where a price is unknown."""
        models = {judge.name: judge.model for judge in self.judges if judge.model is not None}
        costs = [dollars(model, state.judge_usage.get(name, {})) for name, model in models.items()]
        return None if None in costs else sum(cost for cost in costs if cost is not None)

    def cost(self, state: JournalState, before: Fields) -> dict[str, object]:
        """What they add to `cost` in results.json; empty where no price is known. before: `cost` of the last time."""
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
        if (verdicts := outcome.verdicts) is not None:
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
        stopped = outcome.verdicts.stopped if outcome.verdicts else None
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
                missing.docs, scores.n, "document", f"has no verdict{whose} and is", f"have no verdict{whose} and are"
            )
            found.append(f"{name}: {what} left out of its score:")
            found += [f"  {error}" for error in missing.errors]
            if missing.bounds is not None:
                scales = [number.scale for number in scores.numbers if number.metric == missing.metric]
                unit = unit_for(missing.metric, missing.bounds, scales=scales)
                low, high = map(unit.text, missing.bounds)
                ends = f"{low} with the lowest verdict on them, {high} with the highest"
                found.append(f"  {missing.metric} would be {ends}")
        return found
