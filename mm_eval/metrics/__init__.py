"""Metrics: answers to numbers, and the standard error of every number.

@metric("closeness", output_type="generate_until", aggregation="mean")
def closeness(references, predictions): ...
"""

from mm_eval.metrics.aggregation import (
    bits_per_byte,
    bypass_agg,
    mean,
    median,
    nanmean,
    perplexity,
    weighted_mean,
    weighted_perplexity,
)
from mm_eval.metrics.corpus import F1, MCC, BitsPerByte, BytePerplexity, Likelihood, Perplexity, WordPerplexity
from mm_eval.metrics.corpus_metric import CorpusMetric
from mm_eval.metrics.generation import anls, exact_match_fn, relaxed_accuracy, vqa_accuracy
from mm_eval.metrics.loglikelihood import (
    acc,
    acc_bytes,
    acc_mutual_info_fn,
    acc_norm,
    bpb,
    brier_score,
    bypass,
    choice_logprob,
    choice_logprob_norm,
    choice_prob_norm,
    exact_match_mc,
    logprob_fn,
)
from mm_eval.metrics.metric import (
    AGGREGATIONS,
    DEFAULT_METRICS,
    METRIC_KEYS,
    METRICS,
    REDUCTIONS,
    Metric,
    aggregation,
    filter_kwargs,
    metric,
    reduction,
    register_aggregation,
    register_metric,
    register_reduction,
)
from mm_eval.metrics.reduction import pass_at_k, take_first
from mm_eval.metrics.results import LLResults
from mm_eval.metrics.stderr import (
    StandardError,
    bootstrap_stderr,
    mean_stderr,
    pop_stddev,
    sample_stddev,
    standard_error,
    stderr_for_metric,
)
from mm_eval.metrics.traits import SumStatistics, not_smooth, stratified_by
from mm_eval.metrics.translation import Bleu, Chrf, Ter
from mm_eval.metrics.types import AggregationFn, MetricFn, ReductionFn

__all__ = [
    "AGGREGATIONS",
    "DEFAULT_METRICS",
    "F1",
    "MCC",
    "METRICS",
    "METRIC_KEYS",
    "REDUCTIONS",
    "AggregationFn",
    "BitsPerByte",
    "Bleu",
    "BytePerplexity",
    "Chrf",
    "CorpusMetric",
    "LLResults",
    "Likelihood",
    "Metric",
    "MetricFn",
    "Perplexity",
    "ReductionFn",
    "StandardError",
    "SumStatistics",
    "Ter",
    "WordPerplexity",
    "acc",
    "acc_bytes",
    "acc_mutual_info_fn",
    "acc_norm",
    "aggregation",
    "anls",
    "bits_per_byte",
    "bootstrap_stderr",
    "bpb",
    "brier_score",
    "bypass",
    "bypass_agg",
    "choice_logprob",
    "choice_logprob_norm",
    "choice_prob_norm",
    "exact_match_fn",
    "exact_match_mc",
    "filter_kwargs",
    "logprob_fn",
    "mean",
    "mean_stderr",
    "median",
    "metric",
    "nanmean",
    "not_smooth",
    "pass_at_k",
    "perplexity",
    "pop_stddev",
    "reduction",
    "register_aggregation",
    "register_metric",
    "register_reduction",
    "relaxed_accuracy",
    "sample_stddev",
    "standard_error",
    "stderr_for_metric",
    "stratified_by",
    "take_first",
    "vqa_accuracy",
    "weighted_mean",
    "weighted_perplexity",
]
