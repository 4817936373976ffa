"""A run from top to bottom: prepare -> answers -> scores -> results on disk. The first file to read.

evaluate   RunRequest -> Prepared -> Report
run        claims the folder, requests what has no answer yet (`_answer`), scores (`_score_and_write`)
score      scores a recorded run again, without its model: `_score_and_write` reads all answers from the journal
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.engine.ask import Asker
from mm_eval.engine.cache import cache_notes, open_cache
from mm_eval.engine.folder import PICTURES, PartSpec, RunFolder, changed_tasks, entry_of, findings_of
from mm_eval.engine.journal import Journal, JournalState, read_journal
from mm_eval.engine.launch import Launch, Processes, launched, processes
from mm_eval.engine.model import (
    Model,
    close_model,
    closing_model,
    dollars,
    expect,
    measured,
    prepare_once,
    recall,
    recall_threads,
)
from mm_eval.engine.order import WINDOW_PIXELS, CheapestOrder
from mm_eval.engine.outcome import Outcome, StopSignal, failure_limit, model_boundary
from mm_eval.engine.prices import budget_check
from mm_eval.engine.progress import Progress
from mm_eval.first_scores import first_scores, show_scores
from mm_eval.gold_checks.fixes import FixedGolds, fix_golds
from mm_eval.open_run import OpenedRun
from mm_eval.open_tasks import Asking, OpenedTasks, Pass
from mm_eval.pending import Pending, find_pending
from mm_eval.prepare import Prepared, check_same_questions, is_imported, prepare, prepare_from_spec
from mm_eval.request import DEFAULT_MODEL, RunRequest, ScoreOptions, named_tasks
from mm_eval.results.assemble import assemble
from mm_eval.results.file import part_of, read_run, results_json
from mm_eval.scoring.answered_by import versions
from mm_eval.scoring.run_results import INTERRUPTED, PARTIAL, Report, RunFacts
from mm_eval.trust import trusted_request
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError
from mm_eval.values.reasoning.families import Marks, marks_of
from mm_eval.values.reasoning.recorded import Reading
from mm_eval.write_run import (
    further_problems,
    is_incomplete,
    leave_without_page,
    notes_of,
    problems_of,
    run_facts,
    score_tasks,
    spent,
    thumbnails,
    with_room,
    write_page,
)

if TYPE_CHECKING:
    from mm_eval.deciding.record import Record

WARM = 2
"""Interpreters that are started ahead."""

__all__ = ["Progress", "Report", "RunRequest", "evaluate", "run", "score"]


def evaluate(request: RunRequest, progress: Progress | None = None, given: Model | None = None) -> Report:
    """Runs an evaluation, or resumes one, and returns its report.

    The order of a start: names, settings and arguments are checked, data is opened and the first docs are made (`prepare`); an
    endpoint is asked what it can do (`check_generation`); the walls of a sandbox are tried, then the judges; weights are loaded;
    the folder is claimed and run.json written; what the journal lacks is asked.

    given: the model, where the caller has one; it is not closed.
    Errors: ConfigError when nothing was requested. What fails later is in the report and in its exit code.
    """
    progress = progress or Progress()
    started = time.monotonic()
    if request.output_path and processes().leads:
        RunFolder(Path(request.output_path)).refuse_if_held()
    prepared = prepare(request, progress.phase, given)
    with closing_model(prepared.model) if given is None else nullcontext():
        if request.output_path and prepared.model.facts.tries_first:
            recall(prepared.model, RunFolder(Path(request.output_path)).findings())  # known ones are not asked again
        prepared.check_generation()  # before the weights are loaded, which may take minutes
        return run(prepared, progress, started)


def run(prepared: Prepared, progress: Progress | None = None, started: float | None = None) -> Report:
    """Makes the requests that have no answer yet, and scores. Several prepared runs may share one model.

    The model is loaded before a new folder is made, so that a model that can't be loaded leaves no folder, and before more tasks
    or docs are added to one, which removes its numbers. Any other folder with answers may be complete: there the first request
    that reaches the model loads it.
    """
    progress, started, own = progress or Progress(), started or time.monotonic(), processes()
    folder, spec = _folder_and_spec(prepared)
    # what can't be asked must not cost the numbers of a folder that would grow
    grows = own.count == 1 and folder.has_answers and folder.grows(spec, prepared.request.to_json(), _part_of(prepared))
    begins = grows or not folder.has_answers
    if begins:
        _try_walls(prepared)
    refusal = _try_judges(prepared, folder, progress)
    if grows and prepared.judging:
        prepared.judging.join(prepared, folder)
    if refusal is None and begins and prepared.answers_of_other_runs is None:
        progress.phase("model")
        prepare_once(prepared.model)
    with launched(own, folder, partial(_claim, prepared, folder, spec, refusal, progress)) as launch:
        if own.count == 1 and (kept := _finished_report(prepared, folder, spec)) is not None:
            return kept
        begun = folder.read("run.json")
        recall(prepared.model, findings_of(begun))
        prepared.identify_by_files(entry_of(begun, PICTURES))
        state = _read_journal(folder, prepared)
        launch.all_have_read()
        changed = changed_tasks(begun, prepared.configs)
        outcome = _answer(prepared, folder, state, progress if own.leads else Progress(), launch, changed)
        if not own.leads:
            return Report(None, folder.path, INTERRUPTED if outcome.interrupted else 0, [], silent=True)
        if prepared.model.facts.threads:
            _check_folder(folder)
            folder.add_to_entry("machine", {"threads": prepared.model.facts.threads})
        recorded = _recorded(folder)
        if prepared.request.predict_only or outcome.waiting:
            return _unscored(prepared, folder, outcome)
        state = _read_journal(folder, prepared) if own.count > 1 else state  # with the answers of the other processes
        stopped = prepared.deciding.stop_record if prepared.deciding else None
        return _score_and_write(prepared, folder, recorded, state, outcome, spec, started, progress, stopped)


def score(
    folder_path: Path,
    bootstrap_iters: int = 100_000,
    progress: Progress | None = None,
    options: ScoreOptions | None = None,
    include_path: str | None = None,
    reasoning_tags: str | None = None,
) -> Report:
    """Scores a recorded run again. No model is needed: the journal holds its answers.

    options: the judge, protocol and trackers of now. A judge is asked for the verdicts that the journal lacks.
    include_path: a folder with task code that is trusted. Task code comes from there and from the installation, whatever the
        folder says. UntrustedCode where the run needs other code.
    reasoning_tags: the marks around the reasoning, in place of those of the run.
    """
    progress, folder = progress or Progress(), RunFolder(folder_path)
    recorded = read_run(folder_path)
    request = trusted_request({**recorded["request"], "bootstrap_iters": bootstrap_iters}, include_path, folder_path)
    of_adapter = marks_of(request.reasoning_tags)
    if reasoning_tags is not None:
        request = replace(request, reasoning_tags=reasoning_tags)
    options = options or ScoreOptions()
    request = _as_scored_now(request, options)
    other_data: list[str] = []
    without_judges = options.judge is not None and options.judge.left_out
    opened, outcome = prepare_from_spec(request, recorded["spec"], other_data, without_judges), Outcome()
    with folder.locked():
        folder.hold_files(opened.picture_files)
        if opened.judging:
            opened.judging.join(opened, folder)
        stopped = _recorded_looks(folder, opened)
        state = _read_journal(folder, opened, of_adapter)
        _refuse_mixed(folder, state)
        if other_data:
            check_same_questions(opened, other_data, recorded, state)
        fixes = fix_golds(opened, Path(options.gold_fixes)) if options.gold_fixes else None
        if opened.judging and opened.judging.named_now:
            _try_judges(opened, folder, progress)
            opened.judging.record(folder)
            with StopSignal().listening() as stop, closing(_open_journal(folder)) as journal:
                opened.judging.keep(journal, state)
                opened.judging.ask(opened, Asking(folder, state, journal, outcome, stop, progress), opened.doc_ids)
            recorded = _recorded(folder)
        started = time.monotonic()
        spec = recorded["spec"]
        return _score_and_write(opened, folder, recorded, state, outcome, spec, started, progress, stopped, fixes)


def _as_scored_now(request: RunRequest, options: ScoreOptions) -> RunRequest:
    """A recorded request as its answers are scored again: with its own data, and the judge, protocol and trackers of now."""
    from mm_eval.judge.judges import for_scoring
    from mm_eval.protocols.run_under import compared_with

    if is_imported(request):
        from mm_eval.imported.theirs import with_own_data

        request = with_own_data(request)
    return replace(compared_with(for_scoring(request, options.judge), options.protocol), trackers=options.trackers)


def _recorded_looks(folder: RunFolder, opened: OpenedTasks) -> Record | None:
    """Where a recorded run stopped before all docs were asked; None for one that did not. ConfigError for a damaged record."""
    from mm_eval.deciding.record import Record

    return Record.read(folder, opened)


def default_folder(request: RunRequest, spec: dict[str, object]) -> RunFolder:
    """runs/<model>-<tasks>-<digest of the spec>: the same command finds its own run again, also when its scoring has changed."""
    digest, words = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:8], _words_of(request)
    return RunFolder(Path(f"runs/{words}-{digest}")).or_its_like(spec, f"{words}-????????")


def _words_of(request: RunRequest) -> str:
    """Model and tasks, for the name of a folder."""
    words = "-".join([request.model or DEFAULT_MODEL, *named_tasks(request.tasks)])
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", words)[:80]


def _begun_earlier(prepared: Prepared) -> tuple[RunFolder, dict[str, object]] | None:
    """The newest default folder of the same command on an earlier day, where prompts hold the date, and its spec."""
    today = measured(prepared.model).constants
    if "date" not in today:
        return None
    found = Path("runs").glob(f"{_words_of(prepared.request)}-????????/run.json")
    for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True):
        with suppress(MMEvalError, OSError):
            folder = RunFolder(path.parent)
            expect(prepared.model, folder.entry("constants"))
            if default_folder(prepared.request, spec := prepared.spec()).path == folder.path:
                return folder, spec
    expect(prepared.model, today)
    return None


def _folder_and_spec(prepared: Prepared) -> tuple[RunFolder, dict[str, object]]:
    """Where a run is recorded, and its spec. The model gets what earlier launches in the folder found out of it."""
    if path := prepared.request.output_path:
        folder = RunFolder(Path(path))
        known = folder.read("run.json")
        expect(prepared.model, entry_of(known, "constants"))
        spec = prepared.spec()
    else:
        spec = prepared.spec()
        folder = default_folder(prepared.request, spec)
        if not folder.path.exists() and (begun := _begun_earlier(prepared)):
            folder, spec = begun
        known = folder.read("run.json")
    recall_threads(prepared.model, entry_of(known, "machine"))
    return folder, spec


def _try_walls(prepared: Prepared) -> None:
    """ConfigError where a sandbox that the run needs has an open wall. A process tries each sandbox once."""
    if prepared.sandbox is not None:
        from mm_eval.sandbox.check import refuse_if_open

        refuse_if_open(prepared.sandbox)


def _try_judges(opened: OpenedRun, folder: RunFolder, progress: Progress) -> MMEvalError | None:
    """Asks each judge about a gold and an empty answer, before the first request.

    Raises why the run can't begin. Of several processes the first one returns it, to be raised when all
    of them claim the folder. A recorded run is scored by one process, also within a launch of several.
    """
    judging, own = opened.judging, processes() if isinstance(opened, Prepared) else Processes()
    if judging is None or not judging.named_now:
        return None
    judging.recall(folder)
    if not own.leads:
        return None
    if opened.request.ray.executor and judging.needs_memory and isinstance(opened, Prepared):
        close_model(opened.model)  # workers that were started to describe it
    refusal = judging.try_all(opened, _read_journal(folder, opened), progress.phase)
    if refusal is not None and own.count == 1:
        raise refusal
    return refusal


def _part_of(prepared: Prepared) -> PartSpec | None:
    """The spec of a part of a run; None for one that continues no part of it."""
    return None if prepared.deciding or prepared.imported else prepared.spec_of_part


def _claim(
    prepared: Prepared,
    folder: RunFolder,
    spec: dict[str, object],
    refusal: MMEvalError | None,
    progress: Progress,
) -> None:
    """Makes a folder that of this run, and writes run.json. refusal: why the run can't begin, which all processes learn here."""
    if refusal is not None:
        raise refusal
    facts, leads = measured(prepared.model), processes().leads

    def by_files(tasks: Collection[str]) -> list[str]:
        progress.phase("pictures")
        return prepared.all_stored(tasks)

    folder.claim(spec, prepared.request.to_json(), facts.machine, facts.constants, leads, _part_of(prepared), by_files)
    if leads:  # once a launch: it may read every picture file
        folder.hold_files(prepared.picture_files)
        if prepared.judging:
            prepared.judging.join(prepared, folder)  # the judges of earlier launches stay
            prepared.judging.record(folder)
        if not prepared.deciding and any(os.path.lexists(folder.path / name) for name in ("looks", "looks.json")):
            from mm_eval.deciding.looks import forget

            forget(folder)  # this launch continues to all docs


