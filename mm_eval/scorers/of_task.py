"""The scorers of a task's config: one a filter pipeline."""

from __future__ import annotations

from mm_eval.catalog.config import TaskConfig
from mm_eval.errors import ConfigError
from mm_eval.scorers.base import Scorer
from mm_eval.scorers.build import build_scorer


def scorers_of(config: TaskConfig) -> list[Scorer]:
    """The scorers of a resolved config, in the order of its pipelines.

    Errors: ConfigError with file:line for an unknown or senseless filter, metric, aggregation or scorer.
    """
    scorers = []
    for pipeline in config.pipelines():
        try:
            scorer = build_scorer(
                pipeline, config.output_type, config.scorer, process_results=config.process_results
            )
            scorer.check_repeats(config.repeats)
        except ConfigError as error:
            raise error.located(config.where("filter_list" if config.filter_list else "metric_list")) from error
        scorers.append(scorer)
    return scorers
