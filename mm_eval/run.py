"""A run from top to bottom: prepare -> answers -> verdicts -> scores -> groups -> results on disk. The first file to read.

evaluate   RunRequest -> Prepared -> Report
run        requests what has no answer yet, then what has no verdict; each is in the journal before it is counted
score      reads answers and verdicts from the journal, so that a recorded run is scored again without its model
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.engine.ask import Asker, Outcome, StopSignal, model_boundary
from mm_eval.engine.cache import opened_cache
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import Journal, JournalState, read_journal
from mm_eval.engine.launch import Processes, processes
from mm_eval.engine.order import in_cheapest_order
from mm_eval.engine.progress import Progress, Silent
from mm_eval.engine.ranks import Launch, launched
from mm_eval.engine.spans import answering
from mm_eval.errors import ConfigError, MMEvalError, StoreError
from mm_eval.json_text import encoder
from mm_eval.judging.asking import ask_judges
from mm_eval.judging.code import verdicts_of
from mm_eval.judging.judges import check_stated, for_scoring, identity_of, joined_judges, record_judges
from mm_eval.judging.preflight import Tried, try_judges
from mm_eval.notes import notes_of, problems_of
from mm_eval.pending import find_pending
from mm_eval.prepare import OpenedTasks, Prepared, prepare, prepare_from_spec
from mm_eval.report.html import write_report
from mm_eval.report.thumbnails import Media, pictures_of, thumbnails_of_requests, write_thumbnails
from mm_eval.request import DEFAULT_MODEL, RunRequest, failure_limit
from mm_eval.runs.protocols.verdicts import protocol_results
from mm_eval.runs.recorded import RecordedRun, sample_name
from mm_eval.runs.results import assemble, environment
from mm_eval.runs.submission import Submission
from mm_eval.scorers.judged import with_judges
from mm_eval.scorers.score_task import TaskScores, TaskScoring
from mm_eval.types import plain
from mm_eval.under_protocol import compared_with

__all__ = ["Progress", "Report", "RunRequest", "Silent", "evaluate", "run", "score"]

NOT_JUDGED = "not judged: the numbers that a judge gives are left out (--no_judge)."


@dataclass
class Report:
    """What a run came to.

    results: results.json as a mapping, empty where nothing was scored. order: the rows of the table with their depth.
    exit_code: 0 everything was answered and scored, 3 some requests failed, 130 interrupted.
    notes: what a reader of the table should know. problems: what failed.
    silent: this process is one of several and not the one that reports.
    categories: the table shows every category, however many there are.
    """

    results: dict[str, Any]
    folder: Path
    exit_code: int
    order: list[tuple[str, int]]
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    silent: bool = False
    categories: bool = False


def evaluate(request: RunRequest, progress: Progress | None = None) -> Report:
    """Runs an evaluation, or resumes one, and returns its report.

    Errors: ConfigError when nothing was requested. What fails later is in the report and in its exit code.
    """
    progress = progress or Silent()
    started = time.time()
    if request.output_path and processes().leads:
        RunFolder(Path(request.output_path)).refuse_if_held()
    prepared = prepare(request, progress.phase)
    with closing(prepared.model):
        prepared.check_generation()  # before the weights are loaded, which may take minutes
        return run(prepared, progress, started)


def run(prepared: Prepared, progress: Progress | None = None, started: float | None = None) -> Report:
    """Makes the requests that have no answer yet, and scores. Several prepared runs may share one model.

    The model is loaded before a new folder is made, so that a model that can't be loaded leaves no folder. A folder with
    answers may be complete: there the first request that reaches the model loads it.
    """
    progress, started = progress or Silent(), started or time.time()
    spec, own = prepared.spec(), processes()
    folder = RunFolder(Path(prepared.request.output_path or default_folder(prepared.request, spec)))
    tried = Tried()
    if own.leads and prepared.judges:
        if _has_local_judge(prepared):
            prepared.model.close()  # workers that were started to describe it
        tried = try_judges(prepared, _read_journal(folder), progress.phase)
    if own.count == 1:
        tried.check()
    if not folder.has_answers and tried.error is None and not prepared.earlier:
        progress.phase("model")
        prepared.model.prepare_once()

    asked = list(prepared.judges)

    def claim() -> None:
        tried.check()  # so that all processes of the launch get the error
        folder.claim(spec, prepared.request.to_json(), prepared.model.machine())
        if own.leads:  # once a launch: it may read every picture file
            folder.hold_files(prepared.picture_files)
            if not prepared.request.no_judge:
                prepared.judges = joined_judges(folder, asked)
                record_judges(folder, prepared.judges)

    with launched(own, folder, claim) as launch:
        state = _read_journal(folder)
        launch.all_have_read()
        outcome = _answer(prepared, folder, state, tried, progress if own.leads else Silent(), launch)
        if not own.leads:
            return Report({}, folder.path, 130 if outcome.interrupted else 0, [], silent=True)
        if prepared.request.predict_only:
            notes = [*prepared.notes, "nothing was scored: --predict_only"]
            code = _exit_code(outcome, outcome.failed)
            return Report({}, folder.path, code, [], notes, problems_of({}, outcome))
        state = state if own.count == 1 else _read_journal(folder)  # with the answers of the other processes
        return _report(prepared, folder, state, outcome, spec, started, progress)


def score(
    folder_path: Path,
    bootstrap_iters: int = 100_000,
    progress: Progress | None = None,
    judging: Mapping[str, Any] | None = None,
    protocol: str | None = None,
) -> Report:
    """Scores a recorded run again. No model is needed: the journal holds its answers.

    judging: the options about judges, as fields of `RunRequest`; a judge is asked for the verdicts that the journal lacks.
    protocol: the named protocol that a run without one is compared with.
    """
    progress, folder = progress or Silent(), RunFolder(folder_path)
    recorded = folder.read("run.json")
    if recorded is None:
        hint = "Give a folder with a run.json."
        raise ConfigError("there is no run in this folder.", where=str(folder_path), hint=hint)
    request = RunRequest.from_json({**recorded["request"], "bootstrap_iters": bootstrap_iters})
    request = for_scoring(compared_with(request, protocol), judging or {})
    opened, outcome = prepare_from_spec(request, recorded["spec"]), Outcome()
    with folder.locked():
        folder.hold_files(opened.picture_files)
        asked = opened.judges
        opened.judges = [] if (judging or {}).get("no_judge") else joined_judges(folder, asked)
        check_stated(request, {name: task.config for name, task in opened.tasks.items()}, opened.judges)
        state = _read_journal(folder)
        if asked:
            tried = try_judges(opened, _read_journal(folder), progress.phase)
            tried.check()
            record_judges(folder, opened.judges)
            with StopSignal().listening() as stop, closing(_open_journal(folder)) as journal:
                tried.write(journal, state)
                ask_judges(opened, state, journal, opened.doc_ids, outcome, stop, progress)
        return _report(opened, folder, state, outcome, recorded["spec"], time.time(), progress)


def default_folder(request: RunRequest, spec: dict[str, Any]) -> str:
    """runs/<model>-<tasks>-<digest of the spec>: the same command finds its own run again."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8]
    words = "-".join([request.model or DEFAULT_MODEL, *request.tasks])
    return f"runs/{re.sub(r'[^A-Za-z0-9_.-]+', '-', words)[:80]}-{digest}"