def _finished_report(prepared: Prepared, folder: RunFolder, spec: dict[str, object]) -> Report | None:
    """The report of an earlier launch that finished the run, where its numbers are made of what there is now."""
    from mm_eval.finished import load_finished

    report = load_finished(prepared, folder, spec)
    if report is not None and prepared.tracking:
        report.notes += prepared.tracking.send(folder.path)
    return report


def _answer(
    prepared: Prepared,
    folder: RunFolder,
    state: JournalState,
    progress: Progress,
    launch: Launch,
    changed: Sequence[str],
) -> Outcome:
    """Makes this process's pending requests, then asks its judges. Rank 0 waits for the other processes.

    changed: tasks whose file or functions are not those that the run began with.
    """
    own, model, request = launch.own, prepared.model, prepared.request
    judging, deciding = prepared.judging, prepared.deciding
    pending = find_pending(prepared, state, launch, changed)
    fail_at = failure_limit(request.fail_on_error, pending.total)
    outcome = Outcome(reused=pending.answered)
    progress.priced(lambda: spent(prepared, state))

    def elsewhere() -> int:
        return launch.failed_elsewhere(outcome.counts())

    def dollars_of_answers() -> float:
        return dollars(model, state.usage) or 0.0

    with StopSignal().listening() as stop:
        with (
            closing(_open_journal(folder)) as journal,
            thumbnails(prepared, folder, own) as journal.make_room,
            open_cache(request.use_cache, model, prepared.answers_of_other_runs) as cache,
            _interpreters(prepared, folder, journal, state, pending.share - pending.answered),
        ):
            prepared.notes += cache_notes(request.use_cache, model) if prepared.answers_of_other_runs is None else []
            if judging:
                judging.keep(journal, state)
            over = budget_check(dollars_of_answers, request.budget, "--budget", "the answers have", own.count)
            asker = Asker(model, journal, state, stop, progress.tick, fail_at, cache, outcome, elsewhere, over)
            asker.keep = folder.keep_findings
            progress.tasks({name: pending.requests_of(name) for name in prepared.tasks})
            asker.settled = first_scores(prepared, state, pending, progress) or asker.settled
            asking = Asking(folder, state, journal, outcome, stop, progress, elsewhere, own.count)
            for each in deciding.passes(prepared, asking, pending) if deciding else _passes(prepared, pending):
                progress.start("answering", pending.share - pending.answered - outcome.answered)
                asker.ask(each.requests)
                progress.stop()
                if asker.halted:
                    break
                if judging and judging.named_now:
                    if judging.needs_memory and not prepared.given:
                        close_model(model)  # two models do not fit
                    judging.ask(prepared, asking, each.doc_ids)
        with model_boundary(outcome):
            outcome.add(launch.others(outcome.counts(), lambda: stop.requested))
        if own.leads and own.count > 1:
            outcome.interrupted = outcome.interrupted or stop.requested
            if fail_at is not None:
                outcome.hold_to(fail_at)
    return outcome


