"""What stands below the table: notes that a reader should know, and problems, each a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mm_eval.engine.journal import JournalState
from mm_eval.engine.outcome import Outcome
from mm_eval.opening import OpenedTasks
from mm_eval.prepare import Prepared
from mm_eval.scorers.task_scores import TaskScores
from mm_eval.task.blind import WITHOUT


def notes_of(opened: OpenedTasks, state: JournalState, outcome: Outcome, changed: Sequence[str] = ()) -> list[str]:
    """What a reader of the table should know. changed: tasks whose files are not those that the run began with."""
    notes = list(opened.notes)
    if changed:
        names = ", ".join(changed[:4]) + (f" and {len(changed) - 4} more tasks" if len(changed) > 4 else "")
        notes.append(f"scoring of {names} changed since the folder was made: all answers are scored anew")
    if parts := [f"{some} of {every} docs of {name}" for name, (some, every) in opened.in_part.items()]:
        more = f" and of {len(parts) - 4} more tasks" if len(parts) > 4 else ""
        notes.append(f"only {', '.join(parts[:4])}{more} were requested: no result on a benchmark")
    if opened.request.blind:
        seen = "their pictures were left out" if opened.request.blind == WITHOUT else "other docs' pictures were shown"
        notes.append(
            f"--blind: {seen}; the standard errors do not know which docs share a picture: no result on a benchmark"
        )
    if outcome.reused and not outcome.requested and not outcome.failed:
        notes.append(f"all {outcome.reused} answers were in the run folder already; nothing was requested")
    elif outcome.reused:
        counts = f"{outcome.reused} answers were there, {outcome.requested} were requested"
        notes.append(f"resumed an earlier launch: {counts}")
    if outcome.cached:
        cache = opened.request.use_cache
        notes.append(f"{outcome.cached} answers came from {f'--use_cache {cache}' if cache else 'earlier runs'}")
    if outcome.shared:
        notes.append(f"{outcome.shared} requests equal another one of this run and were not repeated")
    if isinstance(opened, Prepared) and (account := opened.model.account(state.usage)):
        notes.append(account)
    for judge in opened.judges:
        used = state.judge_usage.get(judge.name, {})
        if judge.model is not None and (account := judge.model.account(used)):
            notes.append(f"judge {judge.name}: {account}")
    if (verdicts := outcome.verdicts) is not None:
        notes.append(f"verdicts: {_counted(verdicts)}")
    if state.damaged:
        notes.append(f"{state.damaged} damaged journal lines were skipped; `mm-eval run` requests their answers again")
    return notes


def _counted(verdicts: Outcome) -> str:
    """What became of the questions to the judges, in words."""
    counts = {
        "were there already": verdicts.reused,
        "were requested": verdicts.requested,
        "came from --use_cache": verdicts.cached,
        "are equal to another one": verdicts.shared,
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or "none was needed"


def problems_of(scores: Mapping[str, TaskScores], outcome: Outcome) -> list[str]:
    """What failed: why the run stopped early, and each task's failed docs and missing numbers."""
    problems = [f"stopped early: {outcome.stopped.owner} error: {outcome.stopped}"] if outcome.stopped else []
    if outcome.verdicts is not None and (stopped := outcome.verdicts.stopped) is not None:
        problems.append(f"judging stopped early: {stopped}")
    for name, task in scores.items():
        if task.failed:
            problems.append(f"{name}: {task.failed} of {task.n} docs failed and are in no number:")
            problems += [f"  {error}" for error in task.errors]
        if task.not_requested:
            what = f"{name}: {task.not_requested} of {task.n} docs were not requested and are in no number"
            problems.append(f"{what}; the command that began this run requests them")
        problems += _unjudged(name, task)
        problems += [f"{name}: {key} has no value (see the notes)" for key in task.missing]
    return problems


def _unjudged(name: str, task: TaskScores) -> Iterator[str]:
    """The docs that each judge gave no verdict on, why, and what that may change."""
    for number, entry in enumerate(task.judges or ()):
        judge = str(entry["name"])
        failed, bounds = task.further_judges.get(judge, (0, None)) if number else (task.judge_failed, task.judge_bounds)
        if not failed:
            continue
        whose = f" of {judge}" if len(task.judges or ()) > 1 else ""
        yield f"{name}: {failed} of {task.n} docs have no verdict{whose} and are not in its number:"
        yield from (f"  {error}" for error in task.judge_errors.get(judge if number else "", ()))
        if bounds is not None:
            low, high = (f"{bound:.4f}" for bound in bounds)
            yield f"  {task.judged_metric} would be {low} with the lowest verdict on them, {high} with the highest"


def spent(opened: Prepared, state: JournalState) -> float | None:
    """The dollars that all answers and verdicts of a run folder have cost so far; None where a server's prices are unknown."""
    used = [(opened.model, state.usage)]
    used += [(judge.model, state.judge_usage.get(judge.name, {})) for judge in opened.judges if judge.model is not None]
    costs = [model.dollars(tokens) for model, tokens in used]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
