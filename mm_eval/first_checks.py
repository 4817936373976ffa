"""The checks between opening the data and the first request: metrics of groups, keys of prompt blocks, and each task's first doc,
asked and scored."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mm_eval.config.formats import FormatField
from mm_eval.config.group import GroupConfig, GroupMetric
from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.prompt.blind import WITHOUT
from mm_eval.prompt.blocks import (
    TARGET_KEYWORD,
    PromptBlock,
    call,
    choose_block,
    names_in,
    takes_block,
    takes_targets,
)
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.metrics.metric import METRICS, aggregation_named
from mm_eval.scoring.number import NoReduction
from mm_eval.scoring.of_task import counting_the_first_answer, scorers_of
from mm_eval.scoring.process_results import ProcessResultsScorer
from mm_eval.values.errors import ConfigError, DataError, DocError, did_you_mean, kind_and_text
from mm_eval.values.types import Doc, Instance, MetricKey

log = logging.getLogger(__name__)


def check_first_doc(task: Task, style: PromptStyle, doc_ids: Sequence[int]) -> list[Instance]:
    """Builds the prompt of a task's first doc. ConfigError if that fails: the config is wrong.

    A doc whose own values are unusable (DocError) says nothing about the config: the next one is built.
    Returns its requests, without its pictures; none where every doc tried is unusable, or the task writes its chat itself.
    """
    for doc_id in doc_ids[:20]:
        where = f"{task.path} doc {doc_id}"
        try:
            return _build(task, style, doc_id, doc_ids, where)
        except DocError:
            continue
        except (ConfigError, DataError) as error:
            place = f"{task.config.file_name}: {where}" if error.where == where else error.where
            raise ConfigError(error.what, where=place, hint=error.hint) from error
    return []


def _build(task: Task, style: PromptStyle, doc_id: int, doc_ids: Sequence[int], where: str) -> list[Instance]:
    """Builds all that a doc is requested with, and returns its requests; MMEvalError if that fails."""
    doc = task.docs.text(doc_id)
    question = task.kept_question(doc_id, doc, style.block, where)
    _check_visual_columns(task, style, where)
    _check_visual_functions(task, style, doc_id)
    check_prompt_keys(task, doc_ids, [style.block, *_blocks_of_templates(task.config)])
    task.clusters({doc_id: doc}, {})
    if not task.config.is_shipped:  # of a shipped task, categories whose column the data lacks are left out with a note
        task.categories(doc)
    scored = not (task.config.process_results or task.config.is_scored_elsewhere)
    if task.config.doc_to_target is not None and scored and question.target is None:
        raise DataError("doc_to_target gave None, so that no answer could be right.", where=where)
    if task.pool is not None:
        task.pool.draw(task.config.num_fewshot, doc_id, doc)
    requests = [] if task.writes_messages(style) else list(task.instances([doc_id], style, lambda _: None))
    for instance in requests:
        if instance.error is not None:
            raise instance.error
    return requests


def _check_visual_columns(task: Task, style: PromptStyle, where: str) -> None:
    """DataError if doc_to_visual or doc_to_audio names a column that the data lacks: each doc would fail."""
    for key in ("doc_to_visual", "doc_to_audio"):
        stated = getattr(task.config, key)
        for column in stated if isinstance(stated, list) else [stated]:
            is_name = isinstance(column, str) and not (key == "doc_to_audio" and ("{{" in column or "{%" in column))
            if is_name and column not in task.docs.columns and style.blind != WITHOUT:
                hint = (
                    f"{did_you_mean(column, task.docs.columns)} The data has: {', '.join(task.docs.columns)}.".strip()
                )
                what = f"{key} names the column {column!r}, which the data lacks."
                raise DataError(what, where=task.config.where(key) or where, hint=hint)


def _check_visual_functions(task: Task, style: PromptStyle, doc_id: int) -> None:
    """ConfigError if a function that shows something of a doc reads a column that the data lacks: each doc would fail."""
    if style.blind == WITHOUT:
        return
    for reader in ("doc_to_visual", "doc_to_audio", "doc_to_messages"):
        function = getattr(task.config, reader)
        if not callable(function):
            continue
        try:
            doc = task.docs.full(doc_id)
        except Exception:  # an unreadable picture fails its own doc
            return

        def use(read: Doc, function: Callable[..., object] = function) -> list[Exception | None]:
            try:
                call(function, read, style.block, second=True)
            except KeyError as error:
                return [DataError(kind_and_text(error))]
            return []

        check_columns(task, doc, reader, use)


def check_prompt_keys(task: Task, doc_ids: Sequence[int], blocks: Sequence[PromptBlock]) -> None:
    """Checks that some function or template of the task reads each key of its prompt blocks whose value is not empty.

    Empty values are skipped: MMBench's blocks state `pre_prompt: ""`, which none of its functions reads.
    Unread keys in a task file of lmms-eval are one warning, since its own files have some; keys that the user adds are errors.
    Errors: ConfigError naming the unread keys, with a suggestion from the names that are read.
    """
    config = task.config
    own = {key for block in config.prompt_kwargs.values() for key in block or ()} if config.of_lmms_eval else set()
    ignored: list[str] = []
    for block in blocks:
        unread, read = _unread(task, doc_ids, block)
        if wrong := [key for key in unread if key not in own]:
            raise ConfigError(
                f"nothing in {config.path} reads {_keys(wrong)} of the prompt block {block.key!r}.",
                where=block.places.get(wrong[0]) or config.where("prompt_kwargs"),
                hint=_how_to_read(task, doc_ids, block, wrong[0], read),
            )
        if unread:
            ignored.append(f"{_keys(unread)} of {block.key!r}")
    if config.target_kwargs and not config.of_lmms_eval and not _has_reader_of_targets(config):
        what = f"no function of {config.path} takes {TARGET_KEYWORD}, so it has no effect."
        hint = f"Declare a parameter {TARGET_KEYWORD} in the function of doc_to_target, or remove the key."
        raise ConfigError(what, where=config.where("target_kwargs"), hint=hint)
    if ignored:
        what = "nothing in %s reads these keys of its prompt blocks: %s. They have no effect."
        log.warning(f"%s: {what}", config.where("prompt_kwargs"), config.path, "; ".join(ignored))


def _keys(names: Sequence[str]) -> str:
    return f"the key{'s' if len(names) > 1 else ''} {', '.join(map(repr, names))}"


def _how_to_read(task: Task, doc_ids: Sequence[int], block: PromptBlock, key: str, read: set[str]) -> str:
    """What to do about a key of a prompt block that nothing reads. read: the names that are read."""
    if key in read and doc_ids and key in task.docs.text(doc_ids[0]):
        return "The documents have a column of that name, which is read in its place: rename the key."
    guess = did_you_mean(key, read)
    if guess.startswith("Did you mean"):
        return guess
    if block.key != "default" and block.key not in task.config.prompt_kwargs:
        return f"State it only for the tasks that read it: {{TASK: {{{block.key}: {{{key}: ...}}}}}}."
    return f"Write {{{{ {key} }}}} into a template such as doc_to_text, or remove the key."


def _entries(config: TaskConfig) -> list[tuple[Any, bool]]:
    """The entries of a task that may read its prompt blocks, each with whether its second argument is the block (see `call`)."""
    shown = config.fewshot_config
    entries = [
        (each, True) for each in (config.doc_to_text, config.doc_to_visual, config.doc_to_audio, config.doc_to_messages)
    ]
    entries += [(each, False) for each in (config.doc_to_target, config.doc_to_choice)]
    entries += [(each, False) for each in (config.description, config.gen_prefix, config.gold_answer)]
    return entries + [
        (shown[key], key in ("doc_to_text", "doc_to_visual", "doc_to_audio")) for key in shown if key in PROMPT_ENTRIES
    ]


PROMPT_ENTRIES = ("doc_to_text", "doc_to_visual", "doc_to_audio", "doc_to_target", "doc_to_choice", "gen_prefix")
"""The entries of `fewshot_config` that may read a prompt block."""


def _blocks_of_templates(config: TaskConfig) -> list[PromptBlock]:
    """All blocks of a task whose prompt is made of templates alone, so that checking them costs nothing.

    The blocks of functions are checked where they are asked with, and by `mm-eval validate`.
    """
    if config.of_lmms_eval or any(takes_block(entry, second) for entry, second in _entries(config)):
        return []
    return [choose_block(config, (), key) for key in config.prompt_kwargs]


def _reads_unseen(config: TaskConfig) -> bool:
    """Whether it can't be known which keys of a block a task reads: its own class or its rounds do, or a format asks."""
    laid_out = any(isinstance(each, FormatField) for each in (config.doc_to_text, config.doc_to_target))
    return config.task_class is not None or config.rounds is not None or laid_out


