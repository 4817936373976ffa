"""The registry of models, metrics, filters, scorers and formats: the public names of `mm_eval.values.registry`."""

from mm_eval.values.registry import *  # noqa: F403
