"""The public names of `mm_eval.scoring.filters.letters`."""

from mm_eval.scoring.filters.letters import *  # noqa: F403
