"""Filters: the public names of `mm_eval.scoring.filters`."""

from mm_eval.scoring.filters import *  # noqa: F403
