"""How good the judge of a run is, as far as the recorded verdicts show it: nothing is asked and no data set is needed.

    for task in judged_tasks(run):
        findings = list(recorded_findings(task, labels))

Agreement of two judges, noise of repeated verdicts, verdicts and the length of answers, answers from which a verdict could be
read, and what people's labels say of the judge. What needs the judge itself is in `quality`.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.config.judge import JudgeConfig
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.judge.agreement import agreement, correlation, is_nominal, measure, noise_share
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.verdicts import shown_answer
from mm_eval.results.judged import RecordedJudge, final_verdicts, judges_of, verdicts_in, was_sent
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError, MMEvalError, ScoringError, did_you_mean
from mm_eval.values.types import Number
from mm_eval.values.words import counted, of_all

SHOWN = 5
"""Answers that are quoted."""


@dataclass(frozen=True)
class Finding:
    """One line of the report. docs: those behind it. doc_ids: those to look at. note: a sentence to read with it.

    is_share: its value is a share, which is printed in percent.
    """

    check: str
    result: str
    value: float | None = None
    interval: tuple[float, float] | None = None
    docs: int = 0
    doc_ids: tuple[int, ...] = ()
    note: str = ""
    is_share: bool = False


@dataclass
class JudgedTask:
    """The verdicts of one task of a run.

    verdicts: {judge: {doc_id: verdicts}} of answers that were sent, each repeat on its own, unread ones left out.
    answers: how many answers to a doc are judged. empty: docs of which no answer was sent, because it is empty.
    lengths: characters of each doc's first answer.
    readable: (doc id, answer, value) of answers from which the task's `verdict` reads a value; None where that is not known.
    """

    name: str
    judges: Sequence[RecordedJudge]
    verdicts: dict[str, dict[int, list[Any]]] = field(default_factory=dict)
    answers: int = 1
    empty: set[int] = field(default_factory=set)
    lengths: dict[int, int] = field(default_factory=dict)
    clusters: Mapping[int, Hashable] = field(default_factory=dict)
    readable: list[tuple[int, str, object]] | None = None

    def single(self, judge: str) -> dict[int, Any]:
        """A judge's verdict on each doc: the mean where there are several numbers."""
        found = self.verdicts.get(judge, {})
        return {doc_id: of_doc[0] if len(of_doc) == 1 else statistics.fmean(of_doc) for doc_id, of_doc in found.items()}

    def of(self, doc_ids: Sequence[int]) -> list[Hashable]:
        """The clusters of some docs."""
        return [self.clusters[doc_id] for doc_id in doc_ids]


def judged_tasks(run: RecordedRun, only: Sequence[str] | None = None) -> list[JudgedTask]:
    """The tasks of a run that need a judge, each with its recorded verdicts. only: of these.

    Errors: ConfigError where there is none, and for a name that is none of them.
    """
    names = [name for name in run.tasks if (run.results.configs.get(name) or {}).get("judge")]
    names = names or [name for name in run.tasks if judges_of(run.results, name)]
    if not names:
        raise ConfigError("no task of this run needs a judge.", where=str(run.folder))
    if unknown := [name for name in only or () if name not in names]:
        raise ConfigError(f"{unknown[0]!r} is not a judged task of this run.", hint=did_you_mean(unknown[0], names))
    return [_judged_task(run, name) for name in names if only is None or name in only]


def _judged_task(run: RecordedRun, name: str) -> JudgedTask:
    stated = (run.results.configs.get(name) or {}).get("judge")
    judge = _installed_judge(run, name) if stated else None
    reads = judge.steps[-1] if judge is not None and not judge.extracts else None
    if reads is not None and _read(reads, "I don't know.", {}) is not None:
        reads = None  # it takes any text for a verdict
    task = JudgedTask(name, judges_of(run.results, name), clusters=run.tasks[name].clusters)
    task.readable = [] if reads is not None else None
    steps = len(stated) if isinstance(stated, list) else 0 if stated and "total" in stated else 1
    for row in run.rows(name):
        judged, doc_id = verdicts_in(row), row["doc_id"]
        if not judged:
            continue
        answer = shown_answer(str(row["resps"][0])) if row["resps"] else ""
        if not all(map(was_sent, judged.values())):
            task.empty.add(doc_id)
            continue
        task.lengths[doc_id], task.answers = len(answer), max(task.answers, len(row["resps"]))
        for at, entries in judged.items():
            values = [_value(verdict, judge, row["doc"]) for verdict in final_verdicts(entries, steps)]
            if known := [value for value in values if value is not None]:
                task.verdicts.setdefault(at or task.judges[0].name, {})[doc_id] = known
        if reads is not None and task.readable is not None and (value := _read(reads, answer, row["doc"])) is not None:
            task.readable.append((doc_id, answer, value))
    return task


