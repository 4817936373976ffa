"""Scorers: filter, score, reduce, aggregate; and the aggregation of groups over their tasks.

scorer = build_scorer({"metric_list": [{"metric": "acc"}]}, "multiple_choice")
scorer.run(instances)
numbers, n = scorer.aggregate()
"""

from mm_eval.config.group import GroupMetric
from mm_eval.scoring.base import SCORERS, Scorer, get_scorer, register_scorer
from mm_eval.scoring.builtin import (
    ChoiceMatchScorer,
    FirstTokenScorer,
    GenScorer,
    LLScorer,
    RegexExtractionScorer,
    SubmissionScorer,
)
from mm_eval.scoring.groups import GroupResult, Member, aggregate_group
from mm_eval.scoring.of_task import build_scorer
from mm_eval.scoring.process_results import ProcessResultsScorer
from mm_eval.values.types import MetricKey, ReducedDoc, ScoredDoc

__all__ = [
    "SCORERS",
    "ChoiceMatchScorer",
    "FirstTokenScorer",
    "GenScorer",
    "GroupMetric",
    "GroupResult",
    "LLScorer",
    "Member",
    "MetricKey",
    "ProcessResultsScorer",
    "ReducedDoc",
    "RegexExtractionScorer",
    "ScoredDoc",
    "Scorer",
    "SubmissionScorer",
    "aggregate_group",
    "build_scorer",
    "get_scorer",
    "register_scorer",
]
