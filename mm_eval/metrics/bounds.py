"""The public names of `mm_eval.scoring.metrics.bounds`."""

from mm_eval.scoring.metrics.bounds import *  # noqa: F403
