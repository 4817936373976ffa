"""Makes a run folder of another suite's logs: answers in the journal, its own scores beside them, then scored by our rules.

    <run>/imported/about.json            where each task comes from, its own numbers, what was left out
    <run>/imported/answers/<task>.jsonl  the answers by document, as `--model replay` reads them
    <run>/imported/theirs/<task>.jsonl   the suite's own scores, golds and prompts by document
    <run>/imported/data/org/name/        the log's own documents, where the data set is not on this machine

Everything is streamed: of a log of 100,000 rows one chunk is in memory at a time, beside what every run holds to score.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.ask import Asker
from mm_eval.engine.folder import RunFolder, folder_error
from mm_eval.engine.journal import Journal, read_journal
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings
from mm_eval.engine.outcome import Outcome, StopSignal
from mm_eval.engine.progress import Progress
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.imported.repeats import repeated
from mm_eval.open_tasks import OpenedTasks, open_tasks
from mm_eval.prepare import Prepared, check_scorers, choose_styles, judging_of, load_configs, submissions_of
from mm_eval.prompt.blind import WITHOUT
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.request import WITHOUT_JUDGE, RunRequest
from mm_eval.results.sample_rows import sample_name
from mm_eval.run import score
from mm_eval.scoring.run_results import Report
from mm_eval.values.errors import ConfigError, ModelError, NotHereError, did_you_mean
from mm_eval.values.files import encoder, write_atomic
from mm_eval.values.run_files import json_value, lines_of
from mm_eval.values.types import Answer, Ended, Fields, Instance, JsonObject
from mm_eval.values.words import counted, listed
from mm_eval.verbs.exports.log_docs import GIVE_DATA, write_docs
from mm_eval.verbs.exports.logs.files import shown
from mm_eval.verbs.exports.logs.find import TABLE, find_logs
from mm_eval.verbs.exports.logs.values import Log, LogRow, finite, mapped
from mm_eval.verbs.exports.matching import WRONG_KIND, Matched, Matcher, answers_in_order

FOLDER = "imported"
AT_ONCE = 256
"""Rows of a log that are in memory."""
DATA, LOG = "data", "log"
OWN = "mm-eval"
"""The suite of our own exports."""
_line = encoder(ensure_ascii=False, default=str)


@dataclass(frozen=True)
class ImportRequest:
    """What `mm-eval import` was asked for.

    tasks: {their name: our task}. only: the names there of the tasks to take; None for all. form: as of `find_logs`.
    columns: {field or column here: column of the log}. docs: "data" for our data set, "log" for the log's own documents, None for
    our data set where it is on this machine. pictures: those of our data set are read, for standard errors and the page.
    """

    source: Path
    request: RunRequest
    tasks: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] | None = None
    form: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    docs: str | None = None
    pictures: bool = True


@dataclass
class Imported:
    """One task of the logs on its way into the run folder.

    name: of our task, as it was asked for. keys: of its config, for several answers to each question.
    """

    log: Log
    name: str
    keys: Mapping[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    from_log: bool = False


class NoFit(ConfigError):
    """A log has no answer that fits its task, which is left out then. task: its name here."""

    task = ""


def import_logs(asked: ImportRequest, progress: Progress) -> tuple[Report, list[str]]:
    """Makes the run folder and scores it; returns the report, and the tasks that were left out, in sentences.

    Errors: ConfigError where nothing can be imported; nothing is written into a folder of another run then.
    """
    path = Path(str(asked.request.output_path))
    folder = RunFolder(path)
    folder.refuse_if_held()
    if (known := folder.read("run.json")) is not None and not (path / FOLDER / "about.json").is_file():
        model = (known.get("request") or {}).get("model")
        what = f"the folder holds a run of {model!r}, which was not imported."
        raise ConfigError(what, where=str(path), hint="Choose another --output_path.")
    progress.phase("logs")
    logs, notes = find_logs(asked.source, asked.form, asked.columns)
    chosen, left_out = _tasks(asked, logs)
    beside = path / f".{FOLDER}.part"
    try:
        while True:
            shutil.rmtree(beside, ignore_errors=True)
            try:
                report = _imported(asked, chosen, folder, beside, notes, progress)
                break
            except NoFit as error:
                if len(chosen) == 1:
                    raise
                left_out.append(f"{chosen.pop(error.task).log.task}: {error}")
    except OSError as error:
        raise folder_error("the run folder can't be written", path, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        with suppress(OSError):
            path.rmdir()  # nothing came of it
    return report, left_out


def _tasks(asked: ImportRequest, logs: Sequence[Log]) -> tuple[dict[str, Imported], list[str]]:
    """{our task: its log}, and why the other logs are left out."""
    by_name = {log.task: log for log in logs}
    if (ours := asked.tasks.get("")) is not None:
        if len(asked.tasks) > 1 or len(by_name) != 1:
            hint = f"Name the log too: --task THEIRS={ours}. The logs are of {listed(sorted(by_name), 10)}."
            raise ConfigError(f"{ours!r} is given for {counted(len(by_name), 'log')}.", where="--task", hint=hint)
        asked = replace(asked, tasks=dict.fromkeys(by_name, ours))
    for name in [*asked.tasks, *(asked.only or ())]:
        if name not in by_name:
            hint = did_you_mean(name, by_name) or f"The logs are of {listed(sorted(by_name), 10)}."
            raise ConfigError(f"the logs have no task {name!r}.", where="--task", hint=hint)
    found: dict[str, Imported] = {}
    left_out = []
    first: ConfigError | None = None
    for log in logs:
        if asked.only is not None and log.task not in asked.only:
            continue
        ours = asked.tasks.get(log.task, log.task)
        try:
            loaded = load_configs(replace(asked.request, tasks=(ours,)))
        except ConfigError as error:
            if log.task in asked.tasks:
                raise
            first = first or ConfigError(
                f"there is no task {log.task!r} here: {error.what}",
                where=str(log.path),
                hint=f"--task {log.task}=OURS names it.",
            )
            left_out.append(f"{log.task}: no task here has this name; --task {log.task}=OURS names it")
            continue
        if len(loaded.tasks) != 1:
            raise ConfigError(
                f"{ours!r} is {counted(len(loaded.tasks), 'task')} here.", where="--task", hint="Name one task."
            )
        name = next(iter(loaded.tasks))
        if name in found:
            what = f"the logs {found[name].log.task!r} and {log.task!r} are both of the task {name!r}."
            raise ConfigError(what, where=str(log.path), hint="--tasks NAMES takes only some of them.")
        rows = partial(_mapped, log, asked.columns)
        found[name] = Imported(replace(log, rows=rows), ours, notes=list(log.notes))
        _count_repeats(found[name], loaded.tasks[name])
    if not found:
        for log in logs:
            if log.suite == TABLE:  # a file that is no table at all is reported before its name
                next(iter(log.rows()), None)
        raise first or ConfigError("no task of the logs was named.", where="--tasks")
    return found, left_out


def _count_repeats(one: Imported, config: TaskConfig) -> None:
    """Several answers to each question are repeats, where the task does not state how many it wants."""
    if config.output_type != "generate_until":
        return
    rows = Counter(len(row.resps) for row in one.log.rows() if row.prompts == 1 and row.resps and _is_text(row.resps))
    count = max(rows, key=lambda each: (rows[each], each), default=1)
    more = sum(docs for each, docs in rows.items() if each > count)
    if config.repeats == 1 and more:
        of = counted(more, "row has", "rows have")
        end = "the first counts" if count == 1 else f"the first {count} count"
        one.notes.append(f"{config.row_name}: {of} more than the {counted(count, 'answer')} of most rows: {end}")
    if config.repeats == 1 < count:
        if one.log.suite == OWN:  # an export keeps the rule of its run
            one.keys = {"repeats": count}
            return
        one.keys, first = repeated(config.resolved(FOREIGN_CODE), count)
        one.notes.append(
            f"{config.row_name}: the {count} answers to each question are repeats, and the mean of their scores counts"
        )
        if first:
            one.notes.append(
                f"{config.row_name}: in {listed(first, 5)} the rule decides which of them counts, mostly the first"
            )
    elif 1 < config.repeats < count:
        one.notes.append(f"{config.row_name}: the first {config.repeats} of {count} answers count, as the task states")


def _is_text(resps: Sequence[object]) -> bool:
    return all(each is None or isinstance(each, str) for each in resps)


def _mapped(log: Log, columns: Mapping[str, str]) -> Iterator[LogRow]:
    for row in log.rows():
        try:
            found = mapped(row, columns)
        except KeyError as error:
            known = {**row.raw, **(row.doc or {})}
            hint = did_you_mean(str(error.args[0]), known) + f" It has: {', '.join(map(str, known))[:300]}."
            raise ConfigError(
                f"the log has no column {error.args[0]!r}.", where=row.where, hint=hint.strip()
            ) from error
        except (TypeError, ValueError) as error:
            raise ConfigError(f"--columns does not fit: {error}.", where=row.where) from error
        if not found.resps and log.suite == TABLE:
            raise ConfigError("no column has the answers.", where=row.where, hint="--columns resps=COLUMN")
        for answer in found.resps:
            if why := _odd(answer):
                raise ConfigError(f"the answer {shown(answer)} is {why}.", where=row.where)
        yield _with_failures(found)


def _odd(answer: object) -> str:
    """What is wrong with an answer; "" for a text, a log-likelihood with is_greedy, and for one that is missing."""
    if answer is None or isinstance(answer, str):
        return ""
    if (
        isinstance(answer, (list, tuple))
        and len(answer) == 2
        and type(answer[0]) in (int, float)
        and type(answer[1]) is bool
    ):
        return ""
    return "neither a text nor [log-likelihood, is_greedy]"


def _with_failures(row: LogRow) -> LogRow:
    """A row that says why an answer is missing."""
    resps = [None if isinstance(each, (list, tuple)) and each[0] != each[0] else each for each in row.resps]
    if row.failed or resps and None not in resps:
        return row
    what = "there is no answer" if list(row.resps) == resps else "the log-likelihood is NaN"
    return replace(row, resps=resps, failed=what)


def _imported(
    asked: ImportRequest,
    chosen: dict[str, Imported],
    folder: RunFolder,
    beside: Path,
    notes: Sequence[str],
    progress: Progress,
) -> Report:
    """Opens the tasks, writes the parts of the folder beside it, then puts them in place, with journal and scores."""
    model_name = asked.request.name or next(
        (each.log.model for each in chosen.values() if each.log.model), asked.source.name
    )
    answers = folder.path / FOLDER / "answers"
    suites = dict.fromkeys(f"{each.log.suite}'s own" for each in chosen.values())
    request = asked.request.with_options(
        tasks=tuple(each.name for each in chosen.values()),
        model="replay",
        model_args={"path": str(answers.resolve())},
        name=model_name,
        num_fewshot=0,  # the prompts are theirs; examples of ours would be built for nothing
        prompt_blocks={suite: {} for suite in suites},  # compared with another run, the prompt differs
        prompt_key=next(iter(suites)),
        **WITHOUT_JUDGE,
    )
    opened = _opened(asked, request, chosen, beside, progress)
    progress.phase("documents")
    digest = hashlib.sha256()
    matched: dict[str, Matched] = {}
    for name in sorted(chosen, key=lambda name: f"{sample_name(name)}.jsonl"):  # the order in which replay reads them
        matched[name] = _write_task(chosen[name], name, opened, beside, digest)
    ids = {name: sorted(each.order) for name, each in chosen.items()}
    part = {name: of_task for name, of_task in ids.items() if len(of_task) < len(opened.tasks[name].docs)}
    own_data = folder.path / FOLDER / DATA
    request = replace(
        opened.request,
        samples=part or None,
        data_root=str(own_data.resolve())
        if any(each.from_log for each in chosen.values())
        else opened.request.data_root,
    )
    about = {
        "v": 1,
        "source": str(asked.source.resolve()),
        "notes": list(notes),
        "tasks": {
            name: _about(each, matched[name], opened.tasks[name], asked.pictures) for name, each in chosen.items()
        },
    }
    write_atomic(beside / "about.json", json.dumps(about, indent=2, ensure_ascii=False))
    model = Recorded({**request.model_args}, digest.hexdigest())
    judging, submissions = judging_of(request, opened.loaded), submissions_of(opened.loaded)
    opened = replace(opened, request=request, doc_ids=ids)
    prepared = Prepared(**vars(opened), model=model, judging=judging, submissions=submissions)
    with folder.locked():
        folder.claim(prepared.spec(), request.to_json())
        shutil.rmtree(folder.path / FOLDER, ignore_errors=True)
        beside.rename(folder.path / FOLDER)
        _record(prepared, chosen, folder, asked.pictures, progress)
    return score(folder.path, request.bootstrap_iters, progress, include_path=request.include_path)


def _opened(
    asked: ImportRequest, request: RunRequest, chosen: dict[str, Imported], beside: Path, progress: Progress
) -> OpenedTasks:
    """The tasks with the data set, or with the log's own documents where it is not here or `docs` says so."""

    def styles(request: RunRequest, configs: Fields) -> dict[str, PromptStyle]:
        return choose_styles(request, configs, None, False)

    def opened(request: RunRequest, loaded: Loaded) -> OpenedTasks:
        return open_tasks(request, loaded, request.sample, partial(styles, request), check_scorers, progress.phase)

    loaded = _loaded(request, chosen)
    if asked.docs != LOG:
        try:
            return opened(request, loaded)
        except NotHereError:
            if asked.docs == DATA:
                raise
    missing = [name for name in chosen if asked.docs == LOG or not _is_here(request, loaded, name, opened)]
    if request.data_root or request.sample:  # one data root can't be two
        missing = list(chosen)
    for name in missing:
        chosen[name].from_log = True
        write_docs(beside / DATA, loaded.tasks[name].resolved(FOREIGN_CODE), chosen[name].log)
    request = replace(request, data_root=str(beside / DATA), sample=False)
    try:
        found = opened(request, _loaded(request, chosen))
        seen = replace(found, styles={name: replace(style, blind=WITHOUT) for name, style in found.styles.items()})
        seen.check_first_docs()
        return found
    except ConfigError as error:
        hint = f"{error.hint} The log's own documents are read, since the data set is not here. {GIVE_DATA}".strip()
        raise ConfigError(error.what, where=error.where, hint=hint) from error


