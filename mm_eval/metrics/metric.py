"""The public names of `mm_eval.scoring.metrics.metric`."""

from mm_eval.scoring.metrics.metric import *  # noqa: F403
