"""Golds that a person has found wrong: a file of decisions, read, checked and applied to the tasks of a recorded run.

A line of the file is a JSON mapping, as the page of `mm-eval doubt --html` saves it:

    {"task": "mme", "doc_id": 3, "gold": "Yes", "decision": "wrong", "target": "No"}

Every new gold is tried before anything is scored: as an answer it must get full marks, and no question may change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from mm_eval.gold_checks.trial import Trial
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prompt.task import NewGold, PromptStyle, Task
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.run_results import GoldFixes, Results
from mm_eval.values.errors import ConfigError, MMEvalError, did_you_mean
from mm_eval.values.types import Instance, for_json
from mm_eval.values.words import counted

Opened = TypeVar("Opened", bound=OpenedTasks)
Choice = Literal["wrong", "drop", "right", "unsure"]
CHOICES: tuple[Choice, ...] = ("wrong", "drop", "right", "unsure")
KEYS = ("task", "doc_id", "gold", "decision", "target", "columns", "data", "note")
DATA = 16
"""Characters of the fingerprint of the data that a line states."""


@dataclass(frozen=True)
class Decision:
    """A line of the file. where: the file and the line. data: the first characters of the data's fingerprint, "" for any.

    target: the right answer, in the form of the gold. columns: those of the doc in which it stands.
    """

    where: str
    task: str
    doc_id: int
    gold: Any
    choice: Choice
    target: Any = None
    columns: Mapping[str, object] = field(default_factory=dict)
    data: str = ""


@dataclass(frozen=True)
class FixedGolds:
    """The golds that were fixed in a run. dropped: {task: ids of docs that are not scored}. facts: as results.json has them."""

    facts: GoldFixes
    dropped: Mapping[str, frozenset[int]]

    def without_dropped(self, opened: Opened) -> Opened:
        """The tasks without the docs that were dropped. ConfigError where nothing is left of one."""
        asked = opened.doc_ids
        left = {name: [each for each in ids if each not in self.dropped.get(name, ())] for name, ids in asked.items()}
        if empty := next((name for name, ids in left.items() if not ids and asked[name]), None):
            raise ConfigError(f"every document of {empty} is dropped.", where=self.facts["file"])
        return replace(opened, doc_ids=left, dropped={name: len(asked[name]) - len(ids) for name, ids in left.items()})

    def mark(self, results: Results) -> None:
        """Writes into the results which golds were fixed, and says so of each row with any, and in its name."""
        results.gold_fixes = self.facts
        for name, row in results.rows.items():
            if said := results.fixed_golds(name):
                row.notes.append(f"{said}: not the benchmark's own score")
                row.shown = f"{row.shown or row.alias} (golds fixed)"


def read_decisions(path: Path) -> tuple[list[Decision], str]:
    """The lines of a file of decisions, and the digest of its bytes. Errors: ConfigError with file and line."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        hint = "The page of `mm-eval doubt --html` saves one."
        raise ConfigError(f"it can't be read: {error.strerror}.", where=str(path), hint=hint) from error
    except UnicodeDecodeError as error:
        raise ConfigError("it is not UTF-8 text.", where=str(path)) from error
    found, first = list[Decision](), dict[tuple[str, int], str]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        decision = _decision(line, f"{path}:{number}")
        if earlier := first.get((decision.task, decision.doc_id)):
            what = f"{decision.task} doc {decision.doc_id} is decided twice; first in {earlier}."
            raise ConfigError(what, where=decision.where, hint="Keep one of the lines.")
        first[decision.task, decision.doc_id] = decision.where
        found.append(decision)
    return found, hashlib.sha256(content).hexdigest()


def _no_number(name: str) -> object:
    raise ValueError(name)


