"""The scorer of a task without published answers, whose run writes the file that its benchmark's server takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mm_eval.metrics.metric import Metric
from mm_eval.scorers.base import Scorer, register_scorer
from mm_eval.types import Instance, ScoredDoc


@register_scorer("submission")
class SubmissionScorer(Scorer):
    """Filters the answers and gives no number: a file of the answers is written instead (`submission:` in the task)."""

    @classmethod
    def build_metrics(cls, metric_list: Sequence[Any] | None, output_type: str | None) -> list[Metric[Any, Any]]:
        """None."""
        return []

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """No score, but whether the answer could be read."""
        return ScoredDoc(doc_id, doc_instances[0].target, {})
