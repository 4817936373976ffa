"""Filters: the public names of `mm_eval.scoring.filters`, the rules that benchmarks share, and a module for each kind."""

from mm_eval.filters import custom, extraction, letters, options, selection, transformation
from mm_eval.scoring import filters as scoring_filters
from mm_eval.scoring.filters import *  # noqa: F403
from mm_eval.tasks.rules import mmmu, places, yes_no
from mm_eval.tasks.rules import suite_letters as suites

__all__ = [
    "custom",
    "extraction",
    "letters",
    "mmmu",
    "options",
    "places",
    "selection",
    "suites",
    "transformation",
    "yes_no",
]
__all__ += scoring_filters.__all__