def _loaded(request: RunRequest, chosen: Mapping[str, Imported]) -> Loaded:
    """The configs, with as many repeats as the logs have."""
    return load_configs(request, below={each.name: each.keys for each in chosen.values() if each.keys})


def _is_here(request: RunRequest, loaded: Loaded, name: str, opened: Callable[..., OpenedTasks]) -> bool:
    try:
        opened(replace(request, tasks=(name,)), Loaded({name: loaded.tasks[name]}, roots=[name]))
    except NotHereError:
        return False
    return True


def _write_task(one: Imported, name: str, opened: OpenedTasks, beside: Path, digest: Any) -> Matched:
    """Writes a task's answers and the suite's own scores; returns what was matched. digest: gets the bytes of the answers."""
    task, style = opened.tasks[name], opened.styles[name]
    matcher = Matcher(task, style)
    file = f"{sample_name(name)}.jsonl"
    for part in ("answers", "theirs"):
        (beside / part).mkdir(parents=True, exist_ok=True)
    seen: set[int] = set()
    with (beside / "answers" / file).open("wb") as answers, (beside / "theirs" / file).open("wb") as theirs:
        pairs = matcher.match(one.log.rows(), one.log.rows())
        while chunk := list(islice(pairs, AT_ONCE)):
            first = [(doc_id, row) for doc_id, row in chunk if doc_id not in seen]
            fits = _fitting(task, style, first, matcher.found)
            for doc_id, row in chunk:
                if doc_id in fits:
                    line = (_line(_answer_row(task, doc_id, row, fits[doc_id])) + "\n").encode("utf-8", "surrogatepass")
                    answers.write(line)
                    digest.update(line)
                    seen.add(doc_id)
                    one.order.append(doc_id)
                    del fits[doc_id]
                    theirs.write(_their_line(doc_id, row, whole=True))
                elif doc_id in seen:
                    theirs.write(_their_line(doc_id, row, whole=False))
    misfits = sum(len(places) for why, places in matcher.found.left_out.items() if why.startswith(WRONG_KIND))
    if len(one.order) < misfits or not one.order:
        why = "; ".join(matcher.found.left_out) or "it has no rows"
        examples = next(iter(matcher.found.left_out.values()), [one.log.path.name])
        hint = "Another form of the task may fit: --task THEIRS=OURS@FORMAT (`mm-eval ls formats`)."
        few = f"only {counted(len(one.order), 'answer')} of {one.log.task!r} fit" if one.order else ""
        what = few or f"no answer of {one.log.task!r} fits"
        error = NoFit(f"{what} the task {name!r}: {why}.", where=examples[0], hint=hint)
        error.task = name
        raise error
    return matcher.found


