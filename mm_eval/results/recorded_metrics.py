"""How the numbers of a recorded run were computed, from what results.json says of its configs. No file of a folder is loaded.

{"configs": {"mmlu": {"metric_list": [{"metric": "acc", "aggregation": "mean"}]}},
 "group_metrics": {"mmlu": [{"metric": "acc", "weight_by_size": true}]}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.config.functions import FunctionRef
from mm_eval.config.group import GroupConfig
from mm_eval.config.values import to_json
from mm_eval.scoring.metrics.metric import AGGREGATIONS, METRICS, Metric, aggregation_named
from mm_eval.scoring.process_results import with_own_values
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import UNREADABLE

if TYPE_CHECKING:
    from mm_eval.config.task_config import TaskConfig

Aggregation = Callable[[Sequence[Any]], float]


def group_entries(config: GroupConfig) -> list[Any]:
    """The group's `aggregate_metric_list` for results.json, functions by name."""
    stated = config.source.get("aggregate_metric_list") or ()
    found: list[Any] = to_json([stated] if isinstance(stated, Mapping) else list(stated))
    return found


def stated_aggregation(config: Mapping[str, Any], metric: str, pipeline: str) -> Aggregation | str | None:
    """The aggregation of a task's number, from its config in results.json.

    A function of the task's own is returned by its name. None where nothing is stated, which mostly means the mean.
    """
    entry = next(_entries(config, metric, pipeline), None) or {"metric": metric}
    named = entry.get("aggregation")
    if isinstance(named, str):
        return aggregation_named(named) if named in AGGREGATIONS or named in METRICS else named
    name = entry["metric"]
    if not isinstance(name, str) or name not in METRICS:
        return None
    arguments = {
        key: value for key, value in entry.items() if key not in ("aggregation", "reduction", "higher_is_better")
    }
    try:
        return Metric.from_dict(arguments).aggregation
    except (MMEvalError, *UNREADABLE):  # arguments that were functions, or a metric of another output type
        registered = METRICS.get(name)
        return registered.aggregation if isinstance(registered, Metric) else None


def own_aggregation(config: TaskConfig | None, metric: str, pipeline: str) -> Aggregation | None:
    """The aggregation that an installed task's own code defines; None without one. Imports the task's file."""
    entry = next(_entries(config.source, metric, pipeline), {}) if config is not None else {}
    reference = entry.get("aggregation")
    if not isinstance(reference, FunctionRef):
        return None
    try:
        found: Aggregation = with_own_values(aggregation_named(reference.resolve()))
    except MMEvalError:
        return None
    return found


def _entries(config: Mapping[str, Any], metric: str, pipeline: str) -> Iterator[Mapping[str, Any]]:
    """The entries of a config that may state a number's metric: of its pipeline, its task, its format and its judge."""
    lists: list[Any] = []
    for each in _mappings(config.get("filter_list")):
        if each.get("name") == pipeline:
            lists.append(each.get("metric_list"))
    lists.append(config.get("metric_list"))
    layouts = config.get("formats")
    for layout in [layouts, *(layouts.values() if isinstance(layouts, Mapping) else ())]:
        lists += [layout.get("metric_list"), _of(layout.get("scorer"))] if isinstance(layout, Mapping) else []
    lists += [step.get("metric_list") for step in _mappings(config.get("judge"))]
    for entries in lists:
        for entry in _mappings(entries):
            name = entry.get("metric")
            if isinstance(name, str) and (name == metric or metric.endswith(f"({name})")):
                yield entry


def _of(scorer: Any) -> Any:
    return scorer.get("metric_list") if isinstance(scorer, Mapping) else None


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """A mapping, or the mappings of a list; nothing for another value."""
    return [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, Mapping)]