def _has_reader_of_targets(config: TaskConfig) -> bool:
    return _reads_unseen(config) or any(takes_targets(entry) for entry, _ in _entries(config))


def _unread(task: Task, doc_ids: Sequence[int], block: PromptBlock) -> tuple[list[str], set[str]]:
    """(keys of a block that no function or template of the task reads, names that are read). Keys with empty values are skipped.

    The names in a template are known. Functions are tried on up to 100 docs, since one may read a key for some docs only.
    """
    config, read = task.config, set[str]()
    filled = [key for key, value in block.kwargs.items() if value not in ("", None)]
    if not filled:
        return [], read
    entries = _entries(config)
    columns = set(task.docs.text(doc_ids[0])) if doc_ids else set()
    for entry, _ in entries:
        read |= names_in(entry)

    def unread() -> list[str]:
        return [key for key in filled if key not in read or key in columns and key not in seen]

    seen = set[str]()  # by functions, to which a column of the same name is no hindrance
    recording = replace(block, read=seen)
    functions = [(entry, second) for entry, second in entries if takes_block(entry, second)]
    for doc_id in doc_ids[:100] if functions else ():
        task.question(task.docs.text(doc_id), recording, f"{config.path} doc {doc_id}")
        read |= seen
        if not unread():
            return [], read
    asked = (config.doc_to_text, config.doc_to_target, config.doc_to_choice)  # by `task.question`
    for function, second in functions:
        if function in asked:
            continue
        try:
            call(function, task.docs.full(doc_ids[0]), recording, second=second)
        except Exception:  # the task's own code; the error is reported when the doc's request is made
            return [], read
    read |= seen
    return [] if _reads_unseen(config) else unread(), read