def _fitting(
    task: Task, style: PromptStyle, rows: Sequence[tuple[int, LogRow]], found: Matched
) -> dict[int, list[int]]:
    """{doc id: places of the answers that the task asks for} of the rows whose answers are what the task asks for."""
    by_doc = dict(rows)
    places: dict[int, list[int]] = {}
    instances = task.instances(list(by_doc), style, lambda _: None)
    for doc_id, group in groupby(instances, key=lambda instance: instance.doc_id):
        asked, row = list(group), by_doc[doc_id]
        order, why = answers_in_order(row, asked)
        if why:
            found.doc_ids.pop(doc_id, None)
            found.leave_out(f"{WRONG_KIND}: {why}", row)
        else:
            places[doc_id] = order
    return places


def _answer_row(task: Task, doc_id: int, row: LogRow, places: Sequence[int]) -> dict[str, object]:
    """The row for replay. A request that failed there is a failed request here."""
    resps = [row.resps[place] if place < len(row.resps) else None for place in places]
    ended = [row.ended[place] if place < len(row.ended) else "unknown" for place in places]
    ended = ["failed" if each is None else how for each, how in zip(resps, ended, strict=True)]
    if row.failed and None not in resps:
        ended = ["failed"] * len(places)
    resps = ["" if how == "failed" else each for each, how in zip(resps, ended, strict=True)]
    made: dict[str, object] = {"task": task.path, "doc_id": doc_id, "resps": resps, "ended": ended}
    return {**made, "failed": row.failed[:500]} if "failed" in ended else made


