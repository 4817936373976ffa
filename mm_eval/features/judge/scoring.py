"""The numbers of a judge: its verdicts are the values of the docs, and are aggregated like all other values.

Three kinds of tasks, one scorer:
- a verdict is a metric of its own (judge_score);
- `extracts`: what the judge read takes the place of the answer, and the task's own scorer scores it;
- `only_unparsed`: the task's own scorer scores what it can read, and the verdict is the value of the other docs.

A doc whose verdict is missing or can't be read has no value: it is left out of the mean and counted (`failed_docs`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from mm_eval.config.task_config import TaskConfig
from mm_eval.features.judge.config import JudgeConfig, judge_of_task
from mm_eval.scoring.base import DEFAULT_BOOTSTRAP_ITERS, Scorer
from mm_eval.scoring.filters.base import TRUNCATED, UNPARSED, FilterEnsemble, is_unanswered
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.process_results import ProcessResultsScorer, declared_metric
from mm_eval.values.errors import ConfigError, MMEvalError, did_you_mean
from mm_eval.values.reasoning.recorded import as_text, parts_of
from mm_eval.values.types import Doc, Instance, MetricKey, Number, ReducedDoc, ScoredDoc

if TYPE_CHECKING:
    from mm_eval.scoring.asked import Asked


@dataclass(frozen=True)
class DocVerdict:
    """A judge's verdict on one doc. error: why there is none. shown: what samples/ shows of it."""

    value: Any
    error: MMEvalError | None
    shown: Any


class VerdictSource(Protocol):
    """Where verdicts come from: the journal."""

    def of_doc(self, doc_id: int, doc: Doc, answer: str) -> DocVerdict: ...


def _missing(answer: Any) -> str:
    """Why a question that was asked has no answer (`UNANSWERED`), open reasoning included; empty where it has one."""
    if is_unanswered(answer):
        return str(answer.rule)
    return "" if parts_of(as_text(answer)).closed else TRUNCATED


