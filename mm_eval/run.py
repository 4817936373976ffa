"""The one function that reads from top to bottom as a run goes:

names -> configs -> tasks -> instances -> answers (journalled) -> scores -> groups -> results on disk
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from mm_eval.engine.ask import AnswerCache, Asker, Outcome, StopSignal
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import Journal, JournalState, read_journal
from mm_eval.engine.launch import Processes, processes
from mm_eval.engine.model import request_key
from mm_eval.engine.order import in_cheapest_order
from mm_eval.engine.ranks import Signs, all_have_read, launched, wait_for_ranks
from mm_eval.errors import ConfigError, MMEvalError, StoreError
from mm_eval.prepare import Prepared, check_generation, prepare, prepare_from_spec
from mm_eval.report.html import write_report
from mm_eval.report.thumbnails import Media, pictures_of, write_thumbnails
from mm_eval.request import RunRequest
from mm_eval.runs.recorded import RecordedRun, sample_name
from mm_eval.runs.results import assemble, environment
from mm_eval.scorers.score_task import TaskScores, TaskScoring
from mm_eval.types import Instance, Slot, plain

__all__ = ["Progress", "Report", "RunRequest", "evaluate", "score"]


class Progress(Protocol):
    """Where a run tells how far it is."""

    def phase(self, name: str) -> None: ...
    def start(self, name: str, total: int) -> None: ...
    def tick(self, done: int, failed: int) -> None: ...
    def stop(self) -> None: ...


class Silent:
    """Tells nobody."""

    def phase(self, name: str) -> None: ...
    def start(self, name: str, total: int) -> None: ...
    def tick(self, done: int, failed: int) -> None: ...
    def stop(self) -> None: ...


@dataclass
class Report:
    """What a run came to: results.json as a mapping, and what its reader should know.

    exit_code: 0 all was answered and scored, 3 some requests failed, 130 interrupted.
    silent: this process is one of several and not the one that tells.
    """

    results: dict[str, Any]
    folder: Path
    exit_code: int
    order: list[tuple[str, int]]
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    silent: bool = False


def evaluate(request: RunRequest, progress: Progress | None = None) -> Report:
    """Runs an evaluation, or goes on with one, and returns its report.

    Errors: ConfigError when nothing was asked. What fails later is in the report, and in its exit code.
    """
    progress = progress or Silent()
    started = time.time()
    if request.output_path and processes().leads:
        RunFolder(Path(request.output_path)).refuse_if_held()
    plan = prepare(request, progress.phase)
    check_generation(plan)  # before the weights are loaded, which may take minutes
    return run(plan, progress, started)


def run(plan: Prepared, progress: Progress | None = None, started: float | None = None) -> Report:
    """Makes the requests of a plan that have no answer yet and scores it. Several plans may share one model.

    The model is loaded before a new folder is made, so that one that can't be loaded leaves none. A folder with answers may be
    complete: there the first request that reaches the model loads it.
    """
    progress, started, request = progress or Silent(), started or time.time(), plan.request
    spec = plan.spec()
    folder = RunFolder(Path(request.output_path or default_folder(request, spec)))
    own = processes()
    if not folder.has_answers:
        assert plan.model is not None
        progress.phase("model")
        plan.model.prepare_once()

    def claim() -> None:
        folder.claim(spec, request.to_json())
        if own.leads:  # once a launch: it may read every picture file
            folder.hold_files(plan.picture_files)

    with launched(own, folder, claim) as launch:
        state = _recorded(folder)
        all_have_read(own, launch)
        outcome = _ask(plan, folder, state, progress if own.leads else Silent(), own, launch)
        if not own.leads:
            return Report({}, folder.path, 130 if outcome.interrupted else 0, [], silent=True)
        state = state if own.count == 1 else _recorded(folder)
        if request.predict_only:
            return _unscored(plan, folder, outcome)
        return _report(plan, folder, state, outcome, spec, started, progress)


def score(folder_path: Path, bootstrap_iters: int = 100_000, progress: Progress | None = None) -> Report:
    """Scores a recorded run again. No model is needed: the journal holds its answers."""
    folder = RunFolder(folder_path)
    run = folder.read("run.json")
    if run is None:
        raise ConfigError(
            "there is no run in this folder.", where=str(folder_path), hint="Give a folder with a run.json."
        )
    request = RunRequest.from_json({**run["request"], "bootstrap_iters": bootstrap_iters})
    plan = prepare_from_spec(request, run["spec"])
    with folder.locked():
        folder.hold_files(plan.picture_files)
        state = _recorded(folder)
        return _report(plan, folder, state, Outcome(), run["spec"], time.time(), progress or Silent())


def default_folder(request: RunRequest, spec: dict[str, Any]) -> str:
    """runs/<model>-<tasks>-<digest of the spec>: the same command finds its own run again."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    words = "-".join([request.model or "tiny-llava", *request.tasks])
    return f"runs/{re.sub(r'[^A-Za-z0-9_.-]+', '-', words)[:80]}-{digest}"