def _their_line(doc_id: int, row: LogRow, whole: bool) -> bytes:
    """What the suite itself says of a document. whole: with its prompt and gold, once a document."""
    made: dict[str, object] = {"doc_id": doc_id, "filter": row.filter, "scores": row.scores, "read": row.read}
    if whole:
        made |= {"id": row.id, "target": row.target, "prompt": row.prompt}
    return (_line(finite(made)) + "\n").encode("utf-8", "surrogatepass")


def _about(one: Imported, matched: Matched, task: Task, pictures: bool) -> dict[str, object]:
    log, notes = one.log, [*one.notes, *matched.said(task.config.row_name)]
    if one.from_log:
        notes.append(f"{task.config.row_name}: scored by the log's own documents, since the data set was not read")
    shown = task.has_pictures and (one.from_log or not pictures)
    if shown:
        notes.append(
            f"{task.config.row_name}: no pictures: standard errors take each document on its own, and the page shows none"
        )
    return {
        "suite": log.suite,
        "version": log.version,
        "task": log.task,
        "name": one.name,
        "file": str(log.path),
        "numbers": dict(log.numbers),
        "n-shot": log.shots,
        "rows": matched.rows,
        "left_out": dict(matched.counts),
        "docs": LOG if one.from_log else DATA,
        "repeats": one.keys.get("repeats"),
        "notes": notes,
    }


