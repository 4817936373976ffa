"""Metrics: from answers to numbers, and the standard error of every number.

@metric("closeness", output_type="generate_until", aggregation="mean")
def closeness(references, predictions): ...
"""

import importlib
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.metrics.aggregation import (
    bits_per_byte,
    bypass_agg,
    circular_accuracy,
    mean,
    mean_of_means,
    median,
    nanmean,
    pass_at_k,
    perplexity,
    weighted_mean,
    weighted_perplexity,
)
from mm_eval.scoring.metrics.metric import (
    AGGREGATIONS,
    DEFAULT_METRICS,
    METRIC_KEYS,
    METRICS,
    REDUCTIONS,
    AggregationFn,
    Metric,
    MetricFn,
    ReductionFn,
    aggregation,
    metric,
    reduction,
    register_aggregation,
    register_metric,
    register_reduction,
    take_first,
)
from mm_eval.scoring.metrics.resampling import StandardError
from mm_eval.scoring.metrics.stderr import (
    bootstrap_stderr,
    mean_stderr,
    pop_stddev,
    sample_stddev,
    standard_error,
    stderr_for_metric,
)
from mm_eval.scoring.metrics.traits import (
    CorpusMetric,
    SumStatistics,
    Undefined,
    filter_kwargs,
    not_smooth,
    smooth,
    stratified_by,
)

if TYPE_CHECKING:
    from mm_eval.scoring.metrics.corpus import F1, MCC, Bleu, Chrf, Ter
    from mm_eval.scoring.metrics.generation import anls, exact_match_fn, relaxed_accuracy
    from mm_eval.scoring.metrics.ll_results import LLResults
    from mm_eval.scoring.metrics.loglikelihood import (
        BitsPerByte,
        BytePerplexity,
        Likelihood,
        Perplexity,
        WordPerplexity,
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
    "Undefined",
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
    "circular_accuracy",
    "exact_match_fn",
    "exact_match_mc",
    "filter_kwargs",
    "logprob_fn",
    "mean",
    "mean_of_means",
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
    "smooth",
    "standard_error",
    "stderr_for_metric",
    "stratified_by",
    "take_first",
    "weighted_mean",
    "weighted_perplexity",
]

_WHEN_USED = ("generation", "loglikelihood", "ll_results", "corpus")
"""The files of this folder that are imported when one of their names is used."""


def __getattr__(name: str) -> Any:
    for file in _WHEN_USED if name in __all__ else ():
        module = importlib.import_module(f"{__name__}.{file}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