def _passes(prepared: Prepared, pending: Pending) -> Iterator[Pass]:
    """All pending requests at once; or those of each repeat."""
    pixels = WINDOW_PIXELS if measured(prepared.model).sends_files else None
    if not prepared.repeats_apart:
        yield Pass(CheapestOrder(pending.instances(), pixels=pixels), pending.mine)
        return
    for repeat in range(max(config.times_asked for config in prepared.configs.values())):
        apart = (each for each in pending.instances() if each.repeat == repeat)
        yield Pass(CheapestOrder(apart, pixels=pixels), pending.mine)


def _interpreters(
    prepared: Prepared, folder: RunFolder, journal: Journal, state: JournalState, pending: int
) -> AbstractContextManager[object]:
    """Lets the tasks run code of the model while they are asked; nothing where none offers it.

    pending: docs without an answer. ConfigError where a wall of the sandbox is open.
    """
    if prepared.sandbox is None or not pending:
        return nullcontext()
    from mm_eval.tools.turns import running_code

    _try_walls(prepared)
    return running_code(prepared, prepared.sandbox, folder.path, journal, state, min(WARM, pending - 1))


def _read_journal(folder: RunFolder, opened: OpenedTasks, of_adapter: Marks | None = None) -> JournalState:
    """The answers that are recorded. Raises ConfigError if the journal is unreadable.

    of_adapter: the marks around the reasoning that the adapter knew, if others than those of the request.
    """
    try:
        state = read_journal(folder.path, opened.conversations)
    except StoreError as error:
        raise ConfigError(error.what, where=error.where, hint=error.hint) from error
    marks = marks_of(opened.request.reasoning_tags)
    of_tasks = {
        task.path: task.config.marks(marks) for task in opened.tasks.values() if task.config.reasoning_tags is not None
    }
    state.reading = Reading(marks, of_tasks=of_tasks, of_adapter=of_adapter)
    return state


