"""What stands below the table: notes that a reader should know, and problems, each a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mm_eval.engine.journal import JournalState
from mm_eval.engine.outcome import Outcome
from mm_eval.opening import OpenedTasks
from mm_eval.prepare import Prepared
from mm_eval.scorers.task_scores import TaskScores
from mm_eval.task.blind import WITHOUT
from mm_eval.words import counted, of_all


def notes_of(opened: OpenedTasks, state: JournalState, outcome: Outcome) -> list[str]:
    """What a reader of the table should know."""
    notes = list(opened.notes)
    if parts := [f"{of_all(some, every, 'doc')} of {name}" for name, (some, every) in opened.in_part.items()]:
        more = f" and of {counted(len(parts) - 4, 'more task')}" if len(parts) > 4 else ""
        were = "was" if [some for some, _ in opened.in_part.values()] == [1] else "were"
        notes.append(f"only {', '.join(parts[:4])}{more} {were} requested: no result on a benchmark")
    if opened.request.blind:
        seen = "their pictures were left out" if opened.request.blind == WITHOUT else "other docs' pictures were shown"
        notes.append(
            f"--blind: {seen}; the standard errors do not know which docs share a picture: no result on a benchmark"
        )
    if outcome.reused and not outcome.requested and not outcome.failed:
        answers = counted(outcome.reused, "answer was", "answers were")
        every = "" if outcome.reused == 1 else "all "
        notes.append(f"{every}{answers} in the run folder already; nothing was requested")
    elif outcome.reused:
        there = counted(outcome.reused, "answer was", "answers were")
        notes.append(f"resumed an earlier launch: {there} there, {counted(outcome.requested, 'was', 'were')} requested")
    if outcome.cached:
        cache = opened.request.use_cache
        source = f"--use_cache {cache}" if cache else "earlier runs"
        notes.append(f"{counted(outcome.cached, 'answer')} came from {source}")
    if outcome.shared == 1:
        notes.append("1 request equals another one of this run and was not repeated")
    elif outcome.shared:
        notes.append(f"{outcome.shared:,} requests equal another one of this run and were not repeated")
    if isinstance(opened, Prepared) and (account := opened.model.account(state.usage)):
        notes.append(account)
    for judge in opened.judges:
        used = state.judge_usage.get(judge.name, {})
        if judge.model is not None and (account := judge.model.account(used)):
            notes.append(f"judge {judge.name}: {account}")
    if (verdicts := outcome.verdicts) is not None:
        ends = [
            (verdicts.reused, "was there already", "were there already"),
            (verdicts.requested, "was requested", "were requested"),
            (verdicts.cached, "came from --use_cache", "came from --use_cache"),
            (verdicts.shared, "is equal to another one", "are equal to another one"),
        ]
        notes.append(f"verdicts: {', '.join(counted(*each) for each in ends if each[0]) or 'none was needed'}")
    if state.damaged:
        skipped = counted(state.damaged, "damaged journal line was", "damaged journal lines were")
        notes.append(f"{skipped} skipped; `mm-eval run` requests their answers again")
    return notes


def problems_of(scores: Mapping[str, TaskScores], outcome: Outcome) -> list[str]:
    """What failed: why the run stopped early, and each task's failed docs and missing numbers."""
    problems = [f"stopped early: {outcome.stopped.owner} error: {outcome.stopped}"] if outcome.stopped else []
    if outcome.verdicts is not None and (stopped := outcome.verdicts.stopped) is not None:
        problems.append(f"judging stopped early: {stopped}")
    for name, task in scores.items():
        if task.failed:
            what = f"{of_all(task.failed, task.n, 'doc')} failed and {'is' if task.failed == 1 else 'are'} in no number"
            problems.append(f"{name}: {what}:")
            problems += [f"  {error}" for error in task.errors]
        if task.not_requested:
            what = of_all(task.not_requested, task.n, "doc", "was not requested and is", "were not requested and are")
            problems.append(f"{name}: {what} in no number; the command that began this run requests them")
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
        what = of_all(failed, task.n, "doc", f"has no verdict{whose} and is", f"have no verdict{whose} and are")
        yield f"{name}: {what} not in its number:"
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
