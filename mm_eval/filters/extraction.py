"""The public names of `mm_eval.scoring.filters.extraction`."""

from mm_eval.scoring.filters.extraction import *  # noqa: F403
