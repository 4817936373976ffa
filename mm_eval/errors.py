"""Errors with their owner: the public names of `mm_eval.values.errors`."""

from mm_eval.values.errors import *  # noqa: F403
