"""The checks of `mm-eval validate`.

`validate` needs no model: every config must load, every doc must give a prompt, the gold answers must score full marks, and
wrong or empty answers must not. A task that scores its own right answers as wrong measures its scorer; this finds it before a
GPU hour is spent.
`invariance` compares a model's answers at batch 1 with those at the real batch and in two shards.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from mm_eval.cli.say import TaskCheck
from mm_eval.config.manager import Loaded
from mm_eval.data.places import has_files
from mm_eval.engine.generation import check_for_any_model
from mm_eval.engine.model import METHODS, Model
from mm_eval.engine.order import CheapestOrder
from mm_eval.first_checks import check_prompt_keys, group_faults
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.gold_checks.first_rows import (
    FIRST,
    columns_that_differ,
    has_own_numbers,
    rows_that_differ,
    validated,
)
from mm_eval.gold_checks.trial import FULL, Trial, TrialResult
from mm_eval.open_tasks import OpenedTasks, without_sample
from mm_eval.prepare import Prepared, load_configs, prepare, prepare_without_model
from mm_eval.prompt.blocks import choose_block
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.request import RunRequest
from mm_eval.scoring.base import Scorer
from mm_eval.values.errors import ConfigError, MMEvalError, all_faults
from mm_eval.values.types import Instance, Slot, main_metrics
from mm_eval.values.words import counted, listed

TOLERANCE = 1e-4
"""Nats by which log-likelihoods may differ: what float32 allows."""
MOST_NAMES = 8
"""Numbers of a task that a message names."""
Outputs = dict[Slot, Any]
log = logging.getLogger(__name__)


def validate(request: RunRequest) -> Iterator[TaskCheck]:
    """The faults of all unreadable tasks and groups, then one finding for each task, or one for each of its faults.

    Errors: ConfigError for an option that is wrong for every task.
    """
    unread: list[tuple[str, ConfigError]] = []
    loaded = load_configs(request, unread)
    reported: set[str] = set()
    for name, error in unread:
        for finding in _findings(name, error):
            if finding.text not in reported:  # two groups may share a member
                reported.add(finding.text)
                yield finding
    unchecked = without_sample(loaded, request) if request.sample and loaded.tasks else set()
    scorers: dict[str, list[Scorer]] = {}
    for name in loaded.tasks:
        if name in unchecked:
            continue
        try:
            plan = prepare_without_model(request, name, loaded)
            scorers[name] = plan.scorers[name]
            yield from (check_task(plan, task_name, task) for task_name, task in plan.tasks.items())
        except MMEvalError as error:
            yield from _findings(name, error)
    yield from _groups(loaded, scorers)
    if unchecked:
        said = f"not checked, since there is no sample data: {counted(len(unchecked), 'task')} ({listed(sorted(unchecked), 5)})"
        yield TaskCheck(", ".join(root for root in loaded.roots if unchecked & {*loaded.leaves(root)}), True, said)


def _groups(loaded: Loaded, scorers: Mapping[str, list[Scorer]]) -> Iterator[TaskCheck]:
    """The faults in the configs of the groups."""
    for name, group in loaded.groups.items():
        try:
            group.resolved(FOREIGN_CODE)
        except ConfigError as error:
            yield from _findings(name, error)
    for name, fault in group_faults(loaded, scorers):
        yield from _findings(name, fault)


def _findings(name: str, error: MMEvalError) -> Iterator[TaskCheck]:
    """A finding for an error, and for each error that was found with it."""
    for fault in all_faults(error):
        yield TaskCheck(name, False, f"{fault.owner} error: {fault}")


class _FaultError(Exception):
    """What is wrong with a task, in a sentence."""


def check_task(plan: OpenedTasks, name: str, task: Task) -> TaskCheck:
    """Builds every doc's prompt, and scores its gold answer, a wrong answer and an empty one."""
    try:
        return TaskCheck(name, True, _examine(plan, name, task))
    except _FaultError as fault:
        return TaskCheck(name, False, str(fault))
    except MMEvalError as error:
        return TaskCheck(name, False, f"{error.owner} error: {error}")


