"""The public names of `mm_eval.scoring.filters.transformation`."""

from mm_eval.scoring.filters.transformation import *  # noqa: F403