def _ask(
    plan: Prepared, folder: RunFolder, state: JournalState, progress: Progress, own: Processes, launch: str
) -> Outcome:
    """Asks what this process owes; every answer is on disk before it is counted. Rank 0 then waits for the others."""
    assert plan.model is not None
    shares = {name: _share(plan, name, state, own) for name in plan.tasks}
    checked = {name: _owed(plan, name, ids, state) for name, ids in shares.items()}
    per_doc = {name: _per_doc(plan, name) for name in plan.tasks}
    fail_at = failure_limit(plan.request.fail_on_error, sum(per_doc[name] * len(plan.doc_ids[name]) for name in shares))
    progress.start("answering", sum(per_doc[name] * len(ids) for name, ids in shares.items()))
    outcome = Outcome(reused=sum(answered for _, answered in checked.values()))
    signs = Signs(folder.path, launch, own, outcome.counts)
    with StopSignal().listening() as stop:
        with signs.given(), _cache(plan) as cache, _journal(folder) as journal:
            told = signs.failed_elsewhere
            asker = Asker(plan.model, journal, state, stop, progress.tick, fail_at, cache, outcome, told)
            asker.ask(in_cheapest_order(_instances(plan, {name: owed for name, (owed, _) in checked.items()})))
        progress.stop()
        if own.leads and own.count > 1:
            dead, others = wait_for_ranks(folder.path, launch, own, lambda: stop.requested, heard=signs.heard)
            outcome.add(others, dead, stop.requested)
            if fail_at is not None:
                outcome.hold_to(fail_at)
    return outcome


def _share(plan: Prepared, name: str, state: JournalState, own: Processes) -> list[int]:
    """The docs of a task that this process asks: all of them where there is one process."""
    if own.count == 1:
        return plan.doc_ids[name]
    task, doc_ids = plan.tasks[name], plan.doc_ids[name]
    begun = {doc_id for doc_id in doc_ids if state.answer(Slot(task.path, doc_id))}
    return own.share({doc_id: (type(key).__name__, key) for doc_id, key in task.groups(doc_ids).items()}, begun)


def failure_limit(asked: bool | int | float, total: int) -> int | None:
    """The number of failed requests that stops a run of `total`; a share is reached when at least so much has failed.

    >>> failure_limit(0.07, 100), failure_limit(True, 100), failure_limit(False, 100)
    (7, 1, None)
    """
    if asked is False:
        return None
    return max(1, ceil(Fraction(str(asked)) * total)) if isinstance(asked, float) else int(asked)


@contextmanager
def _cache(plan: Prepared) -> Iterator[AnswerCache | None]:
    assert plan.model is not None
    if plan.request.use_cache is None:
        yield None
        return
    cache = AnswerCache(Path(plan.request.use_cache), plan.model)
    try:
        yield cache
    finally:
        cache.close()


def _recorded(folder: RunFolder) -> JournalState:
    """What earlier launches recorded. Raises ConfigError if the journal is unreadable."""
    try:
        return read_journal(folder.path)
    except StoreError as error:
        raise ConfigError(error.what, where=error.where, hint=error.hint) from error


