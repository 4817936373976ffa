"""The public names of `mm_eval.scoring.filters.options`."""

from mm_eval.scoring.filters.options import *  # noqa: F403
