"""From the scores of docs to values and numbers: repeats are reduced, docs that failed are left out and counted.

A doc failed if a request, a filter or its scoring raised. It has no scores, and spoils no other doc.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import chain
from numbers import Real
from typing import Any

from mm_eval.scoring.filters.base import FilterEnsemble
from mm_eval.scoring.metrics.aggregation import bypass_agg, checked_k, mean, median, nanmean, perplexity
from mm_eval.scoring.metrics.metric import Metric, take_first
from mm_eval.scoring.metrics.paired import no_spread, scale_of, with_interval
from mm_eval.scoring.metrics.stderr import standard_error
from mm_eval.scoring.metrics.traits import CorpusMetric, Undefined, traits_of
from mm_eval.values.columns import Clusters
from mm_eval.values.errors import ConfigError, MMEvalError, ScoringError, kind_and_text, without_objects
from mm_eval.values.types import Instance, MetricKey, Number, ReducedDoc, ScoredDoc

_LARGEST = 2**53
"""From here on a whole number is a float, as it is for whoever reads results.json."""
ROUNDING = 1e-12
"""A standard error of at most this share of the number is 0: of equal clusters, whose sums are rounded."""


NO_DRAWS = "bootstrap_iters is 0: no standard error."


def failed(doc_id: int, instances: Sequence[Instance], error: Exception) -> ScoredDoc:
    """The doc without scores, with what went wrong."""
    where = f"{instances[0].task}, doc {doc_id}" if instances else f"doc {doc_id}"
    reference = instances[0].target if instances else None
    return ScoredDoc(doc_id, reference, {}, error=as_scoring_error(error, where))


def failed_before(
    doc_id: int, instances: Sequence[Instance], filter_errors: Mapping[int, MMEvalError]
) -> ScoredDoc | None:
    """The doc as failed where a request or a filter failed; None where it can be scored."""
    errors = [instance.error for instance in instances if instance.error is not None]
    error = errors[0] if errors else filter_errors.get(doc_id)
    return failed(doc_id, instances, error) if error is not None else None


def as_scoring_error(error: Exception, where: str) -> MMEvalError:
    """An error of whatever kind as one with an owner and a place."""
    if isinstance(error, MMEvalError):
        return error.located(where)
    return ScoringError(f"scoring raised {kind_and_text(error)}.", where=where)


class NoReduction(ScoringError, ValueError):
    """A doc has several scores of a name, one a repeat, and nothing says how they become one value."""

    @classmethod
    def of(cls, name: str, scores: int) -> NoReduction:
        """The error for a name with this many scores a doc."""
        stated = f"{{metric: {name}, reduction: mean}} (or take_first, or pass@k)"
        hint = f"State one in metric_list, as in {stated}, or say repeats: 1."
        return cls(f"{name!r} has {scores} scores per document and no reduction.", hint=hint)


_OF_NUMBERS = (mean, nanmean, median, perplexity)
"""Aggregations of plain numbers."""
_PLAIN = frozenset({bool, int, float})


def reduced_docs(
    scored: Mapping[int, ScoredDoc],
    metric_of: Callable[[str], Metric | None],
    aggregation_of: Callable[[str], Callable[[Sequence[Any]], float]],
) -> tuple[dict[int, ReducedDoc], dict[int, MMEvalError]]:
    """One value a metric and doc, and the docs that have none, with why; docs that failed before are in neither."""
    reduced: dict[int, ReducedDoc] = {}
    errors: dict[int, MMEvalError] = {}
    for doc_id, doc in scored.items():
        if doc.error is not None:
            continue
        try:
            reduced[doc_id] = _reduced(doc, metric_of)
        except Exception as error:
            errors[doc_id] = as_scoring_error(error, f"doc {doc_id}")
    for name in dict.fromkeys(chain.from_iterable(reduced.values())):
        values = {doc_id: doc[name] for doc_id, doc in reduced.items() if name in doc}
        if all(type(value) in _PLAIN and value == value for value in values.values()):  # nearly always
            continue
        aggregation = aggregation_of(name)
        if aggregation in _OF_NUMBERS:
            values = {doc_id: as_number(value) for doc_id, value in values.items()}
            for doc_id, value in values.items():
                reduced[doc_id][name] = value
        for doc_id, value in _unusable(values, aggregation).items():
            unusable = ScoringError(f"the value of {name!r} is {value}, which is not a number.", where=f"doc {doc_id}")
            errors.setdefault(doc_id, unusable)
    return {doc_id: doc for doc_id, doc in reduced.items() if doc_id not in errors} if errors else reduced, errors


def _reduced(doc: ScoredDoc, metric_of: Callable[[str], Metric | None]) -> ReducedDoc:
    """A reduction that gives {name: value} gives keys "name(metric)"; a single score is passed on as it is."""
    values: ReducedDoc = {}
    for name, scores in doc.scores.items():
        if len(scores) == 1:
            values[name] = scores[0]
            continue
        metric = metric_of(name)
        if metric is None or metric.reduction is None:
            raise NoReduction.of(name, len(scores))
        result = metric.reduction(doc.reference, scores)
        values.update(
            {f"{part}({name})": v for part, v in result.items()} if isinstance(result, dict) else {name: result}
        )
    return values


def _unusable(values: Mapping[int, object], aggregation: Callable[..., object]) -> dict[int, str]:
    """The docs whose value of a metric would spoil the number of all others, with that value.

    A function of the task's own may take values that are not numbers, as long as no other doc has a number. Where no doc has one,
    a list or a mapping is the fault of the task's file: then the metric has no number, and the docs keep their other values.
    """
    of_numbers = aggregation in _OF_NUMBERS
    some_numbers = any(isinstance(value, Real) for value in values.values())
    unusable = {}
    for doc_id, value in values.items():
        nan = isinstance(value, Real) and math.isnan(value) and aggregation is not nanmean
        missing = (of_numbers or some_numbers) and (value is None or isinstance(value, str))
        unlike = missing or of_numbers and some_numbers and not isinstance(value, Real)
        if nan or unlike:
            unusable[doc_id] = f"{value!r:.80}"
    return unusable


def as_number(value: object) -> object:
    """A number of numpy or torch, alone or in an array of its own, and a decimal number as Python's; others unchanged."""
    if hasattr(value, "item") and getattr(value, "shape", None) in ((), (1,)):
        return value.item()
    return float(value) if isinstance(value, Decimal) else value


