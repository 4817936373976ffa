"""The scorers of a task's config: one a filter pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar

from mm_eval.catalog.config import TaskConfig
from mm_eval.errors import ConfigError, raise_all
from mm_eval.filters.base import Filter, like
from mm_eval.scorers.base import Scorer
from mm_eval.scorers.build import build_scorer
from mm_eval.types import Doc

MISSPELT = {"mme_percetion_score": "mme_perception_score"}
"""Metric names that lmms-eval's task guide misspells, so that YAMLs written after it work with either spelling."""


class BareAnswers(Filter):
    """The last step of lmms-eval's tasks: their metrics get each text without the white space around it.

    A filter of theirs may give one text a doc, as AI2D's does: that is its answer.
    """

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return [[_bare(answer) for answer in ([found] if isinstance(found, str) else found)] for found in resps]


def _bare(answer: Any) -> Any:
    return like(answer.strip(), answer) if isinstance(answer, str) else answer


def scorers_of(config: TaskConfig) -> list[Scorer]:
    """The scorers of a resolved config, in the order of its pipelines.

    Errors: ConfigError with file:line for an unknown or senseless filter, metric, aggregation or scorer.
    """
    scorers: list[Scorer] = []
    faults: list[ConfigError] = []
    process_results = None if config.process_results is None else _well_spelt(config.process_results)
    of_lmms_eval = config.doc_to_visual is not None or config.doc_to_messages is not None or bool(config.prompt_kwargs)
    strips = of_lmms_eval and config.output_type == "generate_until"
    for pipeline in config.pipelines():
        for metric in pipeline["metric_list"]:
            if isinstance(metric["metric"], str):
                metric["metric"] = MISSPELT.get(metric["metric"], metric["metric"])
        try:
            scorer = build_scorer(
                pipeline,
                config.output_type,
                config.scorer if process_results is None else None,
                process_results=process_results,
                context={"multiple_targets": True} if config.multiple_targets else {},
            )
            if strips:
                scorer.filter.filters.append(BareAnswers)
            scorer.check_repeats(config.repeats)
        except ConfigError as error:
            error.located(config.where("filter_list" if config.filter_list else "metric_list"))
            faults.append(error)
            continue
        scorer.draws, scorer.filter_draws = config.draws(), config.draws()
        scorers.append(scorer)
    raise_all(faults)
    return scorers


def _well_spelt(process_results: Callable[..., Any]) -> Callable[..., Any]:
    """The function with misspelt names in its results put right."""

    @wraps(process_results)
    def spelt(*args: Any, **kwargs: Any) -> Any:
        returned = process_results(*args, **kwargs)
        if not isinstance(returned, Mapping):
            return returned
        return {MISSPELT.get(name, name): value for name, value in returned.items()}

    return spelt