def _installed_judge(run: RecordedRun, name: str) -> JudgeConfig | None:
    """The judge of the task as it is installed, with its functions; None where there is none, or another one."""
    config = run.config(name)
    try:
        return judge_of_task(config.resolved(FOREIGN_CODE)) if config is not None else None
    except MMEvalError:
        return None


def position(judge: JudgeConfig, doc: Mapping[str, object], verdict: object) -> float | None:
    """Where a verdict stands between the lowest (0) and the highest (1) of the task; None for a class.

    Of a pair of scores, or of several by metric: its place along the line from the lowest to the highest.
    """
    try:
        ends = judge.bounds(doc)
    except Exception:  # the task's own code
        return None
    low, high, found = (_parts(value) or {0: value} for value in (*ends, verdict))
    names = [name for name in low if all(isinstance(each.get(name), (bool, int, float)) for each in (low, high, found))]
    length = sum((high[name] - low[name]) ** 2 for name in names)
    if not length:
        return None
    return float(sum((found[name] - low[name]) * (high[name] - low[name]) for name in names) / length)


def _parts(value: object) -> dict[Any, Any]:
    """The parts of a verdict that is several numbers, of each metric where it is of several; empty for a single one."""
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    if not isinstance(value, Mapping):
        return {}
    parts = {name: _parts(part) or {0: part} for name, part in value.items()}
    return {(name, place): each for name, of_name in parts.items() for place, each in of_name.items()}


def _value(verdict: object, judge: JudgeConfig | None, doc: Mapping[str, object]) -> object:
    """The number or class of a verdict: of a mapping that of the first metric, of several numbers their place in the range."""
    if isinstance(verdict, Mapping):
        metric = judge.metrics[0] if judge is not None and judge.metrics else ""
        picked = verdict.get(metric, next(iter(verdict.values()), None))
        if isinstance(picked, list) and judge is not None:
            return position(judge, doc, {metric: picked})
        verdict = picked
    if isinstance(verdict, list) and judge is not None:
        return position(judge, doc, verdict)
    return verdict if isinstance(verdict, (bool, int, float, str)) else None


def _read(step: Any, answer: str, doc: Mapping[str, object]) -> object:
    """What the task's `verdict` function reads in an answer of the model, as if it were the judge's reply."""
    try:
        return step.read(answer, doc)
    except Exception:  # the task's own code, on a text that it was not written for
        return None


def recorded_findings(task: JudgedTask, labels: Mapping[int, float] | None = None) -> Iterator[Finding]:
    """What the recorded verdicts of a task say of its judges. labels: people's, by doc id."""
    for place, first in enumerate(task.judges):
        for second in task.judges[place + 1 :]:
            a, b = task.single(first.name), task.single(second.name)
            shared = sorted(a.keys() & b.keys())
            check, difference = f"{first.name} and {second.name} agree", f"{second.name} - {first.name}"
            yield from _compared(check, [a[i] for i in shared], [b[i] for i in shared], shared, task, difference)
    for judge in task.judges:
        yield from _noise(task, judge.name)
        yield from _length(task, judge.name, labels)
    if task.readable is not None:
        yield _steering(task)
    for judge in task.judges if labels else ():
        yield from _by_people(task, judge.name, labels or {})


def _estimated(check: str, found: Number, result: str, doc_ids: Sequence[int] = (), note: str = "") -> Finding:
    is_share = found.scale == (0.0, 1.0)
    return Finding(
        check, result, found.value, found.interval, found.n or 0, tuple(doc_ids), note or found.note, is_share
    )


def _compared(
    check: str, first: list[Any], second: list[Any], shared: list[int], task: JudgedTask, difference: str
) -> Iterator[Finding]:
    try:
        found = agreement(first, second, task.of(shared))
    except ScoringError as error:
        yield Finding(check, "not known", note=str(error))
        return
    differing = [shared[place] for place in found.differing]
    count = f"the same verdict on {of_all(found.docs - len(differing), found.docs, 'document')}"
    yield _estimated(check, found.equal, count, differing)
    if found.kappa is not None:
        yield _estimated("  beyond chance (Cohen's kappa)", found.kappa, f"{found.kappa.value:.3f}")
    if found.difference is not None:
        yield _estimated(f"  mean difference ({difference})", found.difference, f"{found.difference.value:+.4f}")
    if found.spearman is not None:
        yield _estimated("  same order (Spearman)", found.spearman, f"{found.spearman.value:.3f}")


def _noise(task: JudgedTask, judge: str) -> Iterator[Finding]:
    if task.answers > 1:
        return  # verdicts on several answers differ as these do
    of_docs = {i: found for i, found in task.verdicts.get(judge, {}).items() if len(found) > 1}
    if not of_docs or any(isinstance(verdict, str) for found in of_docs.values() for verdict in found):
        return
    share = noise_share(list(of_docs.values()), task.of(list(of_docs)))
    check = f"{judge}: repeated verdicts on one answer"
    if share is None:
        yield Finding(check, "all verdicts are identical", docs=len(of_docs))
        return
    unlike = [doc_id for doc_id, found in of_docs.items() if len(set(found)) > 1]
    yield _estimated(check, share, f"{share.value:.0%} of a verdict's variance is the judge's noise", unlike)


