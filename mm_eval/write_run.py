"""What a run leaves: samples/ with every doc's row, thumbnails, the page, and the notes of the terminal."""

from __future__ import annotations

import errno
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.folder import RunFolder, entry_of, findings_of, refused_in, scored_by
from mm_eval.engine.journal import JournalState
from mm_eval.engine.launch import Processes, processes
from mm_eval.engine.model import account, dollars
from mm_eval.engine.outcome import Outcome
from mm_eval.engine.prices import Price
from mm_eval.engine.progress import Progress, answering
from mm_eval.open_run import OpenedRun
from mm_eval.open_tasks import OpenedTasks
from mm_eval.package import __version__, version_of
from mm_eval.prepare import Prepared
from mm_eval.prompt.blind import WITHOUT, joined_media
from mm_eval.results.media import Media
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import sample_name
from mm_eval.results.sounds import write_sounds
from mm_eval.results.thumbnails import (
    pictures_of,
    remove_thumbnails,
    thumbnails_of_requests,
    write_known_thumbnails,
    write_thumbnails,
    write_thumbnails_of_turns,
)
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.scoring.task_scores import TaskScores
from mm_eval.values.errors import MMEvalError, StoreError, kind_and_text
from mm_eval.values.files import encoder
from mm_eval.values.types import Fields, for_json, main_metrics
from mm_eval.values.words import counted, listed, of_all

if TYPE_CHECKING:
    from mm_eval.deciding.record import Record

T = TypeVar("T")


def score_tasks(opened: OpenedRun, folder: RunFolder, state: JournalState, progress: Progress) -> dict[str, TaskScores]:
    """Scores doc by doc into samples/<task>.jsonl, then aggregates."""
    progress.start("scoring", sum(map(len, opened.doc_ids.values())))
    scores: dict[str, TaskScores] = {}
    for name in opened.tasks:
        scoring = with_room(folder, partial(_write_samples, opened, folder, state, progress, name))
        scores[name] = scoring.aggregate(opened.request.bootstrap_iters)
    progress.stop()
    return scores


def _write_samples(
    opened: OpenedRun, folder: RunFolder, state: JournalState, progress: Progress, name: str
) -> TaskScoring:
    """Scores the docs of a task into samples/."""
    task = opened.tasks[name]
    scorers = opened.all_scorers(name, opened.scorers[name], state.lookup, state.tools)
    scoring = TaskScoring(task, opened.styles[name], scorers, state.lookup)
    rows: Iterable[SampleRow] = _count_rows(scoring.samples(opened.doc_ids[name]), progress)
    if opened.submissions:
        rows = opened.submissions.reading(name, task, rows)
    encode = encoder(ensure_ascii=False, default=for_json)
    folder.write_lines(f"samples/{sample_name(name)}.jsonl", map(encode, rows))
    return scoring


def with_room(folder: RunFolder, write: Callable[[], T]) -> T:
    """What `write` returns. Where the disk is full the folder's thumbnails, which can be made again, give way to the results."""
    try:
        return write()
    except StoreError as error:
        number = getattr(error.__cause__, "errno", None)
        if number not in (errno.ENOSPC, errno.EDQUOT) or not remove_thumbnails(folder.path):
            raise
    return write()


def _count_rows(rows: Iterator[SampleRow], progress: Progress) -> Iterator[SampleRow]:
    for row in rows:
        progress.tick(1, 0)
        yield row


def write_page(
    opened: OpenedTasks, folder: RunFolder, recorded: Mapping[str, object], results: Results, progress: Progress
) -> tuple[list[str], bool]:
    """Writes report.html and its thumbnails; notes, and whether all is written. They are derived: the results stand without them.

    recorded: run.json.
    A page of an earlier launch that could not be written again is removed, since it shows other numbers.
    """
    try:
        run = RecordedRun.of_scored(folder.path, recorded, results, opened.configs, opened.request.include_path)
        if pictured := _pictured(opened):
            run = replace(run, make_thumbnails=partial(_write_missing_thumbnails, opened, pictured, progress))
        progress.phase("report")
        from mm_eval.run_page import write_report

        return [f"report: {write_report(run)}"], True
    except Exception as error:  # pictures are foreign bytes, and no failure here may cost the results
        what = str(error) if isinstance(error, (OSError, MMEvalError)) else kind_and_text(error)
        leave_without_page(folder)
        return [f"no report.html could be written: {what}"], False


