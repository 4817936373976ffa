"""A task's own `process_results` as one more scorer, so that there is a single scoring path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.base import Scorer
from mm_eval.scoring.filters.base import group_repeats, is_unanswered
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import (
    METRICS,
    Metric,
    aggregation_named,
    at_least_one,
    check_spelling,
    range_of,
    reduction_of,
    take_first,
    worst_of,
)
from mm_eval.scoring.metrics.traits import Traits, traits_of
from mm_eval.values.errors import ConfigError, ScoringError, did_you_mean
from mm_eval.values.types import Doc, Instance, Number, ScoredDoc

if TYPE_CHECKING:
    from mm_eval.scoring.metrics.ll_results import LLResults

SUBMISSION = "submission"
"""lmms-eval's name for a metric without a number: its function writes a file for a benchmark's server."""

NOT_KEPT = "not a number but a file for the benchmark's server, which is not kept; the answers are in samples/*.jsonl."

RULE_KEY = "__rule__"
"""The key under which process_results may name the rule that found the answer ("unparsed" where none did)."""


MISSPELT = {"mme_percetion_score": "mme_perception_score"}
"""Metric names that lmms-eval's guide misspells, with the right spelling: files written after it have either."""

NO_VALUE = object()
"""What `ProcessResultsScorer.call` gives for a doc that has no value, though its function did not fail."""


