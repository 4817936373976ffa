"""Filters: the public names of `mm_eval.scoring.filters`, and the rules that benchmarks share."""

from mm_eval.scoring.filters import *  # noqa: F403
from mm_eval.tasks.rules import mmmu, places, yes_no  # noqa: F401
from mm_eval.tasks.rules import suite_letters as suites  # noqa: F401