@dataclass(kw_only=True)
class Judged(Scorer):
    """Scores the docs of a task by the verdicts of one judge.

    suffix: of its metrics' names, "@NAME" for a further judge. inner: the task's own scorer, where the verdict works on it.
    failed_docs: {doc id: why there is no verdict}. shown: {doc id: what samples/ shows} of the docs scored last.
    """

    judge: JudgeConfig
    source: VerdictSource
    suffix: str = ""
    inner: Scorer | None = None
    failed_docs: dict[int, MMEvalError] = field(default_factory=dict)
    shown: dict[int, Any] = field(default_factory=dict)
    _bounds: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return f"{self.graded_by}, {self.name}"

    @property
    def graded_by(self) -> str:
        return f"judge{self.suffix}"

    @property
    def ungraded(self) -> Mapping[int, MMEvalError]:
        return self.failed_docs

    @property
    def reads_answers(self) -> bool:
        """Of the first judge the task's own rules; a further one reads the same answers."""
        return self.inner is not None and not self.suffix

    def row_entries(self, doc_id: int) -> dict[str, Any]:
        return {f"judge{self.suffix}": self.shown[doc_id]} if doc_id in self.shown else {}

    def label(self, metric: str) -> str:
        return str(MetricKey(f"{metric}{self.suffix}", self.name))

    def run_docs(self, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        """Scores the docs by their verdicts. A doc without one has no scores and no error: it is not the model's failure."""
        self.shown = {}
        judged: Mapping[int, list[Instance]] = by_doc
        scored: dict[int, ScoredDoc] = {}
        if self.inner is not None and self.judge.only_unparsed:
            scored.update(self.inner.run_docs(by_doc))
            judged = {doc_id: group for doc_id, group in by_doc.items() if rules_read_nothing(scored[doc_id])}
        texts: dict[int, list[Instance]] = {}
        for doc_id, group in judged.items():
            first = group[0]
            missing = _missing(first.resps[0])
            verdict = self.source.of_doc(doc_id, first.doc, as_text(first.resps[0]))
            self.shown[doc_id] = verdict.shown
            values: dict[str, list[Any]] = {}
            if verdict.error is not None:
                self.failed_docs[doc_id] = verdict.error
                self._bounds[doc_id] = self.judge.bounds(first.doc)
            elif self.judge.extracts:
                texts[doc_id] = [
                    replace(first, resps=[first.resps[0] if missing else verdict.value], filtered_resps={})
                ]
            else:
                values = {name: [value] for name, value in self._by_metric(verdict.value, bool(missing)).items()}
            rules = scored[doc_id].rules if doc_id in scored else (missing,) if missing else ()
            scored[doc_id] = ScoredDoc(doc_id, first.target, values, rules)
        if texts and self.inner is not None:
            for doc_id, found in self.inner.run_docs(texts).items():
                group = texts[doc_id]
                by_doc[doc_id][0].filtered_resps.update(group[0].filtered_resps)
                scored[doc_id] = replace(found, rules=("judge",)) if group[0].resps[0] else found  # read, if not empty
        self.set_results({doc_id: scored[doc_id] for doc_id in by_doc})
        return self.raw_docs

    def _by_metric(self, verdict: Any, missing: bool = False) -> dict[str, Any]:
        """What each metric gets of a verdict. missing: of a missing answer, for which a metric may state its `worst`."""
        named = isinstance(verdict, Mapping)
        names = self.judge.metrics or [metric.name for metric in self.metrics or ()]
        found = {name: verdict[name] if named else verdict for name in names if not named or name in verdict}
        worst = {metric.name: metric.worst for metric in self.metrics or () if missing and metric.worst is not None}
        return {name: worst.get(name, value) for name, value in found.items()}

    def reduce(self, scored_docs: Mapping[int, ScoredDoc]) -> dict[int, ReducedDoc]:
        if self.inner is None:
            return super().reduce(scored_docs)
        found = self.inner.reduce(scored_docs)
        self._reduction_errors = self.inner._reduction_errors
        return found

    def numbers(
        self,
        docs: Mapping[int, ReducedDoc],
        bootstrap_iters: int = DEFAULT_BOOTSTRAP_ITERS,
        overrides: Mapping[str, Callable[[Sequence[Any]], float] | str] | None = None,
        most_calls: int | None = None,
    ) -> list[Number]:
        """One number a metric. A metric of which every verdict failed has no value."""
        if self.inner is None:
            found = super().numbers(docs, bootstrap_iters, overrides, most_calls)
        else:
            self.inner.clusters = self.clusters
            found = self.inner.numbers(docs, bootstrap_iters, overrides, most_calls)
            self.notes = list(self.inner.notes)
        known = {number.metric for number in found}
        for metric in self.metrics or ():
            if metric.name not in known and self.failed_docs and not any(docs.values()):
                note = "there is no verdict that could be read."
                found.append(Number(MetricKey(metric.name, self.name), None, n=0, note=note))
                self.notes.append(f"{self.label(metric.name)}: {note}")
        if self.suffix:
            self.notes = [self._of_this_judge(note) for note in self.notes]
        return [replace(each, key=replace(each.key, metric=f"{each.metric}{self.suffix}")) for each in found]

    def _of_this_judge(self, note: str) -> str:
        """A note on one of the metrics under the name that the metric has for a further judge."""
        for metric in self.metrics or ():
            plain = f"{MetricKey(metric.name, self.name)}:"
            if note.startswith(plain):
                return f"{self.label(metric.name)}:{note.removeprefix(plain)}"
        return note

    def bounds(self, docs: Mapping[int, ReducedDoc]) -> list[float] | None:
        """[low, high]: the first metric with all docs without a verdict at the lowest, and at the highest one.

        None where no verdict failed, and where the bounds can't be computed.
        """
        metric = next((metric.name for metric in self.metrics or ()), None)
        if not self._bounds or metric is None:
            return None
        ends: list[float] = []
        for end in (0, 1):
            values = {doc_id: doc[metric] for doc_id, doc in docs.items() if metric in doc}
            for doc_id, pair in self._bounds.items():
                bound = pair[end]
                values[doc_id] = bound[metric] if isinstance(bound, Mapping) and metric in bound else bound
            try:
                with self.draws.used(goes_on=False):
                    ends.append(float(self.aggregation_of(metric)([values[doc_id] for doc_id in sorted(values)])))
            except Exception as error:  # the task's own code
                self.notes.append(f"no judge_bounds: {type(error).__name__}: {error}")
                return None
        return ends

    def aggregation_of(self, name: str) -> Callable[[Sequence[Any]], float]:
        plain = self._plain(name)
        return self.inner.aggregation_of(plain) if self.inner is not None else super().aggregation_of(plain)

    def import_reduced(self, doc_data: Mapping[int, ReducedDoc]) -> None:
        super().import_reduced(doc_data)
        if self.inner is not None:
            self.inner.import_reduced(doc_data)

    @property
    def higher_is_better(self) -> dict[str, bool | None]:
        better = self.inner.higher_is_better if self.inner is not None else super().higher_is_better
        return {f"{name}{self.suffix}": higher for name, higher in better.items()}

    def _plain(self, name: str) -> str:
        """The name of a metric without the judge's."""
        head, at, _ = name.partition("@")
        return head if at and any(metric.name == head for metric in self.metrics or ()) else name


def rules_read_nothing(doc: ScoredDoc) -> bool:
    """Whether the task's own rules could read none of a doc's answers."""
    return doc.error is None and bool(doc.rules) and all(rule == UNPARSED for rule in doc.rules)


def judge_metrics(config: TaskConfig) -> list[Metric[Any, Any]]:
    """The metrics that a task's judge states; none where its verdicts work on the task's own."""
    judge = judge_of_task(config)
    return [] if judge is None or judge.replaces_rules else [declared_metric(entry) for entry in judge.metric_list]


def check_judge_metrics(config: TaskConfig, scorers: Sequence[Scorer]) -> None:
    """ConfigError where the metrics of a judge are unknown, or also the task's own."""
    judge = judge_of_task(config)
    if judge is None:
        return
    where, own = config.where("judge"), {metric.name for scorer in scorers for metric in scorer.metrics or ()}
    try:
        names = {metric.name for metric in judge_metrics(config)}
    except ConfigError as error:
        raise error.located(where) from None
    if both := sorted(names & own):
        raise ConfigError(f"the metric {both[0]!r} is the judge's and the task's own.", where=where, hint="Rename one.")
    stated = {entry["metric"] for entry in judge.metric_list} if judge.only_unparsed and not judge.extracts else set()
    if unknown := sorted(stated - own):
        what = (
            f"under only_unparsed the verdict is a value of the task's own metrics, and {unknown[0]!r} is none of them."
        )
        raise ConfigError(what, where=where, hint=did_you_mean(unknown[0], own))


@dataclass(kw_only=True)
class JudgedCode(Judged):
    """Scores the docs by the task's function, which reads the judge's replies itself.

    source: a CodeVerdicts (features/judge/code.py). A doc with a missing reply has no scores, whatever its function would return.
    """

    source: Any

    def run_docs(self, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        inner = self.inner
        assert isinstance(inner, ProcessResultsScorer)
        inner.replies, self.shown = self.source, {}
        scored = dict(inner.run_docs(by_doc))
        for doc_id in by_doc:
            asked: Asked | None = inner.asked.pop(doc_id, None)
            if asked is None or scored[doc_id].error is not None:
                continue
            found: DocVerdict = self.source.outcome(doc_id, asked)
            if found.shown:
                self.shown[doc_id] = found.shown
            if found.error is not None:
                self.failed_docs[doc_id] = found.error
        self.set_results(scored)
        return self.raw_docs


def with_judges(config: TaskConfig, scorers: Sequence[Scorer], sources: Mapping[str, VerdictSource]) -> list[Scorer]:
    """The scorers of a task with those of its judges. sources: by the judges' names, the first judge first.

    scorers: the task's own. They are left out where only the judge's verdicts make their numbers; so without a judge nothing
    is left of these.
    """
    judge = judge_of_task(config)
    if judge is None:
        return list(scorers)
    found = [] if judge.replaces_rules else list(scorers)
    for number, (name, source) in enumerate(sources.items()):
        suffix = f"@{name}" if number else ""
        common: dict[str, Any] = {"judge": judge, "source": source, "suffix": suffix}
        if judge.replaces_rules:
            inners = scorers if not number else scorers_of(config)  # each with its own state
            kind = Judged
            if judge.by_code:
                kind = JudgedCode
            for inner in inners:
                found.append(kind(name=inner.name, filter=inner.filter, metrics=inner.metrics, inner=inner, **common))
        else:
            made = Judged(name="none", filter=FilterEnsemble("none", []), metrics=judge_metrics(config), **common)
            made.draws = config.draws()
            found.append(made)
    return found