class Recorded(Model):
    """Answers from the rows of `imported/answers`, read as a stream. Their keys are those of replay with that folder."""

    facts = ModelFacts(name="replay", travels=False, hears=True)

    def __init__(
        self, args: Mapping[str, object], digest: str, rows: Iterator[dict[str, object]] | None = None
    ) -> None:
        super().__init__(args, ModelSettings())
        self.digest = digest
        self._rows, self._row = rows or iter(()), dict[str, Any]()

    def of_rows(self, rows: Iterator[dict[str, object]]) -> Recorded:
        """The same model with the rows of a task, in the order in which they will be asked for."""
        return Recorded(self.args, self.digest, rows)

    def identity(self, instance: Instance) -> Mapping[str, object]:
        return {"adapter": "replay", "file": self.digest, "slot": instance.slot.to_json()}

    def describe(self) -> Mapping[str, object]:
        return {"adapter": "replay", "file": self.digest}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            row = self._of(instance)
            place = instance.repeat if instance.request_type == "generate_until" else instance.choice
            ended: Ended = row["ended"][place]
            if ended == "failed":
                yield instance, ModelError(f"the log says: {str(row.get('failed')).rstrip('. ')}.")
            elif isinstance(row["resps"][place], str):
                yield instance, Answer(row["resps"][place], ended=ended)
            else:
                value, is_greedy = row["resps"][place]
                yield instance, Answer((float(value), bool(is_greedy)))

    loglikelihood = generate
    loglikelihood_rolling = generate

    def _of(self, instance: Instance) -> JsonObject:
        while self._row.get("doc_id") != instance.doc_id:
            self._row = next(self._rows)
        return self._row


