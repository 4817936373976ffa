"""The numbers that `--repeats N` adds: what the answers to a doc score on average (avg@N), and the chance that one of k is right.

Each answer is scored by itself. A doc has one value, whatever N is: docs are drawn, and the repeats of one are not further docs.
The spread of a doc's answers is part of its value's, so that the standard error covers both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

from mm_eval.scoring.base import DEFAULT_BOOTSTRAP_ITERS, Scorer
from mm_eval.scoring.filters.base import FilterEnsemble
from mm_eval.scoring.metrics.aggregation import OF_OTHER_PROCESS, average_of_runs, avg_and_pass, mean
from mm_eval.scoring.metrics.metric import Metric, aggregation_named, take_first
from mm_eval.scoring.metrics.traits import CorpusMetric, in_range, traits_of
from mm_eval.scoring.number import as_number, number_of
from mm_eval.values.errors import ScoringError
from mm_eval.values.types import Instance, MetricKey, Number, ReducedDoc, ScoredDoc
from mm_eval.values.words import counted

ELSEWHERE = "its aggregation runs in a process of its own, which would be asked once a draw and repeat"


def with_repeats(scorers: Sequence[Scorer], alone: Sequence[Scorer], count: int) -> list[Scorer]:
    """The scorers of a task, and behind them those of the numbers of several answers.

    alone: the task's own scorers once more, which score answers one by one. count: answers to a doc.
    """
    by_name = {scorer.name: scorer for scorer in alone}
    added = [
        RepeatScores(
            name=scorer.name,
            filter=FilterEnsemble(scorer.name, []),
            of=scorer,
            alone=by_name[scorer.name],
            count=count,
        )
        for scorer in scorers
        if scorer.metrics and scorer.name in by_name
    ]
    return [*scorers, *added]


@dataclass(kw_only=True)
class RepeatScores(Scorer):
    """avg@N and pass@k of each metric of another scorer, which has scored the same docs just before.

    of: that scorer; where it has no score for each answer, `alone` scores them one by one: the same rules, which see one answer.
    count: answers to a doc. graded: metrics with values between right and wrong. without: docs of which an answer has no score.
    """

    of: Scorer
    alone: Scorer
    count: int
    graded: set[str] = field(default_factory=set)
    without: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.metrics = [
            Metric(
                f"{metric.name}{self.of.suffix}",
                _made_of_answers,
                aggregation=metric.aggregation,
                higher_is_better=metric.higher_is_better,
                reduction=avg_and_pass,
                range=metric.range,
            )
            for metric in self.of.metrics or ()
        ]

    @property
    def key(self) -> str:
        return f"{self.of.key}, repeats"

    @property
    def reads_answers(self) -> bool:
        return False

    def run_docs(self, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        scored = {doc_id: ScoredDoc(doc_id, None, {}) for doc_id in by_doc}
        for doc_id, scores in self._scores_of_answers(by_doc).items():
            known, found = self.of.reduced_docs.get(doc_id, {}), dict[str, Any]()
            try:
                for name, of_answers in scores.items():
                    found |= self._values(f"{name}{self.of.suffix}", of_answers)
            except ScoringError as error:
                self.without[doc_id] = str(error)
                continue
            values = {key: [value] for key, value in found.items() if key.removesuffix(self.of.suffix) not in known}
            scored[doc_id] = ScoredDoc(doc_id, None, values)
        self.take(scored)
        return self.raw_docs

    def _scores_of_answers(self, by_doc: Mapping[int, list[Instance]]) -> dict[int, dict[str, list[object]]]:
        """{doc: {metric: a score an answer}} of the docs whose answers all have one."""
        found: dict[int, dict[str, list[object]]] = {}
        rest: dict[int, list[Instance]] = {}
        for doc_id, group in by_doc.items():
            doc = self.of.raw_docs.get(doc_id)
            if doc is None or doc.error is not None or not doc.scores:
                continue  # it failed, or a judge gave no verdict
            if all(len(scores) == self.count for scores in doc.scores.values()):
                found[doc_id] = {name: list(scores) for name, scores in doc.scores.items()}
            elif self.of.grader is not None or len(group) != self.count:
                self.without[doc_id] = "not each answer is judged"
            else:
                rest[doc_id] = sorted(group, key=lambda instance: instance.repeat)
        for place in range(self.count if rest else 0):
            answers = {doc_id: [replace(group[place], filtered_resps={})] for doc_id, group in rest.items()}
            for doc_id, doc in self.alone.run_docs(answers).items():
                if doc.error is not None:
                    self.without[doc_id] = str(doc.error)
                    continue
                for name, scores in doc.scores.items():
                    found.setdefault(doc_id, {}).setdefault(name, []).extend(scores[:1])
        return {
            doc_id: {name: of_answers for name, of_answers in scores.items() if len(of_answers) == self.count}
            for doc_id, scores in found.items()
            if doc_id not in self.without
        }

    def _values(self, name: str, scores: Sequence[Any]) -> ReducedDoc:
        """{"avg@5(acc)": ..., "pass@5(acc)": ...}: what a doc has of a metric."""
        if not self._is_mean(name):
            return {} if self._is_of_all_answers(name) else {f"avg@{self.count}({name})": list(scores)}
        scores = [as_number(score) for score in scores]
        if odd := [score for score in scores if not isinstance(score, Real)]:
            raise ScoringError(f"the score of an answer under {name!r} is {odd[0]!r:.80}, which is not a number.")
        known = [score for score in scores if not math.isnan(score)] or [math.nan]
        found = avg_and_pass(None, known)
        average = found.pop(f"avg@{len(known)}")
        if self._counts_passes(name) and len(known) == self.count:
            if any(score not in (0, 1) for score in scores):
                self.graded.add(name)
        else:
            found = {}
        return {f"avg@{self.count}({name})": average, **{f"{key}({name})": value for key, value in found.items()}}

    def _is_mean(self, name: str) -> bool:
        return traits_of(self.of.aggregation_of(name.removesuffix(self.of.suffix))).is_mean

    def _is_of_all_answers(self, name: str) -> bool:
        """Whether a reduction of the task's own makes a metric's number of all answers together, such as a deviation of runs."""
        plain = name.removesuffix(self.of.suffix)
        metric = next((each for each in self.of.metrics or () if each.name == plain), None)
        if metric is None or isinstance(metric.fn, CorpusMetric):
            return False
        return metric.reduction is not take_first

    def _counts_passes(self, name: str) -> bool:
        metric = self._metric_of(name)
        return metric is None or metric.higher_is_better is True

    def aggregation_of(self, name: str) -> Callable[[Sequence[Any]], float]:
        """As of the other scorer, of each run where it is not a mean: then the mean of the runs."""
        parent = MetricKey(name, self.name).parent_metric or name
        function = self.of.aggregation_of(parent.removesuffix(self.of.suffix))
        if traits_of(function).is_mean:
            metric = self._metric_of(name)
            return in_range(mean, metric.range if metric is not None and name.startswith("avg@") else None)
        return average_of_runs(function)

    def numbers(
        self,
        docs: Mapping[int, ReducedDoc],
        bootstrap_iters: int | None = DEFAULT_BOOTSTRAP_ITERS,
        overrides: Mapping[str, Callable[[Sequence[Any]], float] | str] | None = None,
        most_calls: int | None = None,
    ) -> list[Number]:
        values: dict[str, dict[int, object]] = {}
        for doc_id in sorted(docs):
            for name, value in docs[doc_id].items():
                values.setdefault(name, {})[doc_id] = value
        found = []
        for name in self._in_order(values):
            key = self.metric_key(name)
            if key.metric.startswith("pass@") and key.parent_metric in self.graded:
                continue
            stated = (overrides or {}).get(name)
            function = aggregation_named(stated) if stated else self.aggregation_of(name)
            remote = hasattr(function, OF_OTHER_PROCESS)  # its standard error would ask that process too often
            iters = 0 if remote else bootstrap_iters or 0
            with self.of.draws.used(goes_on=False):
                number = number_of(key, function, values[name], self.clusters, iters, self.seed, most_calls)
            found.append(
                replace(number, note=f"no standard error: {ELSEWHERE}.")
                if remote and number.value is not None
                else number
            )
        self.notes = [f"{number.key}: {number.note}" for number in found if number.note]
        for name in sorted(self.graded):
            if f"pass@{self.count}({name})" in self.of.higher_is_better:
                continue  # the task's own reduction says what passes
            what = "its values lie between right and wrong, and nothing says which of them passes"
            self.notes.append(f"no pass@{self.count} of {name}: {what}.")
        if self.without:
            first = next(iter(self.without))
            docs_have = counted(len(self.without), "document has", "documents have")
            self.notes.append(f"{docs_have} no avg@{self.count}: doc {first}: {self.without[first]}")
        return found


def _made_of_answers(references: object, predictions: object, **kwargs: object) -> object:
    raise ScoringError("the scores of several answers are those of the task's own metric.")