def _answer(
    prepared: Prepared,
    folder: RunFolder,
    state: JournalState,
    tried: Tried,
    progress: Progress,
    launch: Launch,
) -> Outcome:
    """Makes this process's pending requests, then judges its docs. Rank 0 waits for the other processes of the launch."""
    own = launch.own
    pending = find_pending(prepared, state, own)
    fail_at = failure_limit(prepared.request.fail_on_error, pending.total)
    outcome = Outcome(reused=pending.answered)
    progress.priced(lambda: spent(prepared, state))
    progress.start("answering", pending.share - pending.answered)
    with StopSignal().listening() as stop:
        with closing(_open_journal(folder)) as journal:
            tried.write(journal, state)

            def elsewhere() -> int:
                return launch.failed_elsewhere(outcome.counts())

            media = _thumbnails(prepared, folder, own)
            with media, opened_cache(prepared.request.use_cache, prepared.model, prepared.earlier) as cache:
                asker = Asker(prepared.model, journal, state, stop, progress.tick, fail_at, cache, outcome, elsewhere)
                asker.ask(in_cheapest_order(pending.instances()))
            progress.stop()
            if prepared.judges and not asker.halted:
                if _has_local_judge(prepared):
                    prepared.model.close()  # its memory is needed for the judge
                ask_judges(prepared, state, journal, pending.mine, outcome, stop, progress, elsewhere, own.count)
        with model_boundary(outcome):
            outcome.add(launch.others(outcome.counts(), lambda: stop.requested))
        if own.leads and own.count > 1:
            outcome.interrupted = outcome.interrupted or stop.requested
            if fail_at is not None:
                outcome.hold_to(fail_at)
    return outcome


def spent(opened: Prepared, state: JournalState) -> float | None:
    """The dollars that all answers and verdicts of a run folder have cost so far; None where a server's prices are unknown."""
    used = [(opened.model, state.usage)]
    used += [(judge.model, state.judge_usage.get(judge.name, {})) for judge in opened.judges if judge.model is not None]
    costs = [model.dollars(tokens) for model, tokens in used]
    return None if None in costs else sum(cost for cost in costs if cost is not None)


def _has_local_judge(prepared: Prepared) -> bool:
    return any(judge.model and judge.model.local for judge in prepared.judges)


def _read_journal(folder: RunFolder) -> JournalState:
    """The answers that are recorded. Raises ConfigError if the journal is unreadable."""
    try:
        return read_journal(folder.path)
    except StoreError as error:
        raise ConfigError(error.what, where=error.where, hint=error.hint) from error


def _thumbnails(prepared: Prepared, folder: RunFolder, own: Processes) -> AbstractContextManager[None]:
    """Makes the page's thumbnails from the pictures of the requests, where one process makes them all."""
    request = prepared.request
    if not request.report or request.predict_only or own.count > 1:
        return nullcontext()
    return thumbnails_of_requests(folder.path, prepared.tasks.values())