def _record(
    prepared: Prepared, chosen: Mapping[str, Imported], folder: RunFolder, pictures: bool, progress: Progress
) -> None:
    """Writes the answers that the journal lacks."""
    state, outcome = read_journal(folder.path), Outcome()
    progress.start("recording", sum(len(each.order) for each in chosen.values()))
    model = prepared.model
    assert isinstance(model, Recorded)
    with closing(Journal(folder.path)) as journal, StopSignal().listening() as stop:
        for name, one in chosen.items():
            file = folder.path / FOLDER / "answers" / f"{sample_name(name)}.jsonl"
            rows = (json_value(line or b"") for _, line in lines_of(folder.path, file))
            asker = Asker(model.of_rows(rows), journal, state, stop, progress.tick, outcome=outcome)
            asker.ask(_instances(prepared, name, one, pictures))
            if asker.halted:
                break
    progress.stop()
    if outcome.stopped is not None:
        raise outcome.stopped
    if outcome.interrupted:
        raise KeyboardInterrupt


def _instances(prepared: Prepared, name: str, one: Imported, pictures: bool) -> Iterator[Instance]:
    """The instances in the order of the log. Pictures that can't be read here cost no answer: the other suite had them."""
    task, style = prepared.tasks[name], prepared.styles[name]
    decode = pictures and task.has_pictures and not one.from_log
    for instance in task.instances(one.order, style, None if decode else lambda _: None):
        if decode and instance.error is not None and (instance.context or instance.continuation):
            instance.error, instance.image_digests, instance.images = None, (), None
            instance.heard, instance.sounds = (), None
        if instance.clips:  # other frames may have been shown there
            instance.clips, instance.image_digests = (), ()
        yield instance
