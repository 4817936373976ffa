"""A scorer: one filter pipeline with its metrics, from answers to numbers.

    filter (filters) -> score (here) -> reduce, aggregate (number.py)

Per-doc results are `{doc_id: {metric: value}}`, so that the parts of several processes merge with dict.update. An error
while one doc is scored makes that doc failed (`ScoredDoc.error`): it is in no mean, it is counted, and nothing else is lost.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

from mm_eval.config.foreign_code import NoStream, Stream
from mm_eval.scoring.filters.base import TRUNCATED, UNPARSED, FilterEnsemble, build_filter_ensemble
from mm_eval.scoring.metrics import bounds as limits
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import (
    DEFAULT_METRICS,
    Metric,
    aggregation_named,
    declared_or_registered,
    is_declared,
)
from mm_eval.scoring.metrics.stderr import DEFAULT_SEED
from mm_eval.scoring.metrics.traits import CorpusMetric, in_range, traits_of
from mm_eval.scoring.number import NoReduction, check_repeats, failed, failed_before, number_of, reduced_docs
from mm_eval.scoring.string_keys import NOT_AVAILABLE, as_row, of_row, stderr_key
from mm_eval.values.columns import Column, ReducedDocs
from mm_eval.values.errors import InvalidValue, MMEvalError, ScoringError, did_you_mean, kind_and_text
from mm_eval.values.registry import Registry
from mm_eval.values.types import Instance, JsonObject, MetricKey, Number, Options, ReducedDoc, ScoredDoc

ScorerType = TypeVar("ScorerType", bound="Scorer")

SCORERS: Registry[type[Scorer]] = Registry(
    "scorer", package="mm_eval.scoring", decorator="register_scorer", entry_points="mm_eval.scorers"
)
register_scorer, get_scorer = SCORERS.register, SCORERS.get

DEFAULT_BOOTSTRAP_ITERS = 100_000


@dataclass(kw_only=True)
class Scorer:
    """Base of all scorers; subclass GenScorer or LLScorer, or override `score_doc` or `score_instances`.

    Filters and metrics come from the config, else from the class (`default_filter_cfg`, `default_metric_cfg`), else they are
    none and the defaults of the output type.

    name: of the filter pipeline, the second part of each result's key.
    context: arguments for the metrics from the task (multiple_targets, ...).
    clusters: which docs belong together, for the standard errors; None says that each doc stands alone.
    notes: what a reader of the numbers must know, such as why a standard error is missing.
    draws, filter_draws: what the task's own functions draw from at random, while they score and while they filter.
    grader: what decides the scores in place of the rules; None for the rules.
    """

    default_filter_cfg: ClassVar[Sequence[object] | None] = None
    default_metric_cfg: ClassVar[Sequence[Any] | None] = None
    strips_thinking: ClassVar[bool] = False
    makes_scores: ClassVar[bool] = False
    """Whether the class makes its scores itself (it overrides `score`, `score_doc` or `score_instances`): then an entry of
    `metric_list` with a name that is not registered declares how its score of that name is reduced and aggregated."""

    name: str
    filter: FilterEnsemble
    metrics: list[Metric] | None = None
    context: JsonObject = field(default_factory=dict)
    clusters: Mapping[int, Hashable] | None = None
    seed: int = DEFAULT_SEED
    notes: list[str] = field(default_factory=list, init=False, repr=False)
    draws: Stream = field(default_factory=NoStream, init=False, repr=False)
    filter_draws: Stream = field(default_factory=NoStream, init=False, repr=False)
    grader: Grader | None = field(default=None, init=False, repr=False)
    _parts: dict[str, Metric] = field(default_factory=dict, init=False, repr=False)
    """The metric that gave a value of each name."""
    _raw_docs: dict[int, ScoredDoc] = field(default_factory=dict, init=False, repr=False)
    _reduced_docs: Mapping[int, ReducedDoc] = field(default_factory=dict, init=False, repr=False)
    _reduction_errors: dict[int, MMEvalError] = field(default_factory=dict, init=False, repr=False)

    # What it says of a doc's row

    @property
    def reads_answers(self) -> bool:
        """Whether the rules of its pipeline say how the model's answers were read."""
        return self.grader is None or self.grader.reads_answers

    def row_entries(self, doc_id: int) -> dict[str, object]:
        """What it adds to the row of a doc in samples/."""
        grader = self.grader
        return {grader.name: grader.entries[doc_id]} if grader is not None and doc_id in grader.entries else {}

    # Building

    @classmethod
    def from_dict(
        cls: type[ScorerType], cfg: Mapping[str, Any], *, output_type: str | None = None, **kwargs: Any
    ) -> ScorerType:
        """A scorer from a pipeline's config; an unknown name or argument is a ConfigError.

        cfg: {"name": ..., "filter": [steps], "metric_list": [metrics]}; what is missing or empty is the default. "keeps_frames":
            the frames around an answer that the task reads itself.
        kwargs: further fields of the scorer class.
        """
        name = cfg.get("name", "none")
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InvalidValue(f"{name!r} can't be the name of a filter pipeline.")
        known = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in ("name", "filter", "metrics")]
        for key in kwargs:
            if key not in known:
                raise InvalidValue(f"Scorer {cls.__name__} takes no argument {key!r}.", hint=did_you_mean(key, known))
        steps = list(cfg.get("filter") or cls.default_filters(**kwargs))
        strips = (cls.strips_thinking or output_type == "generate_until") and cfg.get("strip_thinking", True)
        if strips and "strip_thinking" not in map(_function_of, steps):
            keeps = cfg.get("keeps_frames")
            steps = [("strip_thinking", {"keeps": keeps}) if keeps else "strip_thinking", *steps]
        return cls(
            name=name,
            filter=build_filter_ensemble(name, steps),
            metrics=cls.build_metrics(cfg.get("metric_list"), output_type),
            **kwargs,
        )

    @classmethod
    def default_scorer(cls: type[ScorerType], name: str = "none", **kwargs: Any) -> ScorerType:
        """A scorer with nothing configured."""
        return cls.from_dict({"name": name}, **kwargs)

    @classmethod
    def default_filters(cls, **kwargs: object) -> Sequence[object]:
        """The filter steps where none are configured. kwargs: the fields of the scorer that will have them."""
        return cls.default_filter_cfg or [{"function": "noop"}]

    @classmethod
    def build_metrics(cls, metric_list: Sequence[Any] | None, output_type: str | None) -> list[Metric]:
        """The configured metrics, else those of the class, else those that fit the output type."""
        chosen = metric_list or cls.default_metric_cfg
        if chosen is None:
            chosen = [{"metric": name} for name in DEFAULT_METRICS.get(output_type or "", ())]
        of_entry = declared_or_registered if cls.makes_scores else Metric.from_dict
        return [entry if isinstance(entry, Metric) else of_entry(entry, output_type) for entry in chosen]

    @property
    def key(self) -> str:
        """What its results are kept under while a task is scored: the pipeline's name, behind that of its grader."""
        return self.name if self.grader is None else f"{self.grader.name}, {self.name}"

    def metric_key(self, metric: str) -> MetricKey:
        """The key of a metric's number."""
        return MetricKey(f"{metric}{self.suffix}", self.name)

    @property
    def suffix(self) -> str:
        """What its grader adds to the names of its metrics."""
        return "" if self.grader is None else self.grader.suffix

    def label(self, metric: str) -> str:
        """The key of a metric's number in results.json."""
        return f"{metric}{self.suffix},{self.name}"

    def check_repeats(self, repeats: int) -> None:
        """ConfigError where the pipeline needs more repeats than the task asks for (take_first_k, pass@k)."""
        check_repeats(self.filter, self.metrics or (), repeats)

    # Filtering and scoring

    def run(self, instances: Sequence[Instance]) -> Mapping[int, ScoredDoc]:
        """Filters and scores the answers of a task's instances and keeps the results; `aggregate()` gives the numbers."""
        by_doc: dict[int, list[Instance]] = {}
        for instance in instances:
            by_doc.setdefault(instance.doc_id, []).append(instance)
        scored = self.run_docs(by_doc)
        if without := next((doc.error for doc in scored.values() if isinstance(doc.error, NoReduction)), None):
            raise without
        return scored

    def run_docs(self, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        """The same for instances that are grouped by document. Each doc's are sorted by choice: the n-th is choice n.

        A doc with several scores and no reduction is failed, where `run` raises the error.
        """
        by_doc = {doc_id: sorted(group, key=attrgetter("choice")) for doc_id, group in by_doc.items()}
        with self.filter_draws.used():
            self.apply_filter([instance for group in by_doc.values() for instance in group])
        unscored = {doc_id: failed_before(doc_id, group, self.filter.errors) for doc_id, group in by_doc.items()}
        whole = {doc_id: group for doc_id, group in by_doc.items() if unscored[doc_id] is None}
        with self.draws.used():
            try:
                scored = self.score_instances(whole)
            except Exception:  # a batch that fails as a whole is tried doc by doc
                scored = {doc_id: self._alone(doc_id, group) for doc_id, group in whole.items()}
        missing = ScoringError("the scorer gave no result for this document.")
        results = {}
        for doc_id, group in by_doc.items():
            doc = unscored[doc_id] or scored.get(doc_id)
            results[doc_id] = self._with_rules(doc, group) if doc is not None else failed(doc_id, group, missing)
        self.take(results)
        return self.raw_docs

    def take(self, scored_docs: Mapping[int, ScoredDoc]) -> None:
        """`set_results` in a run, by the ids that the docs have there: a doc that can't be reduced costs no other."""
        by_id = {
            doc_id: doc if doc.doc_id == doc_id else dataclasses.replace(doc, doc_id=doc_id)
            for doc_id, doc in scored_docs.items()
        }
        with suppress(NoReduction):
            self.set_results(by_id)

    def apply_filter(self, instances: Sequence[Instance]) -> None:
        """Filters the answers into `filtered_resps[self.name]`."""
        self.filter.apply(instances)

    def score_instances(self, instances: Mapping[int, list[Instance]]) -> dict[int, ScoredDoc]:
        """The scores of all docs. Override it to score in batches (another model, a sandbox)."""
        found = {}
        with limits.reports() as reported, limits.remarks() as remarked:
            for doc_id, group in instances.items():
                reported.clear()
                remarked.clear()
                try:
                    scored = self.score_doc(doc_id, group)
                    if reported or remarked:
                        scored = dataclasses.replace(scored, too_large=tuple(reported), remarks=tuple(remarked))
                    found[doc_id] = scored
                except Exception as error:
                    found[doc_id] = failed(doc_id, group, error)
        return found

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc."""
        raise NotImplementedError(f"{type(self).__name__} must implement score_doc, or score_instances.")

    def _alone(self, doc_id: int, instances: list[Instance]) -> ScoredDoc:
        try:
            return self.score_instances({doc_id: instances})[doc_id]
        except Exception as error:
            return failed(doc_id, instances, error)

    def _with_rules(self, doc: ScoredDoc, instances: list[Instance]) -> ScoredDoc:
        """The doc with the rules that found its answers, where its scorer did not say."""
        answers = instances[0].filtered_resps.get(self.name)
        generated = instances[0].request_type == "generate_until"
        if doc.rules or doc.error or answers is None or not generated:
            return doc
        return dataclasses.replace(doc, rules=self.filter.rules(answers))

    def _dispatch_metrics(
        self, references: object, predictions: object, metric_kwargs: Options | None = None
    ) -> dict[str, object]:
        """The value of each metric for one doc. metric_kwargs: from the instance; they win over the task's context."""
        scores: dict[str, object] = {}
        context = {**self.context, **metric_kwargs} if metric_kwargs else self.context
        for metric in self.metrics or ():
            value = metric.compute(references, predictions, **context)
            if isinstance(value, dict):
                self._parts.update(dict.fromkeys(value, metric))
                scores.update(value)
            else:
                scores[metric.name] = value
        return scores

    # Reducing and aggregating

    def reduce(self, scored_docs: Mapping[int, ScoredDoc]) -> dict[int, ReducedDoc]:
        """One value a metric and doc; failed docs are left out. The keys are the docs' own ids.

        A reduction that gives {name: value} gives keys "name(metric)"; a single score is passed on as it is.
        Errors: NoReduction, a ValueError, where a doc has several scores and nothing says how they become one.
        """
        by_id = {doc.doc_id: doc for doc in scored_docs.values()}
        reduced, self._reduction_errors = reduced_docs(by_id, self._metric_of, self.aggregation_of)
        if without := next((e for e in self._reduction_errors.values() if isinstance(e, NoReduction)), None):
            raise without
        return reduced

    def numbers(
        self,
        docs: Mapping[int, ReducedDoc],
        bootstrap_iters: int | None = DEFAULT_BOOTSTRAP_ITERS,
        overrides: Mapping[str, Callable[[Sequence[Any]], float] | str] | None = None,
        most_calls: int | None = None,
    ) -> list[Number]:
        """One number a metric over all documents, in the order of the metrics. Sets `notes`.

        bootstrap_iters: draws of the standard errors that need a bootstrap; 0 or None
            computes no standard error at all, as in lm-eval.
        overrides: aggregations by name, of values that no metric with an aggregation covers.
        most_calls: how often a standard error may call an aggregation; by default as often as its method needs.
        """
        values: dict[str, Mapping[int, object]] = _columns(docs)
        found = []
        for name in self._in_order(values):
            metric, stated = self._metric_of(name), (overrides or {}).get(name)
            covered = metric is not None and metric.aggregation is not None
            function = aggregation_named(stated) if stated and not covered else self._in_range(name)
            with self.draws.used(goes_on=False):
                key = self.metric_key(name)
                found.append(
                    number_of(key, function, values[name], self.clusters, bootstrap_iters or 0, self.seed, most_calls)
                )
        if self.grader is not None and self.grader.ungraded and not any(docs.values()):
            keys = [self.metric_key(metric.name) for metric in self.metrics or ()]
            found += [Number(key, None, n=0, note=self.grader.no_value) for key in keys]
        self.notes = [f"{number.key}: {number.note}" for number in found if number.note]
        self.notes += [
            f"{self.metric_key(name)}: {why}" for name, why in self._unlike_metric_list(values, overrides or {})
        ]
        for metric in self.metrics or ():
            if metric.unused:
                what = "has no effect" if len(metric.unused) == 1 else "have no effect"
                self.notes.append(
                    f"{self.metric_key(metric.name)}: {', '.join(metric.unused)} {what}, here or in lm-eval"
                )
        return found

    def _unlike_metric_list(self, values: Collection[str], overrides: Collection[str]) -> Iterator[tuple[str, str]]:
        """(name, why a reader must know) of the values that are averaged without a metric, and of metrics without a value."""
        for name in values:
            giver = self._parts.get(name)
            is_mean_of_parts = giver is not None and traits_of(giver.aggregation or mean).is_mean
            if self._metric_of(name) is None and name not in overrides and not is_mean_of_parts:
                yield name, "no metric of that name says how it is aggregated: it is the mean of its values."
        for metric in self.metrics or () if values else ():
            named = any(self._metric_of(name) is metric for name in values)
            if is_declared(metric) and not named:
                yield metric.name, f"{type(self).__name__} gives no such score. {did_you_mean(metric.name, values)}"
            scores = (doc.scores.get(metric.name, ()) for doc in self._raw_docs.values())
            if isinstance(metric.fn, CorpusMetric) and any(len(of_doc) > 1 for of_doc in scores):
                yield metric.name, "only the first of several answers to a document counts."

    def results(
        self, docs: Mapping[int, ReducedDoc], bootstrap_iters: int, most_calls: int | None = None
    ) -> list[Number]:
        """What the engine takes: `numbers`, or those of an `aggregate` that a subclass replaced. Arguments as of `numbers`."""
        return self.numbers(docs, bootstrap_iters, most_calls=most_calls)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "makes_scores" not in vars(cls) and not {"score", "score_doc", "score_instances"}.isdisjoint(vars(cls)):
            cls.makes_scores = True
        if "aggregate" in vars(cls) and "results" not in vars(cls):
            cls.results = _results_of_aggregate  # type: ignore[method-assign, assignment]

    def aggregate(
        self,
        reduced_docs: Mapping[int, ReducedDoc] | None = None,
        bootstrap_iters: int | None = DEFAULT_BOOTSTRAP_ITERS,
        aggregation_overrides: Mapping[str, Callable[[Sequence[Any]], float] | str] | None = None,
    ) -> tuple[dict[str, object], int]:
        """`numbers` under lm-eval's keys, "metric,name" and "metric_stderr,name", and the number of documents.

        A standard error that there is not is "N/A", as in lm-eval; `numbers` and results.json have None and the reason.
        bootstrap_iters: as of `numbers`.
        """
        docs = self._reduced_docs if reduced_docs is None else reduced_docs
        numbers = self.numbers(docs, bootstrap_iters, aggregation_overrides)
        row = as_row(numbers)
        row |= {stderr_key(number): NOT_AVAILABLE for number in numbers if number.stderr is None}
        return row, max((number.n or 0 for number in numbers), default=0)

    def aggregation_of(self, name: str) -> Callable[[Sequence[Any]], float]:
        """The function that makes the number of a metric, or of a composite one."""
        metric = self._metric_of(name)
        return mean if metric is None or metric.aggregation is None else metric.aggregation

    def _in_range(self, name: str) -> Callable[[Sequence[object]], float]:
        """The aggregation of a metric with the range that the task states of its number, which is not that of a composite one."""
        metric, stated = self._metric_of(name), name.removesuffix(self.suffix)
        return in_range(self.aggregation_of(name), metric.range if metric and metric.name == stated else None)

    def _metric_of(self, name: str) -> Metric | None:
        """The metric of a key, which may be a composite one ("pass@1(exact_match)")."""
        name = name.removesuffix(self.suffix)
        found = [metric for metric in self.metrics or () if metric.name == name]
        if not found and (parent := MetricKey(name, self.name).parent_metric):
            found = [metric for metric in self.metrics or () if metric.name == parent]
        return found[-1] if found else None

    def _in_order(self, names: Mapping[str, object]) -> list[str]:
        """Names in the order of the metrics, composite ones by their metric."""
        order = {metric.name: i for i, metric in enumerate(self.metrics or ())}
        last = len(order)
        return sorted(names, key=lambda name: order.get(name, order.get(MetricKey(name, "").parent_metric or "", last)))

    # Results

    @property
    def raw_docs(self) -> Mapping[int, ScoredDoc]:
        """The scores before reduction, failed docs included; empty after `import_reduced`."""
        return self._raw_docs

    @property
    def reduced_docs(self) -> Mapping[int, ReducedDoc]:
        """{doc_id: {metric: value}}, ready to aggregate."""
        return self._reduced_docs

    @property
    def higher_is_better(self) -> dict[str, bool | None]:
        """Which way is better, for each metric and each composite key that the results have; None for no direction."""
        better = {metric.name: metric.higher_is_better for metric in self.metrics or ()}
        docs = self._reduced_docs
        names = docs.columns if isinstance(docs, ReducedDocs) else {name: None for doc in docs.values() for name in doc}
        for name in names:
            metric = self._metric_of(name)
            if metric is not None:
                better.setdefault(name, metric.higher_is_better)
            elif name in self._parts:  # a part of what a metric gives as {part: value}
                better.setdefault(name, self._parts[name].higher_is_better)
        return {f"{name}{self.suffix}": higher for name, higher in better.items()}

    @property
    def counts(self) -> dict[str, int]:
        """How many docs failed, and how many have an answer that is unparsed or truncated."""
        docs = self._raw_docs.values()
        return {
            "failed": sum(doc.error is not None for doc in docs),
            UNPARSED: sum(UNPARSED in doc.rules for doc in docs),
            TRUNCATED: sum(TRUNCATED in doc.rules for doc in docs),
        }

    def set_results(self, scored_docs: Mapping[int, ScoredDoc]) -> None:
        """Keeps scores and reduces them; a doc whose scores can't be reduced becomes failed.

        Errors: NoReduction as of `reduce`, after the results of the other docs are kept.
        """
        self._raw_docs = {doc.doc_id: doc for doc in scored_docs.values()}
        try:
            self._reduced_docs = self.reduce(self._raw_docs)
        except NoReduction:
            self._fail_unreduced()
            self._reduced_docs = self.reduce(self._raw_docs)
            raise
        finally:
            self._fail_unreduced()

    def _fail_unreduced(self) -> None:
        for doc_id, error in self._reduction_errors.items():
            self._raw_docs[doc_id] = dataclasses.replace(self._raw_docs[doc_id], scores={}, error=error)

    def export_reduced(self) -> dict[int, ReducedDoc]:
        """The reduced docs, to send to another process."""
        return dict(self._reduced_docs)

    def import_reduced(self, doc_data: Mapping[int, ReducedDoc]) -> None:
        """Takes the merged reduced docs of all processes; the scores before reduction stay where they were made."""
        self._raw_docs = {}
        self._reduced_docs = doc_data if isinstance(doc_data, ReducedDocs) else dict(doc_data)


def _columns(docs: Mapping[int, ReducedDoc]) -> dict[str, Mapping[int, object]]:
    """{metric: {doc id: value}}, each in the order of the docs: the order of arrival must not change a sum."""
    if isinstance(docs, ReducedDocs) and docs.ascends:
        return dict(docs.columns)
    values: dict[str, Mapping[int, object]] = {}
    for doc_id in sorted(docs):
        for name, value in docs[doc_id].items():
            column = values.setdefault(name, Column())
            assert isinstance(column, Column)
            column.put(doc_id, value)
    return values


def _results_of_aggregate(
    scorer: Scorer, docs: Mapping[int, ReducedDoc], bootstrap_iters: int, most_calls: int | None = None
) -> list[Number]:
    """The numbers of a scorer whose `aggregate` is its own: those of its row."""
    row, _ = scorer.aggregate(docs, bootstrap_iters=bootstrap_iters)
    found = []
    for number in of_row(row):
        plain = number.metric.removesuffix(scorer.suffix)
        key = dataclasses.replace(number.key, metric=f"{plain}{scorer.suffix}")
        found.append(dataclasses.replace(number, key=key, n=sum(plain in doc for doc in docs.values()) or len(docs)))
    return found


def _function_of(step: object) -> object:
    return step.get("function") if isinstance(step, Mapping) else step[0] if isinstance(step, tuple) else step


@dataclass(kw_only=True)
class Grader:
    """One more way to get the answers of documents into a scorer, such as the verdicts of another model; override `grade`.

    A scorer with a grader keeps its metrics, reductions and aggregations. The grader alone decides what each doc scores, and may
    call `Scorer.run_docs` for the task's own rules.

    name: as rows name it: its kind, or "KIND@NAME" for a further one, whose metrics are called "METRIC@NAME".
    reads_answers: whether the rules of the scorer's pipeline say how the model's answers were read.
    no_value: why a metric has no value where no doc was graded.
    ungraded: {doc id: why} of docs that were answered and have no value through no fault of the model. They are in no number.
    ends: {doc id: (worst, best value)} of these, as far as they are known; a value may be {metric: value}.
    entries: {doc id: what samples/ shows} of the docs graded last.
    """

    name: str
    reads_answers: bool = False
    no_value: str = ""
    ungraded: dict[int, MMEvalError] = field(default_factory=dict)
    ends: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    entries: dict[int, Any] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """What a further grader of a kind adds to the names of its metrics."""
        _, at, name = self.name.partition("@")
        return at + name

    def grade(self, scorer: Scorer, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        """The scores of all docs. One without a value has no scores and no error; it belongs into `ungraded`."""
        raise NotImplementedError


def run_scorer(scorer: Scorer, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
    """Scores the answers of docs by a scorer, or by its grader where it has one; the scorer keeps the results."""
    if scorer.grader is None:
        return scorer.run_docs(by_doc)
    found = scorer.grader.grade(scorer, by_doc)
    scorer.take({doc_id: found[doc_id] for doc_id in by_doc})
    return scorer.raw_docs


def _first_key(scorer: Scorer, metric: str, docs: Mapping[int, ReducedDoc]) -> str:
    """The first key of a metric in reduced docs, which is a composite one where its reduction names its values."""
    keys = scorer._in_order(_columns(docs))
    return next((key for key in keys if (found := scorer._metric_of(key)) and found.name == metric), metric)


def bounds_of(scorer: Scorer, docs: Mapping[int, ReducedDoc]) -> list[float] | None:
    """[low, high]: a scorer's first number with all ungraded docs at the worst, and at the best value.

    None where no doc is ungraded, and where the bounds can't be computed.
    """
    metric = next((metric.name for metric in scorer.metrics or ()), None)
    if scorer.grader is None or not scorer.grader.ends or metric is None:
        return None
    first = _first_key(scorer, metric, docs)
    bounds: list[float] = []
    names = {each.name for each in scorer.metrics or ()}
    for end in (0, 1):
        values = {doc_id: doc[first] for doc_id, doc in docs.items() if first in doc}
        for doc_id, pair in scorer.grader.ends.items():
            bound = pair[end]
            if not isinstance(bound, Mapping) or names.isdisjoint(bound):
                values[doc_id] = bound
            elif metric in bound:  # else the doc has no value of this metric, whatever its verdict is
                values[doc_id] = bound[metric]
        try:
            with scorer.draws.used(goes_on=False):
                bounds.append(float(scorer.aggregation_of(metric)([values[doc_id] for doc_id in sorted(values)])))
            if not math.isfinite(bounds[-1]):
                raise ScoringError(f"the number would be {bounds[-1]}")
        except Exception as error:  # the task's own code
            scorer.notes.append(f"no {scorer.grader.name.partition('@')[0]}_bounds: {kind_and_text(error)}")
            return None
    return bounds