def _refuse_mixed(folder: RunFolder, state: JournalState) -> None:
    """ConfigError where a journal has answers to two questions for one doc."""
    if state.mixed is not None:
        what = (
            "the journal has answers to two different questions for one document: one of its files is from another run."
        )
        hint = "Move that file out of the journal; or repeat the run's command, which uses the answers to its own questions."
        where = f"{folder.path / 'journal'}, {state.mixed.task} doc {state.mixed.doc_id}"
        raise ConfigError(what, where=where, hint=hint)


def _open_journal(folder: RunFolder) -> Journal:
    try:
        return Journal(folder.path)
    except OSError as error:
        where, hint = str(error.filename or folder.path), "Make room for it, or choose another --output_path."
        raise ConfigError(f"the journal can't be opened: {error.strerror}.", where=where, hint=hint) from error


def _recorded(folder: RunFolder) -> dict[str, object]:
    """run.json as it is after the answers. Errors: as of `_check_folder`."""
    _check_folder(folder)
    return folder.read("run.json") or {}


def _check_folder(folder: RunFolder) -> None:
    """StoreError where the folder is no longer in its place: what is written by its name would make another one."""
    if not os.path.lexists(folder.path / "run.json"):
        what = "the run folder was moved or removed while the run wrote to it."
        hint = "The recorded answers are where it was moved to: `mm-eval score` scores them there."
        raise StoreError(what, where=str(folder.path), hint=hint)