def check_repeats(pipeline: FilterEnsemble, metrics: Sequence[Metric], repeats: int) -> None:
    """ConfigError where a pipeline needs more repeats than a task asks for (take_first_k, pass@k)."""
    left, _ = answers_left(pipeline, repeats)
    for metric in metrics:
        keywords = metric.reduction.keywords if isinstance(metric.reduction, partial) else {}
        too_many = [k for k in checked_k(keywords["k"]) if k > left] if "k" in keywords else []
        if too_many:
            raise ConfigError(
                f"pass@{too_many[0]} of {metric.name!r} needs {too_many[0]} repeats; there are {left}.",
                hint="Raise `repeats` or lower k.",
            )


def counting_the_first(pipeline: FilterEnsemble, metrics: Sequence[Metric], repeats: int) -> list[Metric]:
    """The metrics that get several answers to a doc and count the first: corpus metrics, and those that take the first."""
    left, known = answers_left(pipeline, repeats)
    if left < 2 or not known:
        return []
    return [each for each in metrics if each.reduction is take_first or isinstance(each.fn, CorpusMetric)]


def answers_left(pipeline: FilterEnsemble, repeats: int) -> tuple[int, bool]:
    """How many answers a pipeline leaves of a doc's repeats, and whether that is known: a function of the user may drop some."""
    left, known = repeats, True
    for step in pipeline.filters:
        keywords = step.keywords if isinstance(step, partial) else {}
        kind = step.func if isinstance(step, partial) else step
        name = getattr(kind, "__name__", "")
        if name == "TakeFirstKFilter":
            if keywords["k"] > left:
                raise ConfigError(f"take_first_k with k={keywords['k']} needs as many repeats; there are {left}.")
            left = keywords["k"]
        elif name in ("TakeFirstFilter", "MajorityVoteFilter"):
            left = 1
        elif name == "CustomFilter" or not str(getattr(kind, "__module__", "")).startswith("mm_eval."):
            known = False
    return left, known


