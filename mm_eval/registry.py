"""The registry of models, metrics, filters, scorers and formats, with the two functions of each kind: register and get.

get_filter("regex"), get_scorer("first_token"), get_metric("exact_match"), get_aggregation("mean"), get_model("hf")
"""

from mm_eval.engine.model import MODELS, register_model
from mm_eval.scoring.base import get_scorer, register_scorer
from mm_eval.scoring.filters.base import get_filter, register_filter
from mm_eval.scoring.metrics.metric import (
    AGGREGATIONS,
    METRICS,
    aggregation_named,
    reduction_named,
    register_aggregation,
    register_metric,
    register_reduction,
)
from mm_eval.values.registry import Registry, describe, entry_points

get_model, get_metric, get_aggregation, get_reduction = MODELS.get, METRICS.get, aggregation_named, reduction_named

__all__ = [
    "AGGREGATIONS",
    "METRICS",
    "MODELS",
    "Registry",
    "describe",
    "entry_points",
    "get_aggregation",
    "get_filter",
    "get_metric",
    "get_model",
    "get_reduction",
    "get_scorer",
    "register_aggregation",
    "register_filter",
    "register_metric",
    "register_model",
    "register_reduction",
    "register_scorer",
]