def leave_without_page(folder: RunFolder) -> None:
    """Removes the page of an earlier launch, which shows other numbers. Thumbnails of the requests are kept for a later page."""
    with suppress(OSError):
        (folder.path / "report.html").unlink(missing_ok=True)
    with suppress(OSError, MMEvalError), Media(folder.path):
        pass  # puts them in place


def _pictured(opened: OpenedTasks) -> list[str]:
    """The tasks that may show pictures: those of data with pictures, and conversations."""
    return [name for name, task in opened.tasks.items() if task.has_pictures or opened.styles[name].turns is not None]


def _write_missing_thumbnails(
    opened: OpenedTasks, pictured: Sequence[str], progress: Progress, run: RecordedRun, digests: Iterable[str]
) -> None:
    """Puts the thumbnails and sounds of a run in place. Where one of these pictures was not shown while the model answered, the
    rows are read again, which name the docs of the lacking ones.
    """
    heard = {name: opened.tasks[name] for name in pictured if opened.tasks[name].may_have_sound(opened.styles[name])}
    if heard:
        write_sounds(run.folder, {name: (task, opened.styles[name], run.rows(name)) for name, task in heard.items()})
    digests = list(digests)
    with Media(run.folder) as media:
        write_known_thumbnails(media, digests)
        if all(digest in media for digest in digests):
            return
        progress.start("thumbnails", sum(len(opened.doc_ids[name]) for name in pictured))
        for name in pictured:
            task, style = opened.tasks[name], opened.styles[name]
            write_thumbnails(media, task, style, pictures_of(_count_rows(run.rows(name), progress)))
            if style.turns is not None:
                write_thumbnails_of_turns(media, task, style, run.rows(name))
    progress.stop()
    progress.phase("report")


def thumbnails(
    prepared: Prepared, folder: RunFolder, own: Processes
) -> AbstractContextManager[Callable[[], bool] | None]:
    """Makes the page's thumbnails from the pictures of the requests, where there are any and one process makes them all."""
    request = prepared.request
    if not request.report or request.predict_only or own.count > 1 or not _pictured(prepared):
        return nullcontext()
    return thumbnails_of_requests(folder.path, prepared.tasks.values())


def _categories_asked(config: TaskConfig, scores: TaskScores) -> Iterator[str]:
    """Of a task whose main number adds up its categories, such as MME's: how many of them a part of the documents has."""
    aggregated = {str(entry.get("metric")): entry.get("aggregation") for entry in config.metric_list}
    main = main_metrics(config.metadata)
    by_function = [aggregated[name] for name in main if callable(aggregated.get(name))]
    categories = {name for name, function in aggregated.items() if name not in main and function in by_function}
    asked = len(categories & {number.metric for number in scores.numbers})
    if asked < len(categories):
        were = "was" if asked == 1 else "were"
        yield f"{asked} of {len(categories)} categories of {config.name} {were} asked; the others add nothing to its scores"


