"""Scorers of generated answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mm_eval.errors import ScoringError
from mm_eval.filters.base import TRUNCATED
from mm_eval.metrics.metric import Metric
from mm_eval.metrics.traits import CorpusMetric
from mm_eval.scorers.base import Scorer, accepts, register_scorer
from mm_eval.types import Instance, ScoredDoc


class One(list[Any]):
    """A list of one value that can be used as that value too.

    A metric function gets its reference and its answer so, because lm-eval's documents write metrics both ways:
    `predictions[0].strip()` and `predictions.strip()`, `float(references)`.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self[0], name)
        return (lambda *args, **kwargs: found(*map(_value, args), **kwargs)) if callable(found) else found

    def __eq__(self, other: object) -> bool:
        return bool(self[0] == _value(other)) or list.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self[0])

    def __contains__(self, item: object) -> bool:
        item, own = _value(item), self[0]
        if isinstance(own, str):
            return isinstance(item, str) and item in own
        return item == own or (isinstance(own, (list, tuple, set, dict)) and item in own)

    def __int__(self) -> int:
        return int(self[0])

    def __float__(self) -> float:
        return float(self[0])

    def __str__(self) -> str:
        return str(self[0])


def _value(thing: Any) -> Any:
    """The only value of a One; anything else is itself."""
    return thing[0] if isinstance(thing, One) else thing


@register_scorer("generate_until")
@dataclass
class GenScorer(Scorer):
    """Scores generated answers.

    Three ways to make it yours: `default_filter_cfg` and `default_metric_cfg`; `score(reference, predictions)` for one doc;
    `score_instances(instances)` for batches, with `_extract_inputs` for each doc's (reference, predictions, metric_kwargs).
    """

    strips_thinking: ClassVar[bool] = True

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc, by `score`."""
        reference, predictions, metric_kwargs = self._extract_inputs(doc_instances)
        extra = {"metric_kwargs": metric_kwargs} if accepts(self.score, "metric_kwargs") else {}
        return ScoredDoc(doc_id, reference, self.score(reference, predictions, **extra))

    def score(
        self, reference: Any, predictions: list[Any], metric_kwargs: Mapping[str, Any] | None = None
    ) -> dict[str, list[Any]]:
        """{metric: one score a repeat} for one doc.

        predictions: the filtered answers; None where there is none.
        """
        scores: dict[str, list[Any]] = {}
        for metric in self.metrics or ():
            context = {**self.context, **(metric_kwargs or {})}
            found = _scores_of_repeats(metric, reference, predictions, context)
            self._part_directions.update(dict.fromkeys(found, metric.higher_is_better))
            scores.update(found)
        return scores

    def _extract_inputs(self, doc_instances: list[Instance]) -> tuple[Any, list[Any], dict[str, Any]]:
        """(target, filtered answers, metric_kwargs) of a doc."""
        first = min(doc_instances, key=lambda instance: instance.repeat)
        if self.name not in first.filtered_resps:
            raise ScoringError(f"The answers were not filtered under the name {self.name!r}.")
        answers = [None if getattr(a, "rule", "") == TRUNCATED else a for a in first.filtered_resps[self.name]]
        return first.target, answers or [None], dict(first.metadata.get("metric_kwargs") or {})


def _scores_of_repeats(
    metric: Metric[Any, Any], reference: Any, predictions: Sequence[Any], context: Mapping[str, Any]
) -> dict[str, list[Any]]:
    """One score a repeat, under the metric's name or those that it returns; each answer is scored by itself.

    An answer that no rule could read scores 0 where higher is better; else the metric is asked about None.
    """
    unread_is_zero = metric.higher_is_better is not False and not isinstance(metric.fn, CorpusMetric)
    scored = [
        None
        if answer is None and unread_is_zero
        else _named(metric, metric.compute(One([reference]), One([answer]), **context))
        for answer in predictions
    ]
    names = next((list(one) for one in scored if one is not None), [metric.name])
    return {name: [0 if one is None else one[name] for one in scored] for name in names}


def _named(metric: Metric[Any, Any], value: Any) -> dict[str, Any]:
    """A metric function's result as {name: value}; a metric used under another name reports under that one."""
    if isinstance(metric.fn, CorpusMetric):
        return {metric.name: value}
    if not isinstance(value, dict):
        return {metric.name: _only(value)}
    own = getattr(getattr(metric.fn, "registered_metric", None), "name", None)
    return {metric.name if len(value) == 1 and name == own else name: _only(part) for name, part in value.items()}


def _only(value: Any) -> Any:
    """The value itself, or the only one of a list or array."""
    value = value.tolist() if hasattr(value, "tolist") else value
    return value[0] if isinstance(value, list) and len(value) == 1 else value
