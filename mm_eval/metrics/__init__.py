"""Metrics: the public names of `mm_eval.scoring.metrics`."""

from mm_eval.scoring.metrics import *  # noqa: F403