def _decision(line: str, where: str) -> Decision:
    try:
        stated = json.loads(line, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ConfigError("the line is not JSON.", where=where, hint="Each line is one decision as JSON.") from error
    if not isinstance(stated, dict):
        raise ConfigError("the line is not a mapping.", where=where, hint='{"task": ..., "doc_id": ..., ...}')
    if unknown := [key for key in stated if key not in KEYS]:
        raise ConfigError(f"unknown key {unknown[0]!r}.", where=where, hint=did_you_mean(unknown[0], KEYS))
    if missing := [key for key in ("task", "doc_id", "gold", "decision") if key not in stated]:
        raise ConfigError(f"the line has no {missing[0]!r}.", where=where)
    task, doc_id, choice, data = stated["task"], stated["doc_id"], stated["decision"], stated.get("data", "")
    if not isinstance(task, str) or type(doc_id) is not int or doc_id < 0 or not isinstance(data, str):
        what = "`task` and `data` are texts, and `doc_id` is a whole number from 0."
        raise ConfigError(what, where=where)
    if choice not in CHOICES:
        raise ConfigError(f"the decision is {choice!r}; one of {', '.join(CHOICES)} is needed.", where=where)
    if (choice == "wrong") is not ("target" in stated):
        hint = 'Or decide "drop" where no answer is right.' if choice == "wrong" else ""
        said = (
            "states no `target`, the right answer"
            if choice == "wrong"
            else "has a `target`, which only a wrong gold has"
        )
        raise ConfigError(f"the decision {choice!r} {said}.", where=where, hint=hint)
    columns = stated.get("columns", {})
    if not isinstance(columns, dict) or columns and choice != "wrong":
        raise ConfigError("`columns` is a mapping of columns of the document whose gold is wrong.", where=where)
    return Decision(where, task, doc_id, stated["gold"], choice, stated.get("target"), columns, data)


def fix_golds(opened: OpenedTasks, path: Path) -> FixedGolds:
    """Applies a file of decisions to opened tasks. Golds that are right, or of which one is unsure, stay.

    Errors: ConfigError with file and line for a decision that does not fit the data.
    """
    decisions, digest = read_decisions(path)
    by_task: dict[str, list[Decision]] = {}
    for each in decisions:
        name = each.task if each.task in opened.tasks else _name_of(opened, each.task)
        if name is not None:
            by_task.setdefault(name, []).append(each)
    if not by_task:
        names = dict.fromkeys(each.task for each in decisions)
        what = f"it decides on no task of this run ({', '.join(opened.tasks)})."
        hint = did_you_mean(next(iter(names)), opened.tasks) if names else "It has no line."
        raise ConfigError(what, where=str(path), hint=hint)
    facts: GoldFixes = {"file": path.name, "sha256": digest, "tasks": {}}
    dropped = dict[str, frozenset[int]]()
    for name, of_task in by_task.items():
        asked, lines = set(opened.doc_ids[name]), dict[int, str]()
        for each in of_task:
            _check_place(opened.tasks[name], each)
            if (earlier := lines.setdefault(each.doc_id, each.where)) != each.where:
                what = f"{name} doc {each.doc_id} is decided twice; first in {earlier}."
                raise ConfigError(what, where=each.where, hint="Keep one of the lines.")
        wanted = [each for each in of_task if each.doc_id in asked and each.choice in ("wrong", "drop")]
        _fix(opened, name, wanted)
        fixed = [each.doc_id for each in wanted if each.choice == "wrong"]
        dropped[name] = frozenset(each.doc_id for each in wanted if each.choice == "drop")
        counts = {"fixed": len(fixed), "dropped": len(dropped[name])}
        if wanted:
            facts["tasks"][name] = {kind: count for kind, count in counts.items() if count}
    if not facts["tasks"]:
        opened.notes.append(f"{path.name} changes no gold of the documents of this run")
    return FixedGolds(facts, dropped)


def _name_of(opened: OpenedTasks, path: str) -> str | None:
    """The name in this run of the task with a path."""
    return next((name for name, task in opened.tasks.items() if task.path == path), None)


def _check_place(task: Task, each: Decision) -> None:
    """ConfigError for a document that the data does not have, or that is of other data."""
    if each.doc_id >= len(task.docs):
        what = f"{each.task} has no document {each.doc_id}; it has {counted(len(task.docs), 'document')}."
        raise ConfigError(what, where=each.where)
    if each.data and not task.docs.fingerprint.startswith(each.data[:DATA]):
        what = f"the decision on doc {each.doc_id} was made on other data of {each.task}."
        hint = "Decide on this data; or take `data` out of the lines, where the documents have the same numbers."
        raise ConfigError(what, where=each.where, hint=hint)


def _fix(opened: OpenedTasks, name: str, wanted: Sequence[Decision]) -> None:
    """Gives a task its new golds, checked."""
    task, style = opened.tasks[name], opened.styles[name]
    before = _first_instances(task, style, [each.doc_id for each in wanted])
    for each in wanted:
        instance = before[each.doc_id]
        if instance.error is not None:
            raise ConfigError(f"doc {each.doc_id} can't be read: {instance.error.what}", where=each.where)
        if not _equal(as_json(instance.target), each.gold):
            said = f"the line says {_short(each.gold)}"
            what = f"the gold of {each.task} doc {each.doc_id} is {_short(instance.target)}, and {said}."
            raise ConfigError(
                what, where=each.where, hint="The decision was made on another document, or on other data."
            )
    fixes = [each for each in wanted if each.choice == "wrong"]
    if fixes and task.config.is_judged and not opened.request.judge.left_out:
        what = f"a judge graded {fixes[0].task} by the golds of the data, and its verdicts do not change."
        hint = "Score without the judge (--no_judge), or decide `drop`."
        raise ConfigError(what, where=fixes[0].where, hint=hint)
    for each in fixes:
        if fault := _fault_of_form(each.target, before[each.doc_id]):
            needed = f"{fault} is needed, as in {_short(each.gold)}"
            what = f"the target of {each.task} doc {each.doc_id} is {_short(each.target)}; {needed}."
            raise ConfigError(what, where=each.where)
        if _equal(each.target, each.gold):
            what = f"the target of {each.task} doc {each.doc_id} is the gold itself: {_short(each.gold)}."
            raise ConfigError(what, where=each.where, hint='Decide "right", or give the right answer.')
        if lacking := next((column for column in each.columns if column not in before[each.doc_id].doc), None):
            hint = did_you_mean(lacking, before[each.doc_id].doc)
            raise ConfigError(f"doc {each.doc_id} has no column {lacking!r}.", where=each.where, hint=hint)
    if not fixes:
        return
    task.golds = {each.doc_id: _new_gold(task, before[each.doc_id], each) for each in fixes}
    _check_questions(task, style, fixes, before)
    _check_marks(task, style, fixes)


def _first_instances(task: Task, style: PromptStyle, doc_ids: Iterable[int]) -> dict[int, Instance]:
    """The first request of each doc, as scoring makes it."""
    found: dict[int, Instance] = {}
    for instance in task.instances(list(doc_ids), style, lambda doc_id: None):
        found.setdefault(instance.doc_id, instance)
    return found


def _new_gold(task: Task, before: Instance, each: Decision) -> NewGold:
    """A fix as the task takes it: with the column that the target is, where it is one."""
    column, columns = task.config.doc_to_target, dict(each.columns)
    if not columns and isinstance(column, str) and _equal(as_json(before.doc.get(column)), each.gold):
        columns = {column: each.target}
    return NewGold(each.target, columns)


def _fault_of_form(target: object, before: Instance) -> str:
    """What a target of a document must be, where this one is not; empty where it fits."""
    gold, choices = before.target, before.metadata.get("choices")
    if isinstance(gold, (list, tuple)):
        inside = "an index of a choice" if choices and all(type(each) is int for each in gold) else ""
        if not isinstance(target, list) or not target:
            return f"a list of {'choices' if inside else 'accepted answers'}"
        faults = (_fault_of_form(each, replace(before, target=gold[0])) for each in target) if gold else ()
        return next((f"a list, each of which is {fault}" for fault in faults if fault), "")
    if type(gold) is int and choices is not None and before.request_type != "generate_until":
        fits = type(target) is int and 0 <= target < len(choices)
        return "" if fits else f"the index of a choice from 0 to {len(choices) - 1}"
    for kinds, said in (((bool,), "true or false"), ((int, float), "a number"), ((str,), "a text")):
        if isinstance(gold, kinds):
            right = isinstance(target, kinds) and (bool in kinds or not isinstance(target, bool))
            return "" if right and (not isinstance(target, str) or target.strip()) else said
    return "" if type(as_json(gold)) is type(target) else f"a value like {_short(gold)}"


def _check_questions(task: Task, style: PromptStyle, fixes: Sequence[Decision], before: Mapping[int, Instance]) -> None:
    """ConfigError where a fix changes what was asked, or does not reach the task."""
    after = _first_instances(task, style, [each.doc_id for each in fixes])
    for each in fixes:
        old, new = before[each.doc_id], after[each.doc_id]
        if new.error is not None:
            raise ConfigError(f"with the new gold, doc {each.doc_id} can't be read: {new.error.what}", where=each.where)
        asked = [(one.context, one.continuation, one.metadata.get("choices")) for one in (old, new)]
        if asked[0] != asked[1]:
            what = f"the new gold changes what was asked in {each.task} doc {each.doc_id}."
            raise ConfigError(what, where=each.where, hint='The answer is to another question: decide "drop".')
        if not _equal(as_json(new.target), each.target):
            what = (
                f"{each.task} makes its targets by code of its own, which took {_short(new.target)} for the new gold."
            )
            raise ConfigError(what, where=each.where)


def _check_marks(task: Task, style: PromptStyle, fixes: Sequence[Decision]) -> None:
    """ConfigError where a new gold, given as an answer, gets no full marks: scoring does not go by it."""
    for each in fixes:
        if _fault_of_gold(task, style, each):
            said = f"the new gold {_short(each.target)}: as an answer it gets no full marks"
            what = f"{each.task} doc {each.doc_id} is not scored by {said}."
            hint = "The task's scoring reads other columns of the document: state them as `columns`, with their right values."
            raise ConfigError(what, where=each.where, hint=hint)


def _fault_of_gold(task: Task, style: PromptStyle, each: Decision) -> str:
    trial = Trial(task, style, scorers_of(task.config))
    try:
        for instance in task.instances([each.doc_id], style, lambda doc_id: None):
            trial.add(instance)
        return trial.gold_answers().fault if trial.known else ""
    except MMEvalError as error:
        return str(error)


def as_json(value: object) -> Any:
    """A value as samples/ has it."""
    return json.loads(json.dumps(value, default=for_json))


def _equal(one: object, other: object) -> bool:
    """Whether two JSON values are the same; 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return one == other


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
