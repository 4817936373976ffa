"""The time that a function of a task may take for one doc."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from mm_eval.values.errors import ConfigError, DataError, MMEvalError

SECONDS_OF_CALL = 600.0
"""How long a function may take for one doc. MM_EVAL_TASK_SECONDS states another limit."""
HINT = "MM_EVAL_TASK_SECONDS states another limit."


def seconds_of_call() -> float:
    """The limit of one call for one doc."""
    stated = os.environ.get("MM_EVAL_TASK_SECONDS")
    try:
        seconds = float(stated) if stated else SECONDS_OF_CALL
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ConfigError(f"MM_EVAL_TASK_SECONDS is {stated!r}; expected a number of seconds above 0.")
    return seconds


def in_time(what: str, function: Callable[..., object], /, *args: object, **kwargs: object) -> Any:
    """What a task's function returns or raises. It runs in a thread of its own, which is left behind when its time is over.

    A function with a true `has_deadline`, whose process is ended in time, runs in this thread.
    Errors: DataError if the call has not ended in time, ends the thread (SystemExit), or needs the main thread for a signal.
    """
    if getattr(function, "has_deadline", False):
        try:
            return function(*args, **kwargs)
        except MMEvalError as error:
            error.what = f"{what}: {error.what}"
            raise
    found = list[Any]()
    raised = list[BaseException]()

    def run() -> None:
        try:
            found.append(function(*args, **kwargs))
        except BaseException as error:  # raised below
            raised.append(error)

    seconds = seconds_of_call()
    thread = threading.Thread(target=copy_context().run, args=(run,), name="task code", daemon=True)
    thread.start()
    thread.join(min(seconds, threading.TIMEOUT_MAX))
    if found:
        return found[0]
    if not raised:
        raise DataError(f"{what} has not returned within {seconds:g} s.", hint=HINT)
    if isinstance(raised[0], ValueError) and "main thread" in str(raised[0]):  # signal.signal says so
        raise DataError(f"{what} sets a signal, which only a program's main thread can.") from raised[0]
    if not isinstance(raised[0], Exception):
        raise DataError(f"{what} raised {type(raised[0]).__name__}.") from raised[0]
    raise raised[0]