@dataclass(kw_only=True)
class ProcessResultsScorer(Scorer):
    """Scores docs by a function fn(doc, results) -> {metric: value}.

    results: for generated answers a list of str, for choices a list of (log-likelihood, is_greedy), for rolling
    log-likelihoods a list of numbers. `metric_list` states how each metric is aggregated; a metric that it does not name is
    not reported. The function gets all answers to a doc and returns one value per metric. Where a metric states a `reduction`, it
    gets each answer by itself, and the reductions join its values.
    call: call(fn, doc_id, doc, results) in place of fn(doc, results), for a function that needs more than these.
    """

    fn: Callable[[Doc, list[Any]], Mapping[str, object]]
    call: Callable[[Any, int, Doc, list[Any]], Any] | None = None

    def __post_init__(self) -> None:
        self._names: list[str] = []
        """Notes on names that process_results returned, or metric_list states."""

    @classmethod
    def from_dict(cls, cfg: Mapping[str, Any], **kwargs: Any) -> ProcessResultsScorer:
        """As of `Scorer`."""
        made = super().from_dict(cfg, **kwargs)
        stated = (entry.get("metric") for entry in cfg.get("metric_list") or () if isinstance(entry, Mapping))
        made._note_misspelt(name for name in stated if isinstance(name, str))
        return made

    @classmethod
    def build_metrics(cls, metric_list: Sequence[object] | None, output_type: str | None) -> list[Metric]:
        """The metrics by name; aggregation and direction as stated, else as registered, else mean and higher is better."""
        return [entry if isinstance(entry, Metric) else declared_metric(entry) for entry in metric_list or ()]

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The function's values for one doc: of all its answers, or of each where a metric states how they are reduced."""
        answers = doc_instances[0].filtered_resps.get(self.name, ())
        several = doc_instances[0].request_type == "generate_until" and len(answers) > 1 and self.call is None
        if not several or all(metric.reduction is take_first for metric in self.metrics or ()):
            return self._score(doc_id, doc_instances)
        first = first_instances(doc_instances)[0]
        alone = [replace(first, filtered_resps={**first.filtered_resps, self.name: [answer]}) for answer in answers]
        found = [self._score(doc_id, [each]) for each in alone]
        if any(not each.scores for each in found):
            return replace(found[0], scores={})
        names = dict.fromkeys(name for each in found for name in each.scores)
        if odd := [name for name in names if any(name not in each.scores for each in found)]:
            raise ScoringError(f"process_results returned {odd[0]!r} for some of the answers to the document only.")
        scores = {name: [each.scores[name][0] for each in found] for name in names}
        rules = tuple(rule for each in found for rule in each.rules)
        return replace(found[0], scores=scores, rules=rules, tied=any(each.tied for each in found))

    def _score(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        instances = first_instances(doc_instances)
        first = instances[0]
        mixed = len({instance.request_type for instance in instances}) > 1  # a task class may ask for both
        lls, tied = None, False
        if not mixed and first.request_type != "generate_until":
            from mm_eval.scoring.metrics.ll_results import LLResults
            from mm_eval.scoring.metrics.loglikelihood import check_bounds, is_tied

            lls = LLResults.from_instances(instances, self.name)
            check_bounds(lls, ["process_results"])
            tied = is_tied(lls, ())
        results = [self._result(each) for each in instances] if mixed else self._results(instances, lls)
        missing = bool(results) and all(map(is_unanswered, results))
        try:
            returned = self.call(self.fn, doc_id, first.doc, results) if self.call else self.fn(first.doc, results)
        except Exception:
            worst = {metric.name: worst_value(metric, None) for metric in self.metrics or ()}
            if not missing or any(value is None for value in worst.values()):
                raise
            returned = worst  # it can't read an empty text
        if returned is NO_VALUE:
            return ScoredDoc(doc_id, first.target, {})
        if not isinstance(returned, Mapping):
            raise ScoringError(f"process_results returned {returned!r}; expected {{metric: value}}.")
        self._note_misspelt(returned)
        values = {MISSPELT.get(name, name): value for name, value in returned.items()}
        rule = values.pop(RULE_KEY, None)
        declared = {metric.name for metric in self.metrics or ()}
        for name in (name for name in values if name not in declared):
            self._note(
                f"process_results returns {name!r}, which metric_list does not name. {did_you_mean(name, declared)}"
            )
        if missing:
            rule = [answer.rule for answer in results]
            metrics = {metric.name: metric for metric in self.metrics or ()}
            values = {name: worst_value(metrics[name], value) for name, value in values.items() if name in metrics}
        scores = {name: [values[name]] for name in values if name in declared}
        if not scores:
            raise ScoringError(f"process_results returned none of the metrics {sorted(declared)}: {sorted(values)}.")
        rules = tuple(rule) if isinstance(rule, (list, tuple)) else (str(rule),) if rule is not None else ()
        return ScoredDoc(doc_id, first.target, scores, rules, tied=tied)

    def numbers(self, *args: Any, **kwargs: Any) -> list[Number]:
        """One number a metric over all documents; `notes` also names values that metric_list does not name.

        A submission, whose function only writes a file for a benchmark's server, is left out where other metrics have numbers.
        """
        found = super().numbers(*args, **kwargs)
        submission = self.metric_key(SUBMISSION)
        if any(number.key == submission and number.value is None for number in found):
            self.notes = [note for note in self.notes if not note.startswith(f"{submission}: no standard error")]
            self.notes.append(f"{submission}: {NOT_KEPT}")
            if len(self.metrics or ()) > 1:
                found = [number for number in found if number.key != submission]
        self.notes += self._names
        return found

    def _note_misspelt(self, names: Iterable[object]) -> None:
        for name in names:
            if name in MISSPELT:
                self._note(f"{name!r}, a slip of lmms-eval's guide, is reported as {MISSPELT[name]!r}.")

    def _note(self, note: str) -> None:
        if note not in self._names:
            self._names.append(note)

    def _result(self, instance: Instance) -> Any:
        """The answer to one request of several kinds."""
        if instance.request_type == "generate_until":
            return self._results([instance], None)[0]
        ll, greedy = instance.resps[0]
        return float(ll), bool(greedy)

    def _results(self, instances: list[Instance], lls: LLResults | None) -> list[Any]:
        first = instances[0]
        if any(self.name not in instance.filtered_resps for instance in instances):
            raise ScoringError(f"The answers were not filtered under the name {self.name!r}.")
        if lls is None:
            return ["" if answer is None else answer for answer in first.filtered_resps[self.name]] or [""]
        lls.check()
        if first.request_type == "loglikelihood_rolling":
            return [float(ll) for ll in lls.lls]
        return [(float(ll), bool(greedy)) for ll, greedy in zip(lls.lls, lls.is_greedy, strict=True)]


def worst_value(metric: Metric, value: object) -> Any:
    """What an answer that is missing scores under a metric. value: what process_results gave for the empty text; None: nothing.

    A number where higher is better is at most 0, whatever a function makes of no answer: a default "no", a letter at random. A
    value that is not a number, such as MME's answer with its category, is the function's own.
    """
    if value is not None and not isinstance(value, int | float):
        return value
    if metric.of_missing is not None:
        return metric.of_missing
    if not metric.higher_is_better:
        return at_least_one(value) if metric.higher_is_better is False else value
    return 0 if value is None else min(value, 0)


def declared_metric(entry: Any) -> Metric:
    """The metric of an entry, whose values the task's function gives."""
    name = entry.get("metric") if isinstance(entry, Mapping) else None
    if not isinstance(name, str):
        if callable(name):
            return Metric.from_dict(entry)
        raise ConfigError(f"An entry of metric_list needs the name of a metric: {entry!r}.")
    check_spelling(name, entry)
    registered = METRICS.get(name) if name in METRICS else None
    known = registered if isinstance(registered, Metric) else None
    aggregation = entry.get("aggregation")
    return Metric(
        name=MISSPELT.get(name, name),
        fn=_from_process_results,
        aggregation=_aggregation(aggregation) if aggregation is not None else known.aggregation if known else mean,
        higher_is_better=entry.get("higher_is_better", known.higher_is_better if known else True),
        reduction=reduction_of(entry),
        worst=worst_of(entry, known.worst if known else None),
        range=range_of(entry),
    )


def _aggregation(given: Any) -> Callable[..., Any]:
    """The aggregation of a name, or a function of the task's own, which may then be called any number of times."""
    found = aggregation_named(given)
    return found if isinstance(given, str) else with_own_values(found)


def with_own_values(function: Callable[..., object]) -> Callable[..., Any]:
    """The aggregation, which gets a copy of each value that is a mapping: it may change them, and is called many times.

    A function that declares how it may be called (`@stratified_by`, `@smooth`), or that runs elsewhere, is returned unchanged.
    """
    if traits_of(function) != Traits() or hasattr(function, "number_of"):
        return function

    @wraps(function)
    def once(values: Sequence[object]) -> object:
        return function([dict(value) if type(value) is dict else value for value in values])

    return once


def _from_process_results(references: object, predictions: object, **kwargs: object) -> Any:
    """The value that process_results gave for this metric."""
    raise ScoringError("This metric's value comes from process_results; it has no function of its own.")


def first_instances(instances: Sequence[Instance]) -> list[Instance]:
    """The first repeat of each choice of a doc, where its filtered answers are."""
    return [group[0] for group in group_repeats(instances)]
