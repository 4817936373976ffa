"""The scorer of log-likelihoods."""

from __future__ import annotations

from dataclasses import dataclass

from mm_eval.metrics.ll_results import LLResults
from mm_eval.metrics.loglikelihood import is_tied
from mm_eval.scorers.base import Scorer, register_scorer
from mm_eval.types import Instance, ScoredDoc


@register_scorer("multiple_choice", "loglikelihood", "loglikelihood_rolling")
@dataclass
class LLScorer(Scorer):
    """Scores choices by their log-likelihoods; repeats do not matter here."""

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc from all its choices."""
        results = LLResults.from_instances(doc_instances, self.name)
        results.check()
        metric_kwargs = doc_instances[0].metadata.get("metric_kwargs")
        values = self._dispatch_metrics(results.targets, results, metric_kwargs)
        scores = {name: [value] for name, value in values.items()}
        return ScoredDoc(doc_id, results.targets, scores, tied=is_tied(results, [m.name for m in self.metrics or ()]))