def number_of(
    key: MetricKey,
    function: Callable[[Sequence[Any]], float],
    of_docs: Mapping[int, object],
    clusters: Mapping[int, Hashable] | None,
    bootstrap_iters: int,
    seed: int,
    most_calls: int | None = None,
) -> Number:
    """The number that an aggregation makes of the documents' values.

    It raises nothing: an error of the function, or why it has no value here (Undefined), is the note of a number without one.
    bootstrap_iters: draws of a standard error that needs them; 0: no standard error and no interval by any method, as in lm-eval.
    most_calls: how often the standard error may call the aggregation.
    """
    elsewhere: Callable[..., Number] | None = getattr(function, "number_of", None)
    if elsewhere is not None:  # a function of another process, where it is called as often as its standard error needs
        found = elsewhere(key, dict(of_docs), clusters, bootstrap_iters, seed, most_calls)
        return found if traits_of(function).range is None else _in_range(found, function)
    values = list(of_docs.values())
    try:
        value = _as_result(function(values))
    except Undefined as undefined:
        return Number(key, None, n=len(values), note=f"it has no value: {without_objects(str(undefined))}.")
    except (Exception, SystemExit) as error:
        note = f"the aggregation raised {without_objects(kind_and_text(error))}."
        return Number(key, None, n=len(values), note=note)
    if isinstance(value, float) and not math.isfinite(value):
        return Number(key, None, n=len(values), note=f"{_not_finite(value, function, of_docs)}.")
    if bootstrap_iters < 1:
        scale = scale_of(function, values)
        note = "" if value is None else NO_DRAWS
        return _in_range(Number(key, value, None, None, len(values), note=note, scale=scale), function)
    alone = clusters is None or isinstance(clusters, Clusters) and clusters.alone
    drawn = None if clusters is None or alone else [clusters.get(doc_id, ("doc", doc_id)) for doc_id in of_docs]
    stderr = standard_error(function, values, drawn, bootstrap_iters=bootstrap_iters, seed=seed, most_calls=most_calls)
    scale = scale_of(function, values)
    if stderr.value is None or stderr.value > ROUNDING * abs(value):
        return _in_range(Number(key, value, stderr.value, None, len(values), note=stderr.note, scale=scale), function)
    interval, note = with_interval(Number(key, value, 0.0), function, values, drawn).exact, stderr.note
    if interval is None and function is not bypass_agg:
        note = f"{no_spread(values)}, so no standard error can be estimated."
    return _in_range(Number(key, value, 0.0, interval, len(values), note=note, scale=scale), function)


def _as_result(value: object) -> Any:
    """What an aggregation gave, as results.json holds it: a number, a text, numbers by name, or None. ScoringError for others."""
    value = as_number(value)
    if isinstance(value, Mapping):
        parts = {str(name): _as_result(part) for name, part in value.items()}
        return {
            name: None if isinstance(part, float) and not math.isfinite(part) else part for name, part in parts.items()
        }
    if isinstance(value, Real):
        return value if isinstance(value, (bool, int)) and abs(value) < _LARGEST else float(value)
    if value is None or isinstance(value, str):
        return value
    raise ScoringError(f"it gave {without_objects(f'{value!r:.80}')}, which is not a number")


def _in_range(number: Number, function: Callable[..., Any]) -> Number:
    """The number with the `range` that the task states of it; a note where it lies outside, and then without one."""
    if (stated := traits_of(function).range) is None or not isinstance(number.value, (int, float)):
        return number
    if stated[0] - ROUNDING <= number.value <= stated[1] + ROUNDING:
        return replace(number, scale=scale_of(function, ()))
    outside = f"it is {number.value:g}, outside of the range {stated[0]:g} to {stated[1]:g} that metric_list states."
    return replace(number, scale=None, note=f"{number.note.removesuffix('.')}; {outside}" if number.note else outside)


def _not_finite(value: float, function: Callable[..., object], of_docs: Mapping[int, object]) -> str:
    """Why there is no number, with the first doc that is the cause."""
    kind, what = "NaN" if math.isnan(value) else "infinite", traits_of(function).of
    for doc_id, of_doc in of_docs.items():
        for part in of_doc if isinstance(of_doc, (tuple, list)) else [of_doc]:
            if isinstance(part, Real) and not math.isfinite(part):
                return f"{kind}: the {what} of doc {doc_id} is {float(part)}"
    return f"{kind}, though the {what} of each document is finite"
