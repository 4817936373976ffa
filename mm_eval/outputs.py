"""The files that a run leaves: samples/ with every doc's row, submission files, thumbnails and the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import JournalState
from mm_eval.engine.launch import Processes
from mm_eval.engine.progress import Progress
from mm_eval.errors import MMEvalError
from mm_eval.json_text import encoder
from mm_eval.judging.code import verdicts_of
from mm_eval.judging.judges import identity_of
from mm_eval.opening import OpenedTasks
from mm_eval.prepare import Prepared
from mm_eval.report.html import write_report
from mm_eval.report.media import Media
from mm_eval.report.thumbnails import pictures_of, thumbnails_of_requests, write_thumbnails
from mm_eval.runs.recorded import RecordedRun
from mm_eval.runs.sample_rows import sample_name
from mm_eval.runs.submission import Submission
from mm_eval.scorers.judged import with_judges
from mm_eval.scorers.score_task import TaskScoring
from mm_eval.scorers.task_scores import TaskScores
from mm_eval.types import plain

NOT_JUDGED = "not judged: the numbers that a judge gives are left out (--no_judge)."


def score_tasks(
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


def write_page(opened: OpenedTasks, folder: RunFolder, progress: Progress) -> list[str]:
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


def thumbnails(prepared: Prepared, folder: RunFolder, own: Processes) -> AbstractContextManager[None]:
    """Makes the page's thumbnails from the pictures of the requests, where one process makes them all."""
    request = prepared.request
    if not request.report or request.predict_only or own.count > 1:
        return nullcontext()
    return thumbnails_of_requests(folder.path, prepared.tasks.values())