def _unscored(prepared: Prepared, folder: RunFolder, outcome: Outcome) -> Report:
    """The report of a run that has answers and no numbers."""
    code = _exit_code(outcome, outcome.failed > 0)
    if outcome.waiting:
        return Report(None, folder.path, code, [], waiting=outcome.waiting)
    notes = [*prepared.notes, "nothing was scored: --predict_only"]
    return Report(None, folder.path, code, [], notes, problems_of({}, outcome, further_problems(prepared, {}, outcome)))


def _score_and_write(
    opened: OpenedRun,
    folder: RunFolder,
    recorded: Mapping[str, object],
    state: JournalState,
    outcome: Outcome,
    spec: dict[str, object],
    started: float,
    progress: Progress,
    stopped: Record | None,
    fixes: FixedGolds | None = None,
) -> Report:
    """Scores every task from the journal, and writes what a run leaves.

    In this order: samples/, submissions/, results.json, report.html, finished.json; then the trackers get the numbers.

    recorded: run.json. stopped: where the run stopped on purpose before all docs were asked. fixes: of golds.
    """
    if stopped:
        opened = replace(opened, doc_ids={**opened.doc_ids, **stopped.docs})
    if fixes is not None:
        opened = fixes.without_dropped(opened)
    before = RunFacts(part_of(folder.path, "run"))
    changed = changed_tasks(recorded, opened.configs)
    folder.drop_numbers_of_others(opened.configs, before.scored_by, changed)
    scores = score_tasks(opened, folder, state, progress)
    _check_folder(folder)
    state.forget()  # the page is made from samples/, and reading them needs the memory
    results, order = assemble(opened.loaded, opened.tasks, scores)
    if progress.shows_scores and not outcome.interrupted:
        show_scores(results, opened.loaded.roots, progress)
    results.run = RunFacts(run_facts(opened, folder, recorded, state, scores, spec, started, before.cost))
    if opened.imported:
        opened.imported.add_to(results, opened.request.name)
    if fixes is not None:
        fixes.mark(results)
    if opened.judging:
        opened.judging.add_to(results, opened, folder, state)
    if opened.request.protocol.name is not None:
        from mm_eval.protocols.verdicts import protocol_results

        results.protocol = protocol_results(opened, results)  # after the judges: a verdict names who judged
    if stopped:
        stopped.mark(results)
    if opened.submissions:
        results.submissions = opened.submissions.write(folder)
    text = json.dumps(results_json(results), indent=2, ensure_ascii=False, allow_nan=False)
    with_room(folder, lambda: folder.write("results.json", text))
    writes_page = opened.request.report and not outcome.interrupted
    left, is_whole = write_page(opened, folder, recorded, results, progress) if writes_page else ([], True)
    if outcome.interrupted and outcome.all_requested:
        leave_without_page(folder)
    further = further_problems(opened, scores, outcome)
    said = [note] if (note := versions(results.run.answered_by)) else []
    report = Report(
        results,
        folder.path,
        _exit_code(outcome, is_incomplete(opened, scores, further)),
        order,
        notes_of(opened, state, outcome, changed, stopped, scores) + said + left,
        problems_of(scores, outcome, further),
        categories=opened.request.categories,
        requested=outcome.all_requested,
    )
    if isinstance(opened, Prepared) and processes().count == 1:
        again = (
            notes_of(opened, state, Outcome(reused=outcome.reused + outcome.answered), changed, stopped, scores)
            + said
            + left
        )
        if is_whole:  # else the same command writes the page
            from mm_eval.finished import save_finished

            save_finished(opened, folder, spec, replace(report, notes=again))
    if opened.tracking and not outcome.interrupted:
        report.notes += opened.tracking.send(folder.path)
    return report


def _exit_code(outcome: Outcome, incomplete: bool) -> int:
    return INTERRUPTED if outcome.interrupted else PARTIAL if incomplete or outcome.ended_early else 0
