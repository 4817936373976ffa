"""The keys of a task's config with which several logged answers to each question count, for a task that asks once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mm_eval.config.task_config import TaskConfig
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import take_first
from mm_eval.scoring.metrics.traits import CorpusMetric
from mm_eval.scoring.of_task import scorers_of


def repeated(config: TaskConfig, count: int) -> tuple[dict[str, object], list[str]]:
    """(keys of the config for `count` repeats, the metrics in which not the mean of the repeats counts).

    A task that asks once may take the first of its one answer, in a filter or a metric; with repeats that would drop the others.
    """
    keys: dict[str, object] = {"repeats": count}
    if config.filter_list:
        keys["filter_list"] = [
            {**pipeline, "filter": [step for step in pipeline.get("filter") or [] if not _takes_first(step)]}
            for pipeline in config.filter_list
        ]
    metrics = [metric for scorer in scorers_of(config) for metric in scorer.metrics or ()]
    firsts = {metric.name: metric for metric in metrics if metric.reduction is take_first or _is_corpus(metric)}
    by_mean = [name for name, metric in firsts.items() if metric.aggregation is mean and not _is_corpus(metric)]
    if config.process_results is not None or config.scorer is not None:
        return keys, list(firsts)
    if config.metric_list:
        keys["metric_list"] = [_with_mean(entry, by_mean) for entry in config.metric_list]
    return keys, [name for name in firsts if name not in by_mean]


def keeps_the_first(config: TaskConfig) -> bool:
    """Whether a filter pipeline of a task drops all repeats but the first."""
    return any(_takes_first(step) for pipeline in config.filter_list or [] for step in pipeline.get("filter") or [])


def _takes_first(step: object) -> bool:
    return step == "take_first" or isinstance(step, Mapping) and step.get("function") == "take_first"


def _is_corpus(metric: Any) -> bool:
    return isinstance(metric.fn, CorpusMetric)


def _with_mean(entry: object, names: list[str]) -> object:
    return {**entry, "reduction": "mean"} if isinstance(entry, Mapping) and entry.get("metric") in names else entry
