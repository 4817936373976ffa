"""Scorers of generated answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mm_eval.errors import ScoringError
from mm_eval.filters.base import TRUNCATED
from mm_eval.metrics.corpus_metric import CorpusMetric
from mm_eval.metrics.metric import Metric
from mm_eval.scorers.base import Scorer, accepts, register_scorer
from mm_eval.types import Instance, ScoredDoc


class OneOrMany(list[Any]):
    """The answers of a doc as metric functions get them: a list; where it holds one, it can be used as that one too.

    lm-eval's documents write metrics both ways: `predictions[0].strip()` and `predictions.strip()`, `float(references)`.
    """

    def __getattr__(self, name: str) -> Any:
        if len(self) != 1 or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self[0], name)

    def __float__(self) -> float:
        return float(self[0]) if len(self) == 1 else float("".join(self))

    def __str__(self) -> str:
        return str(self[0]) if len(self) == 1 else super().__str__()


@register_scorer("generate_until", "gen")
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
            scores.update(_scores_of_repeats(metric, reference, predictions, context))
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
    """One score a repeat, under the metric's name or those that it returns.

    An answer that no rule could read scores 0 where higher is better; else the metric is asked about None.
    """
    corpus = isinstance(metric.fn, CorpusMetric)
    unread_is_zero = metric.higher_is_better and not corpus
    read = [answer for answer in predictions if not (answer is None and unread_is_zero)]
    if len(read) < len(predictions):
        scored = _scores_of_repeats(metric, reference, read, context) if read else {metric.name: []}
        return {name: _spread(values, predictions) for name, values in scored.items()}
    if not corpus:
        named = _named(metric, metric.compute(OneOrMany([reference]), OneOrMany(predictions), **context))
        if all(isinstance(values, list) and len(values) == len(predictions) for values in named.values()):
            return named
        if len(predictions) == 1:
            return {name: [value] for name, value in named.items()}
    each = [_named(metric, metric.compute(OneOrMany([reference]), OneOrMany([p]), **context)) for p in predictions]
    return {
        name: [
            only[0] if isinstance(only := one[name], list) and len(only) == 1 and not corpus else only for one in each
        ]
        for name in each[0]
    }


def _named(metric: Metric[Any, Any], value: Any) -> dict[str, Any]:
    """A metric function's result as {name: value}; a metric used under another name reports under that one."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if not isinstance(value, dict):
        return {metric.name: value}
    if len(value) == 1 and metric.name not in value:
        own = getattr(getattr(metric.fn, "registered_metric", None), "name", None)
        return {metric.name if name == own else name: part for name, part in value.items()}
    return dict(value)


def _spread(values: list[Any], predictions: Sequence[Any]) -> list[Any]:
    """Scores of the answers that could be read, with 0 for the others."""
    scores = iter(values)
    return [0 if answer is None else next(scores) for answer in predictions]
