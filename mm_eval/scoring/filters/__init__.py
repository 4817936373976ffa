"""Filters: from a model's raw answers to what a metric compares, each marked with the rule that found it.

    FilterEnsemble("strict", [partial(RegexFilter, regex_pattern=r"(\\d+)"), TakeFirstFilter]).apply(instances)

A filter is one decorated class; `function: name` in a task's `filter_list` finds it by its name.
"""

from mm_eval.scoring.filters.base import (
    FILTERS,
    INVALID,
    TRUNCATED,
    UNANSWERED,
    UNPARSED,
    WHOLE_ANSWER,
    Extracted,
    Filter,
    FilterEnsemble,
    build_filter_ensemble,
    found_by,
    get_filter,
    register_filter,
    rule_of,
)
from mm_eval.values.types import Completion, LLOutput

__all__ = [
    "FILTERS",
    "INVALID",
    "TRUNCATED",
    "UNANSWERED",
    "UNPARSED",
    "WHOLE_ANSWER",
    "Completion",
    "Extracted",
    "Filter",
    "FilterEnsemble",
    "LLOutput",
    "build_filter_ensemble",
    "found_by",
    "get_filter",
    "register_filter",
    "rule_of",
]