def _examine(plan: OpenedTasks, name: str, task: Task) -> str:
    """What was checked, in words."""
    doc_ids, of_parts = plan.doc_ids[name], list[str]()
    _check_generation(task)
    trial = _trial(plan, name, task)
    docs = counted(len(doc_ids), "document")
    for found in validated(task, doc_ids):
        of_parts += [found.said] if found.said else []
        is_all = trial.known and not any(scorer.metrics for scorer in plan.scorers[name])
        if found.grades_all or found.said and is_all:
            return f"{docs}; {found.said}"
    if not trial.known:
        return "; ".join([docs, "none has a gold answer, so the scores were not checked", *of_parts])
    without = len(doc_ids) - len(trial.known)
    said = "; ".join(
        [
            docs + (f", {without} without a gold answer" if without else ""),
            *rows_that_differ(task),
            *columns_that_differ(task),
            *of_parts,
        ]
    )
    return _scores_said(trial, said)


def _check_generation(task: Task) -> None:
    """ConfigError for generation options with which no model would be asked."""
    if task.config.output_type != "generate_until":
        return
    try:
        check_for_any_model(task.config.generation_kwargs)
    except ConfigError as error:
        raise ConfigError(error.what, where=task.config.where("generation_kwargs"), hint=error.hint) from error


def _check_first_pictures(task: Task, doc_ids: Sequence[int], style: PromptStyle) -> None:
    """Raises the error of the first picture or sound that can't be found or decoded, with how many of the first docs have one."""
    first = list(doc_ids[:FIRST])
    broken = {each.doc_id: each.error for each in task.instances(first, style) if each.error is not None}
    for error in broken.values():
        of_first = f"{len(broken)} of the first {counted(len(first), 'document')}"
        what = task.media(style)
        raise _FaultError(f"the {what} of {of_first} can't be read, such as {error}")


def _trial(plan: OpenedTasks, name: str, task: Task) -> Trial:
    """The prompts of all docs, with every block of the task."""
    style, doc_ids = plan.styles[name], plan.doc_ids[name]
    trial = Trial(task, style, plan.scorers[name])
    unseen = None if shows_frames(task, doc_ids, style) else lambda doc_id: None
    for instance in task.instances(doc_ids, style, unseen):
        if instance.error is not None:
            raise instance.error
        trial.add(instance)
    if task.has_pictures and unseen is not None and not task.docs.bundled:
        _check_first_pictures(task, doc_ids, style)
    check_prompt_keys(task, doc_ids, [choose_block(task.config, (), key) for key in task.config.prompt_kwargs])
    return trial


def _scores_said(trial: Trial, said: str) -> str:
    """What gold, wrong, empty and missing answers score, behind what was said before."""
    gold = trial.gold_answers()
    if gold.fault or gold.scores is None:
        raise _FaultError(gold.fault)
    shown = [f"{number.key} = {number.value:g}" for number in gold.scores.numbers if number.value is not None]
    said += f"; gold answers score {', '.join(shown)}"
    given = [number.key for number in gold.scores.numbers]
    for main in () if has_own_numbers(trial.task.config) else main_metrics(trial.task.config.metadata):
        if not any(key.is_named(main) for key in given):
            names = listed([key.label for key in given], MOST_NAMES)
            raise _FaultError(f"metadata.metric names {main!r}, which is not a metric of the task; it has {names}")
    if fault := _below_full(trial, gold):
        raise _FaultError(fault)
    for kind, tried in (("wrong", trial.wrong_answers()), ("empty", trial.empty_answers())):
        if tried.fault:
            raise _FaultError(tried.fault)
        if tried.docs and tried.full == tried.docs and (kind == "wrong" or trial.gold_varies):
            tried_in = "the only document" if tried.docs == 1 else f"all {tried.docs} documents"
            raise _FaultError(f"{said}; {kind} answers get full marks, too, in {tried_in} tried")
        said += f"; {kind} answers score 0 in {tried.zero} of {tried.docs}" if tried.docs else ""
        right, number = trial.headline(gold), trial.headline(tried)
        if right and number and not tried.docs:
            said += f"; {kind} answers score {number[0]} = {number[1]:g}"
            if kind == "wrong" and "metric" in trial.task.config.metadata and not _better(right, number):
                raise _FaultError(f"{said}, no worse than the gold answers")
    missing = trial.missing_answers()
    if missing.fault or missing.zero < missing.docs:
        what = (
            "a missing answer (filtered, refused, cut before any text) scores more than 0: state `worst` of the metric"
        )
        raise _FaultError(missing.fault or what)
    return said


def shows_frames(task: Task, doc_ids: Sequence[int], style: PromptStyle) -> bool:
    """Whether the frames of each doc are to be looked for: the data set has such files, or the first doc shows one."""
    if has_files(task.config.dataset_kwargs):
        return True
    return task.has_pictures and any(instance.clips for instance in task.instances(list(doc_ids[:1]), style))


