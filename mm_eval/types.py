"""The values of a run: the public names of `mm_eval.values.types`."""

from mm_eval.values.types import *  # noqa: F403