def _length(task: JudgedTask, judge: str, labels: Mapping[int, float] | None) -> Iterator[Finding]:
    """Spearman's correlation of verdict and length, within right and wrong answers where somebody else says which these are."""
    verdicts = task.single(judge)
    if any(isinstance(verdict, str) for verdict in verdicts.values()):
        return
    other = next((each.name for each in task.judges if each.name != judge), None)
    truth, by = dict(labels or {}), "people"
    if len(truth.keys() & verdicts.keys()) < 3 and other is not None:
        truth, by = task.single(other), other
    usable = {doc_id: mark for doc_id, mark in truth.items() if doc_id in verdicts}
    groups: list[tuple[str, list[int], str]] = []
    if usable and is_nominal(usable.values()) and not any(isinstance(mark, str) for mark in usable.values()):
        for mark, kind in ((1, "right"), (0, "wrong")):
            groups.append(
                (
                    f"answers that {by} call{'' if by == 'people' else 's'} {kind}",
                    sorted(i for i in usable if usable[i] == mark),
                    "",
                )
            )
    else:
        note = "without people's labels or a second judge, long answers may simply be better ones."
        groups.append(("all answers", sorted(verdicts), note))
    for said, doc_ids, note in groups:
        found = correlation([verdicts[i] for i in doc_ids], [task.lengths[i] for i in doc_ids], task.of(doc_ids))
        check = f"{judge}: verdict and length, {said}"
        if found is None:
            yield Finding(check, "no correlation: all verdicts or lengths are equal", docs=len(doc_ids))
        else:
            yield _estimated(check, found, f"{found.value:+.3f} (Spearman)", note=note)


def _steering(task: JudgedTask) -> Finding:
    readable = task.readable or []
    quoted = "; ".join(
        f"doc {doc_id}: {answer[:80]!r} is read as {value!r}" for doc_id, answer, value in readable[:SHOWN]
    )
    note = f"Such an answer can steer the judge. {quoted}" if readable else ""
    said = f"{len(readable)} of {len(task.lengths)}"
    ids = tuple(doc_id for doc_id, _, _ in readable)
    return Finding("answers that contain a verdict themselves", said, docs=len(task.lengths), doc_ids=ids, note=note)


def _by_people(task: JudgedTask, judge: str, labels: Mapping[int, float]) -> Iterator[Finding]:
    verdicts = task.single(judge)
    shared = sorted(verdicts.keys() & labels.keys())
    known, of_people = [verdicts[i] for i in shared], [labels[i] for i in shared]
    unjudged = len(labels) - len(shared)
    docs = counted(unjudged, "labelled document has", "labelled documents have")
    note = f"{docs} no verdict of the judge and {'is' if unjudged == 1 else 'are'} left out." if unjudged else ""
    if not shared or not is_nominal([*verdicts.values(), *of_people]):
        yield from _compared(f"{judge} and people agree", known, of_people, shared, task, f"people - {judge}")
        yield Finding(
            "  corrected number", "none: it needs verdicts and labels that are right (1) or wrong (0)", note=note
        )
        return
    order = sorted(verdicts)
    marks = [labels[i] == 1 if i in labels else None for i in order]
    try:
        found = measure([verdicts[i] == 1 for i in order], marks, task.of(order))
    except ScoringError as error:
        yield Finding(f"{judge}, measured by people", "not known", docs=len(shared), note=str(error))
        return
    passed, failed = found.sensitivity, found.specificity
    for said, (value, interval), count, label in (
        ("passes right answers (sensitivity)", passed, found.positives, 1),
        ("fails wrong answers (specificity)", failed, found.negatives, 0),
    ):
        wrong = tuple(i for i in shared if labels[i] == label and verdicts[i] != label)
        yield Finding(f"{judge}: {said}", f"{value:.1%}", value, interval, count, wrong, is_share=True)
    count = len(order) + len(task.empty)
    are = (
        f"{'is' if len(task.empty) == 1 else 'are'} empty and {'counts' if len(task.empty) == 1 else 'count'} as wrong"
    )
    empty = f"{len(task.empty)} of the {count} answers {are}." if task.empty else ""
    for said, (value, ends) in (("as judged", found.plain), ("corrected for these errors", found.corrected)):
        value, low, high = (len(order) / count * each for each in (value, *ends))
        check = f"{judge}: share of right answers, {said}"
        yield Finding(check, f"{value:.1%}", value, (low, high), count, note=empty, is_share=True)
    if note:
        yield Finding("labels", note)