def notes_of(
    opened: OpenedRun,
    state: JournalState,
    outcome: Outcome,
    changed: Sequence[str] = (),
    stopped: Record | None = None,
    scores: Mapping[str, TaskScores] | None = None,
) -> list[str]:
    """What a reader of the table should know.

    changed: tasks whose files are not those that the run began with. stopped: where the run stopped before all docs were asked.
    """
    notes = list(opened.notes)
    if changed:
        names = listed(changed, 4)
        notes.append(f"scoring of {names} changed since the folder was made: all answers are scored again")
    if parts := [f"{of_all(some, every, 'document')} of {name}" for name, (some, every) in opened.in_part.items()]:
        more = f" and of {counted(len(parts) - 4, 'more task')}" if len(parts) > 4 else ""
        were = "was" if [some for some, _ in opened.in_part.values()] == [1] else "were"
        notes.append(f"only {', '.join(parts[:4])}{more} {were} requested; these scores are not benchmark results")
    for name in opened.in_part:
        if scores is not None and name in scores:
            notes += _categories_asked(opened.tasks[name].config, scores[name])
    if opened.request.blind:
        word = joined_media(_media(opened).values())
        were = "were given" if "sounds" in word else "were shown"
        seen = f"their {word} were left out" if opened.request.blind == WITHOUT else f"other documents' {word} {were}"
        one = word.replace("s and ", " or ").removesuffix("s")
        notes.append(
            f"--blind: {seen}. Standard errors ignore which documents share a {one}. These scores are not benchmark results"
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
    if isinstance(opened, Prepared) and (tokens := account(opened.model, state.usage)):
        notes.append(tokens)
    if opened.imported:
        notes += opened.imported.notes()
    if opened.judging:
        notes += opened.judging.notes(state, outcome)
    if stopped:
        notes += stopped.notes()
    if opened.submissions:
        notes += opened.submissions.notes()
    if state.mixed is not None:
        notes.append("a file of another run is in the journal; its answers are to other questions and are not used")
    if state.damaged:
        skipped = counted(state.damaged, "damaged journal line was", "damaged journal lines were")
        notes.append(f"{skipped} skipped; `mm-eval run` requests their answers again")
    return notes


def problems_of(scores: Mapping[str, TaskScores], outcome: Outcome, further: Sequence[str] = ()) -> list[str]:
    """What failed: why the run stopped early, and each task's failed docs and missing numbers. further: `further_problems`."""
    problems = [f"stopped early: {outcome.stopped.owner} error: {outcome.stopped}"] if outcome.stopped else []
    problems += further
    for name, task in scores.items():
        if task.failed:
            are = "is" if task.failed == 1 else "are"
            what = f"{of_all(task.failed, task.n, 'document')} failed and {are} left out of all scores"
            problems.append(f"{name}: {what}:")
            problems += [f"  {error}" for error in task.errors]
        if task.missing:
            first, *others = [str(key).removesuffix(",none") for key in task.missing]
            what = f"{first} and {len(others)} more have" if others else f"{first} has"
            problems.append(f"{name}: {what} no value (see the notes)")
    if left := {name: task for name, task in scores.items() if task.not_requested}:
        docs, every = (sum(getattr(task, count) for task in left.values()) for count in ("not_requested", "n"))
        what = of_all(docs, every, "document", "has no answer yet and is", "have no answer yet and are")
        of = next(iter(left)) if len(left) == 1 else counted(len(left), "task")
        problems.append(f"{of}: {what} left out of all scores. Run the same command again to finish")
    return problems


def further_problems(opened: OpenedRun, scores: Mapping[str, TaskScores], outcome: Outcome) -> list[str]:
    """What failed beside the answers: judging, a comparison that is not decided, docs that a submission file lacks.

    scores: by task; empty where nothing is scored.
    """
    problems = opened.judging.problems(outcome, scores) if opened.judging else []
    if outcome.undecided:
        problems.append(f"stopped early: {outcome.undecided}")
    return problems + (opened.submissions.problems() if opened.submissions else [])


def spent(opened: Prepared, state: JournalState) -> float | None:
    """The dollars that all answers of a run folder have cost so far; None where a server's prices are unknown."""
    answers = dollars(opened.model, state.usage)
    verdicts = opened.judging.spent(state) if opened.judging else 0.0
    return None if answers is None or verdicts is None else answers + verdicts


def is_incomplete(opened: OpenedTasks, scores: Mapping[str, TaskScores], further: Sequence[str]) -> bool:
    """Whether a doc has no answer or no grade, a number of a whole task no value, or something beside the answers failed.

    further: `further_problems`.
    """
    docs = any(each.failed or each.not_requested or each.without_grade for each in scores.values())
    numbers = any(each.missing for name, each in scores.items() if name not in opened.in_part)
    return docs or numbers or bool(further)


LIBRARIES = ("torch", "transformers", "datasets", "numpy", "pillow", "tokenizers")


def run_facts(
    opened: OpenedRun,
    folder: RunFolder,
    recorded: Fields,
    state: JournalState,
    scores: Mapping[str, TaskScores],
    spec: Mapping[str, Any],
    started: float,
    cost_before: Mapping[str, object],
) -> dict[str, object]:
    """What was measured, with which versions, when, and at what cost: `run` in results.json, which may differ between equal runs.

    recorded: run.json. cost_before: as of `_cost`. started: by `time.monotonic`, since a machine's clock may be set back.
    """
    seconds, request = time.monotonic() - started, opened.request
    facts = {
        "mm_eval": __version__,
        "model_name": request.model_name,
        "model": spec["model"],
        "sample": opened.sampled,
        "seed": request.seed,
        "chat_template": spec["chat"],
        "system_instruction": spec["system"],
        **({"blind": spec["blind"], "blind_to": _media(opened)} if spec.get("blind") else {}),
        **({"sandbox": spec["sandbox"]} if spec.get("sandbox") else {}),
        "reasoning_tags": request.reasoning_tags,
        "prompts": {name: task["prompt"] for name, task in spec["tasks"].items()},
        **({"most": most} if (most := _most_of_turns(opened)) else {}),
        "data": {name: task["data"] for name, task in spec["tasks"].items()},
        "scored_by": scored_by(opened.configs),
        "limit": request.limit,
        "in_part": opened.in_part,
        "bootstrap_iters": request.bootstrap_iters,
        "libraries": {name: version for name in LIBRARIES if (version := version_of(name))},
        "python": platform.python_version(),
        "processes": processes().count,
        "started": round(time.time() - seconds, 3),
        "seconds": round(seconds, 3),
        **entry_of(recorded, "machine"),
        "answering": answering(folder.path),
        "usage": dict(sorted(state.usage.items())),
    }
    if answered_by := sum((each.models for each in scores.values()), Counter[str]()):
        facts["answered_by"] = dict(sorted(answered_by.items()))
    if cost := _cost(opened, state, cost_before):
        facts["cost"] = cost
    if isinstance(opened, Prepared):
        facts.update(opened.model.facts.ran_on)
    if refused := refused_in(findings_of(recorded)):
        facts["endpoint"] = refused
    return facts


def _media(opened: OpenedRun) -> dict[str, str]:
    """{task: what its questions may have beside text}, of the tasks that have something."""
    found = {name: task.media(opened.styles[name]) for name, task in opened.tasks.items()}
    return {name: media for name, media in found.items() if media}


def _most_of_turns(opened: OpenedRun) -> dict[str, dict[str, int]]:
    """{task: what a document of it may have at most}: calls of tools, rounds. Reports state it beside the number."""
    return {name: dict(style.turns.most) for name, style in opened.styles.items() if style.turns is not None}


def _cost(opened: OpenedRun, state: JournalState, before: Mapping[str, object]) -> dict[str, object]:
    """What the answers have cost, with the prices, for results.json; empty where no price is known.

    before: the same of the last time, whose prices apply where a recorded run is scored again without its model.
    """
    cost: dict[str, object] = {}
    price = opened.model.facts.price if isinstance(opened, Prepared) else Price.of_json(before.get("price"))
    if price is not None:
        cost = {"dollars": round(price.dollars(state.usage), 6), "price": price.to_json()}
    if opened.judging:
        cost.update(opened.judging.cost(state, before))
    return cost