def _open_journal(folder: RunFolder) -> Journal:
    try:
        return Journal(folder.path)
    except OSError as error:
        raise ConfigError(f"the journal can't be opened: {error.strerror}.", where=str(folder.path)) from error


def _report(
    opened: OpenedTasks,
    folder: RunFolder,
    state: JournalState,
    outcome: Outcome,
    spec: dict[str, Any],
    started: float,
    progress: Progress,
) -> Report:
    """Scores every task from the journal; writes samples/, results.json and report.html."""
    scores, submissions = _score_tasks(opened, folder, state, progress)
    state.forget()  # the page is made from samples/, and reading them needs the memory
    results, order = assemble(opened, scores)
    if submissions:
        results["submissions"] = {each.name: each.to_json() for each in submissions}
    machine = (folder.read("run.json") or {}).get("machine", {})
    results["run"] = {**environment(opened, spec, started), **machine, "answering": answering(folder.path)}
    results["run"]["usage"] = dict(sorted(state.usage.items()))
    if isinstance(opened, Prepared):
        results["run"].update(opened.model.ran_on())
    if state.judge_usage:
        results["run"]["judge_usage"] = state.judge_usage
    if (under_protocol := protocol_results(opened, results)) is not None:
        results["protocol"] = under_protocol
    folder.write("results.json", json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False))
    failed = sum(each.failed + each.not_requested + each.judge_failures + len(each.missing) for each in scores.values())
    failed += sum(each.failed for each in submissions)
    code, notes = _exit_code(outcome, failed), notes_of(opened, state, outcome)
    notes += [each.note(folder.path) for each in submissions]
    if opened.request.report and not outcome.interrupted:
        notes += _write_page(opened, folder, progress)
    problems = [*problems_of(scores, outcome), *(problem for each in submissions for problem in each.problems())]
    return Report(results, folder.path, code, order, notes, problems, categories=opened.request.categories)


def _score_tasks(
    opened: OpenedTasks, folder: RunFolder, state: JournalState, progress: Progress
) -> tuple[dict[str, TaskScores], list[Submission]]:
    """Scores doc by doc into samples/<task>.jsonl, then aggregates; writes the submission files."""
    progress.start("scoring", sum(map(len, opened.doc_ids.values())))
    encode = encoder(ensure_ascii=False, default=_json_value)
    scores: dict[str, TaskScores] = {}
    submissions: list[Submission] = []
    for name, task in opened.tasks.items():
        sources = {judge.name: verdicts_of(task, judge.name, state.slots.get) for judge in opened.judges}
        scorers = with_judges(task.config, opened.scorers[name], sources)
        scoring = TaskScoring(task, opened.styles[name], scorers, state.slots.get)
        rows = _counted(scoring.samples(opened.doc_ids[name]), progress)
        if task.config.submission is not None:
            submissions.append(Submission(name, task.config.submission))
            rows = submissions[-1].reading(rows)
        folder.write_lines(f"samples/{sample_name(name)}.jsonl", map(encode, rows))
        scores[name] = scoring.aggregate(opened.request.bootstrap_iters)
        if task.config.judged is not None:
            models = {judge.name: sources[judge.name].models for judge in opened.judges}
            scores[name].judges = [identity_of(judge, task, models[judge.name]) for judge in opened.judges]
            if not opened.judges:
                scores[name].notes.insert(0, NOT_JUDGED)
    for each in submissions:
        folder.write_lines(each.file, each.lines())
    progress.stop()
    return scores, submissions


def _json_value(value: Any) -> Any:
    """A value that JSON does not have: numpy's as Python's number, any other one as text."""
    own = plain(value)
    return str(value) if own is value else own


def _counted(rows: Iterator[dict[str, Any]], progress: Progress) -> Iterator[dict[str, Any]]:
    for row in rows:
        progress.tick(1, 0)
        yield row


def _write_page(opened: OpenedTasks, folder: RunFolder, progress: Progress) -> list[str]:
    """Writes thumbnails and report.html. They are derived: a failure is reported as a note; the results stand."""
    recorded = RecordedRun.read(folder.path)
    try:
        pictured = {name: task for name, task in opened.tasks.items() if task.has_pictures}
        progress.start("thumbnails", sum(len(opened.doc_ids[name]) for name in pictured))
        with Media(folder.path) as media:
            for name, task in pictured.items():
                rows = _counted(recorded.rows(name), progress)
                write_thumbnails(media, task, opened.styles[name], pictures_of(rows))
        progress.stop()
        progress.phase("report")
        return [f"report: {write_report(recorded)}"]
    except Exception as error:  # pictures are foreign bytes, and no failure here may cost the results
        what = str(error) if isinstance(error, (OSError, MMEvalError)) else f"{type(error).__name__}: {error}"
        return [f"no report.html could be written: {what}"]


def _exit_code(outcome: Outcome, failed: int) -> int:
    stopped = outcome.stopped or outcome.verdicts and outcome.verdicts.stopped
    return 130 if outcome.interrupted else 3 if failed or stopped else 0