def _below_full(trial: Trial, gold: TrialResult) -> str:
    """What is wrong where no doc has a mark and the number that the task states is a fraction below 1; empty if nothing is."""
    found = trial.headline(gold)
    if gold.docs or found is None or "metric" not in trial.task.config.metadata:
        return ""
    key, value, higher = found
    return f"the gold answers score {key} = {value:g}" if higher and 0 <= value < FULL else ""


def _better(one: tuple[str, float, bool], other: tuple[str, float, bool]) -> bool:
    return one[1] > other[1] if one[2] else one[1] < other[1]


@dataclass(frozen=True)
class ChangedAnswer:
    """A slot with different answers: alone is that at batch 1, other that of the other way."""

    slot: Slot
    way: str
    alone: object
    other: object

    def __str__(self) -> str:
        place = f"{self.slot.task} doc {self.slot.doc_id}"
        place += f" repeat {self.slot.repeat}" if self.slot.repeat else ""
        place += f" choice {self.slot.choice}" if isinstance(self.alone, tuple) else ""
        return f"{place}: {_shorten(self.alone)} at batch 1, {_shorten(self.other)} {self.way}"


@dataclass(frozen=True)
class BatchComparison:
    """The comparison of one way of batching with batch 1.

    answers: the slots that were compared; those that failed in both ways are not.
    worst: the largest difference of log-likelihoods, in nats.
    """

    way: str
    answers: int
    worst: float
    differences: list[ChangedAnswer]


def invariance(request: RunRequest) -> Iterator[BatchComparison]:
    """Requests the docs at batch 1, at the real batch and in two shards; one comparison for each of the latter two."""
    plan = prepare(replace(request, batch_size=1))
    alone = _answers(plan.model, _instances(plan))
    if failed := [output for output in alone.values() if _is_error(output)]:
        log.warning("%d of %d questions failed at batch 1, the first with %s", len(failed), len(alone), failed[0])
    del plan  # its memory is needed for the other model
    real = prepare(request)
    model = real.model
    together = _answers(model, _instances(real))
    yield compare_batching(alone, together, f"at batch {request.batch_size}")
    sharded = {**_answers(model, _instances(real, 0)), **_answers(model, _instances(real, 1))}
    yield compare_batching(alone, sharded, "in two shards")


def compare_batching(alone: Outputs, other: Outputs, way: str) -> BatchComparison:
    """The slots with different answers; log-likelihoods differ where they are more than TOLERANCE apart."""
    worst, differences, answers = 0.0, [], 0
    for slot, one in alone.items():
        two = other.get(slot)
        if _is_error(one) and _is_error(two):
            continue
        answers += 1
        if isinstance(one, tuple) and isinstance(two, tuple):
            gap = 0.0 if one[0] == two[0] else abs(one[0] - two[0])
            worst = max(worst, gap)
            equal = gap <= TOLERANCE and one[1] == two[1]
        else:
            equal = one == two
        if not equal:
            differences.append(ChangedAnswer(slot, way, one, two))
    return BatchComparison(way, answers, worst, differences)


def _instances(plan: Prepared, shard: int | None = None) -> Iterator[Instance]:
    for name, task in plan.tasks.items():
        doc_ids = plan.doc_ids[name] if shard is None else plan.doc_ids[name][shard::2]
        if doc_ids:
            yield from task.instances(doc_ids, plan.styles[name])


def _answers(model: Model, instances: Iterator[Instance]) -> Outputs:
    """The model's answers by slot, with errors in their places; nothing is retried or stored."""
    model.prepare()
    found: Outputs = {}

    def sound(group: Iterator[Instance]) -> Iterator[Instance]:
        for instance in group:
            if instance.error is None:
                yield instance
            else:
                found[instance.slot] = instance.error

    for kind, group in groupby(CheapestOrder(instances), key=lambda instance: instance.request_type):
        for instance, answer in getattr(model, METHODS[kind])(sound(group)):
            found[instance.slot] = answer if isinstance(answer, MMEvalError) else answer.output
    return found


def _is_error(output: object) -> bool:
    return isinstance(output, MMEvalError)


def _shorten(output: object) -> str:
    if isinstance(output, tuple):
        return f"{output[0]:.5f}{' (greedy)' if output[1] else ''}"
    text = f"error: {output}" if _is_error(output) else repr(output)
    return text if len(text) < 80 else f"{text[:77]}..."