class _Read(dict[str, Any]):
    """A doc that remembers the columns that were read and that it lacks."""

    def __init__(self, doc: Mapping[str, object]) -> None:
        super().__init__(doc)
        self.lacking: list[str] = []

    def __missing__(self, column: str) -> object:
        self.lacking.append(column)
        raise KeyError(column)


def check_scoring(task: Task, requests: Sequence[Instance]) -> None:
    """Scores a made-up answer to the requests of a task's first doc. ConfigError as of `check_columns`.

    A model that the task's function would ask is not asked.
    """
    if not requests or any(request.error for request in requests):
        return
    doc_id = requests[0].doc_id

    def use(doc: Doc) -> list[Exception | None]:
        answered = [
            replace(request, doc=doc, resps=[""] if request.request_type == "generate_until" else [(0.0, True)])
            for request in requests
        ]
        return [scorer.run_docs({doc_id: answered})[doc_id].error for scorer in scorers_of(task.config)]

    check_columns(task, requests[0].doc, "process_results", use)


def check_repeats(task: Task, scorers: Sequence[Scorer], first: Callable[[], Sequence[Instance]]) -> None:
    """Checks what becomes of several answers to a doc, before they are requested.

    A metric that counts the first of them is a warning. A scorer of the user's own scores a made-up answer to the first doc:
    only that shows the names of its scores. first: the requests of that doc.
    Errors: ConfigError where it gives a score for each answer and no reduction: each doc would fail.
    """
    config = task.config
    if config.times_asked < 2:
        return
    if said := counting_the_first_answer(config, scorers):
        log.warning("%s: %s", config.path, said)
    if not any(scorer.makes_scores for scorer in scorers):
        return
    requests = [request for request in first() if request.error is None]
    for answer in ("", str(requests[0].target)) if requests else ():
        for scorer in scorers_of(config):
            answered = [replace(request, resps=[answer]) for request in requests]
            error = scorer.run_docs({requests[0].doc_id: answered})[requests[0].doc_id].error
            if isinstance(error, NoReduction):
                where = config.where("metric_list" if config.metric_list else "scorer")
                raise ConfigError(error.what, where=where, hint=error.hint)


