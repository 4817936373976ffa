"""The public names of `mm_eval.scoring.metrics.traits`."""

from mm_eval.scoring.metrics.traits import *  # noqa: F403