@contextmanager
def _journal(folder: RunFolder) -> Iterator[Journal]:
    try:
        journal = Journal(folder.path)
    except OSError as error:
        raise ConfigError(f"the journal can't be opened: {error.strerror}.", where=str(folder.path)) from error
    try:
        yield journal
    finally:
        journal.close()


def _instances(plan: Prepared, owed: Mapping[str, list[int]]) -> Iterator[Instance]:
    """What the run asks, task by task."""
    for name, task in plan.tasks.items():
        yield from task.instances(owed[name], plan.styles[name])


def _owed(plan: Prepared, name: str, doc_ids: list[int], state: JournalState) -> tuple[list[int], int]:
    """The docs that have something to ask, and how many answers the others have; no picture is decoded for it.

    Errors: ConfigError when an answer is to another question than the doc makes now, which a changed file can bring about
        that only the task's own functions know of.
    """
    assert plan.model is not None
    task, answered = plan.tasks[name], 0
    owed = {doc_id for doc_id in doc_ids if state.answer(Slot(task.path, doc_id)) is None}
    for doc_id, group in groupby(_begun(plan, name, doc_ids, state), key=lambda instance: instance.doc_id):
        instances = list(group)
        known = [state.answer(instance.slot) for instance in instances]
        for instance, found in zip(instances, known, strict=True):
            if found is None or instance.error is not None:
                continue
            instance.image_digests = found.images
            if found.key != request_key(plan.model, instance):
                hint = "A file that the task reads must have changed; give the run another --output_path."
                what = "the answer that is recorded is to another question than this doc's."
                raise ConfigError(what, where=f"{task.path} doc {doc_id}", hint=hint)
        if all(known):
            answered += len(known)
        else:
            owed.add(doc_id)
    return sorted(owed), answered


def _begun(plan: Prepared, name: str, doc_ids: list[int], state: JournalState) -> Iterator[Instance]:
    """The instances, without pictures, of the docs whose first slot is answered."""
    path = plan.tasks[name].path
    known = {doc_id: found for doc_id in doc_ids if (found := state.answer(Slot(path, doc_id)))}
    return plan.tasks[name].instances(list(known), plan.styles[name], lambda doc_id: known[doc_id].turn_pictures)


def _per_doc(plan: Prepared, name: str) -> int:
    """How many requests a doc makes, told from the first."""
    task, style = plan.tasks[name], plan.styles[name]
    return sum(1 for _ in task.instances(plan.doc_ids[name][:1], style, lambda doc_id: None))


def _report(
    plan: Prepared,
    folder: RunFolder,
    state: JournalState,
    outcome: Outcome,
    spec: dict[str, Any],
    started: float,
    progress: Progress,
) -> Report:
    """Scores every task from the journal, writes samples and results.json, and tells what to look at."""
    scores = _score_tasks(plan, folder, state, progress)
    state.forget()  # the page is made from samples/, and reading them needs the memory
    results, order = assemble(plan, scores)
    results["run"] = {**environment(plan, spec, started), "usage": dict(sorted(state.usage.items()))}
    folder.write("results.json", json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False))
    failed = sum(score.failed + score.not_requested + len(score.missing) for score in scores.values())
    code = 130 if outcome.interrupted else 3 if failed or outcome.stopped else 0
    report = Report(results, folder.path, code, order, _notes(plan, state, outcome), _problems(scores, outcome))
    if plan.request.report and not outcome.interrupted:
        report.notes += _write_page(plan, folder, progress)
    return report


def _score_tasks(plan: Prepared, folder: RunFolder, state: JournalState, progress: Progress) -> dict[str, TaskScores]:
    progress.start("scoring", sum(len(ids) for ids in plan.doc_ids.values()))
    encode = json.JSONEncoder(ensure_ascii=False, default=_written).encode
    scores: dict[str, TaskScores] = {}
    for name, task in plan.tasks.items():
        scoring = TaskScoring(task, plan.styles[name], plan.scorers[name], state.slots.get)
        rows = _counted(scoring.samples(plan.doc_ids[name]), progress)
        folder.write_lines(f"samples/{sample_name(name)}.jsonl", map(encode, rows))
        scores[name] = scoring.aggregate(plan.request.bootstrap_iters)
    progress.stop()
    return scores