def check_columns(task: Task, doc: Doc, reader: str, use: Callable[[Doc], Iterable[Exception | None]]) -> None:
    """ConfigError if a function of a task reads a column that the data lacks. Otherwise it would be found after all answers.

    reader: the task's key of the function. use: calls it on the doc, and gives the errors that it caught. Any other error is
    ignored, since it may be due to the made-up answer.
    """
    read, errors = _Read(doc), list[Exception | None]()
    try:
        errors += use(read)
    except Exception as error:  # the task's own code
        errors.append(error)
    said = "\n".join(map(str, errors))
    unknown = [column for column in read.lacking if column not in task.docs.columns and f"KeyError: {column!r}" in said]
    for column in unknown[:1]:
        raise ConfigError(
            f"{reader} reads the column {column!r}, which the data of {task.path} lacks.",
            where=task.config.where(reader),
            hint=f"{did_you_mean(column, read)} The data has: {', '.join(task.docs.columns)}.".strip(),
        )


def group_faults(loaded: Loaded, scorers: Mapping[str, list[Scorer]]) -> list[tuple[str, ConfigError]]:
    """(group, ConfigError) for each metric of a group that no task below reports and that is not registered: a misspelt one.

    A registered metric that no task below has is noted in the group's row instead: `mmlu@generate` has no log-likelihoods.
    """

    def names_are_known(scorer: Scorer) -> bool:  # a function of the task's own may report {part: value} under any name
        own = [m for m in scorer.metrics or () if not getattr(m.fn, "__module__", "").startswith("mm_eval.")]
        return isinstance(scorer, ProcessResultsScorer) or type(scorer).__module__.startswith("mm_eval.") and not own

    def reported(member: str) -> set[str] | None:
        """The metrics of the tasks below a member, and its own means; None where that can't be known before they are scored."""
        leaves = loaded.leaves(member)
        group = loaded.groups.get(member)
        means = {entry.metric for entry in group.aggregate_metric_list if entry.of} if group else set()
        if not all(leaf in scorers and all(map(names_are_known, scorers[leaf])) for leaf in leaves):
            return None
        of_judges = {name for leaf in leaves for name in loaded.tasks[leaf].metrics_of_judge}
        own = {metric.name for leaf in leaves for scorer in scorers[leaf] for metric in scorer.metrics or ()}
        return means | of_judges | own

    def wanted(name: str) -> Iterator[tuple[GroupMetric, str, set[str] | None]]:
        """(entry, a metric that it needs, the metrics that there are) of a group."""
        configs: dict[str, TaskConfig | GroupConfig] = {**loaded.tasks, **loaded.groups}
        members = {configs[member].name: member for member in loaded.group_map[name]}
        for entry in loaded.groups[name].aggregate_metric_list:
            if not entry.of:
                yield entry, entry.metric, reported(name)
            for part in (part for part in entry.of if part.member in members):
                yield entry, part.key.metric, reported(members[part.member])

    faults: list[tuple[str, ConfigError]] = []
    for name in loaded.groups:
        for entry, metric, known in wanted(name):
            plain = MetricKey(metric, "none").parent_metric or metric
            if known is not None and plain not in known and plain not in METRICS:
                what = f"group {name!r} aggregates {metric!r}, which none of its tasks reports."
                faults.append((name, ConfigError(what, where=entry.where, hint=did_you_mean(plain, known))))
        for entry in loaded.groups[name].aggregate_metric_list:
            try:
                aggregation_named(entry.aggregation)
            except ConfigError as error:
                error.located(entry.where)
                faults.append((name, error))
    return faults
