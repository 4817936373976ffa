"""Metrics: from answers to numbers, and the standard error of every number.

@metric("closeness", output_type="generate_until", aggregation="mean")
def closeness(references, predictions): ...

Here are the names that the code of tasks uses; `mm_eval.metrics` has every public one.
"""

from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import metric
from mm_eval.scoring.metrics.traits import SumStatistics, Undefined, smooth, stratified_by

__all__ = ["SumStatistics", "Undefined", "mean", "metric", "smooth", "stratified_by"]
