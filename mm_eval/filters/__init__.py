"""Filters: the public names of `mm_eval.scoring.filters`, the rules that benchmarks share, and a module for each kind."""

from mm_eval.filters import custom, extraction, letters, options, selection, transformation
from mm_eval.scoring.filters import (
    FILTERS,
    INVALID,
    TRUNCATED,
    UNANSWERED,
    UNPARSED,
    WHOLE_ANSWER,
    Completion,
    Extracted,
    Filter,
    FilterEnsemble,
    LLOutput,
    build_filter_ensemble,
    found_by,
    get_filter,
    register_filter,
    rule_of,
)
from mm_eval.tasks.rules import mmmu, places, yes_no
from mm_eval.tasks.rules import suite_letters as suites

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
    "custom",
    "extraction",
    "found_by",
    "get_filter",
    "letters",
    "mmmu",
    "options",
    "places",
    "register_filter",
    "rule_of",
    "selection",
    "suites",
    "transformation",
    "yes_no",
]