def _write_page(plan: Prepared, folder: RunFolder, progress: Progress) -> list[str]:
    """Writes thumbnails and report.html. They are derived: a failure is reported as a note; the results stand."""
    recorded = RecordedRun.read(folder.path)
    try:
        pictured = {name: task for name, task in plan.tasks.items() if task.has_pictures}
        progress.start("thumbnails", sum(len(plan.doc_ids[name]) for name in pictured))
        with Media(folder.path) as media:
            for name, task in pictured.items():
                rows = _counted(recorded.rows(name), progress)
                write_thumbnails(media, task, plan.styles[name], pictures_of(rows))
        progress.stop()
        progress.phase("report")
        return [f"report: {write_report(recorded)}"]
    except Exception as error:  # pictures are foreign bytes, and nothing here may cost the results
        what = str(error) if isinstance(error, (OSError, MMEvalError)) else f"{type(error).__name__}: {error}"
        return [f"no report.html could be written: {what}"]


def _counted(rows: Iterator[dict[str, Any]], progress: Progress) -> Iterator[dict[str, Any]]:
    """The rows, each counted by the progress bar as it is read."""
    for row in rows:
        progress.tick(1, 0)
        yield row


def _written(value: Any) -> Any:
    """A value that JSON does not know: numpy's as the number that it is, any other one as text."""
    own = plain(value)
    return str(value) if own is value else own


def _unscored(plan: Prepared, folder: RunFolder, outcome: Outcome) -> Report:
    code = 130 if outcome.interrupted else 3 if outcome.failed or outcome.stopped else 0
    problems = _problems({}, outcome)
    return Report({}, folder.path, code, [], [*plan.notes, "nothing was scored: --predict_only"], problems)


def _notes(plan: Prepared, state: JournalState, outcome: Outcome) -> list[str]:
    notes = list(plan.notes)
    if parts := [f"{asked} of {all_docs} docs of {name}" for name, (asked, all_docs) in plan.in_part.items()]:
        more = f" and of {len(parts) - 4} more tasks" if len(parts) > 4 else ""
        notes.append(f"only {', '.join(parts[:4])}{more} were asked: no result on a benchmark")
    if outcome.reused and not outcome.requested and not outcome.failed:
        notes.append(f"all {outcome.reused} answers were in the run folder already; nothing was asked")
    elif outcome.reused:
        notes.append(
            f"went on with an earlier launch: {outcome.reused} answers were there, {outcome.requested} were asked"
        )
    if outcome.cached:
        notes.append(f"{outcome.cached} answers came from --use_cache {plan.request.use_cache}")
    if outcome.shared:
        notes.append(f"{outcome.shared} requests equal another one of this run and were not asked twice")
    if plan.model is not None and (account := plan.model.account(state.usage)):
        notes.append(account)
    if state.damaged:
        notes.append(
            f"{state.damaged} damaged journal lines count for nothing; `mm-eval run` asks again what they held"
        )
    return notes


def _problems(scores: dict[str, TaskScores], outcome: Outcome) -> list[str]:
    stopped: list[MMEvalError] = [outcome.stopped] if outcome.stopped else []
    shown = [f"stopped early: {error.owner} error: {error}" for error in stopped]
    for name, task_scores in scores.items():
        if task_scores.failed:
            shown.append(f"{name}: {task_scores.failed} of {task_scores.n} docs failed and are in no number:")
            shown += [f"  {error}" for error in task_scores.errors]
        if task_scores.not_requested:
            what = (
                f"{name}: {task_scores.not_requested} of {task_scores.n} docs were not requested and are in no number"
            )
            shown.append(f"{what}; the command that began this run requests them")
        shown += [f"{name}: {key} has no value (see the notes)" for key in task_scores.missing]
    return shown
