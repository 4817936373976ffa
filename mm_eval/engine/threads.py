"""Who chooses how many threads a model computes with on a CPU: the command does, by timing the work; Python code does itself.

Sums of floats depend on the number, so it is in run.json beside the spec, and a resumed run begins with it.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from contextvars import ContextVar

from mm_eval.config.foreign_code import during

STATED_BY = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables by which the user, or a launcher of several processes, states the number."""
_BY_COMMAND: ContextVar[bool] = ContextVar("threads_by_command", default=False)


def chosen_by_command() -> AbstractContextManager[None]:
    """Inside, adapters choose."""
    return during(_BY_COMMAND, True)


def chooses_threads() -> bool:
    """Whether an adapter that is loaded now chooses."""
    return _BY_COMMAND.get() and not any(os.environ.get(name) for name in STATED_BY)
