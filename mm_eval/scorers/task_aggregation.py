"""A task file's own aggregation, called as lmms-eval calls it, and as often as a standard error needs.

Such a function is written to be called once: it may ask for the command line (`args`), print, write a submission file, change
the values that it gets and add to a dictionary of its module. Here each call is the first one as far as it can tell.
"""

from __future__ import annotations

import copy
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import wraps
from types import SimpleNamespace
from typing import Any

from mm_eval.catalog.draws import generators_in, unchanged
from mm_eval.errors import ScoringError
from mm_eval.metrics.traits import Traits, traits_of
from mm_eval.scorers.judges import NO_KEY, has_judge_key, no_judge

AGAIN = "and a standard error would do so once for each doc that is left out"


class CommandLine(SimpleNamespace):
    """Stands for lmms-eval's command line: it has a folder to write to, and every other option is unset."""

    def __getattr__(self, name: str) -> None:
        return None


def as_called_once(function: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """The aggregation as a function of the values alone, which may be called any number of times.

    The files that it writes below `args.output_path` are not kept; what it prints is shown at the first call only. One that
    declares how it may be called (`@stratified_by`, `@smooth`) is left as it is.
    """
    takes_args = "args" in _parameters(function)
    if not takes_args and traits_of(function) != Traits():
        return function
    called = [False]
    may_ask = has_judge_key(function)  # once: it reads the file

    @wraps(function)
    def once(values: Sequence[Any]) -> Any:
        own = [dict(value) if type(value) is dict else value for value in values]
        with ExitStack() as around:
            around.enter_context(_same_state(function))
            around.enter_context(unchanged(generators_in(getattr(function, "__globals__", {}))))
            if takes_args or called[0]:  # with args, what it prints is where its file lies
                around.enter_context(_silent(function))
            again, called[0] = called[0], True
            if again or not may_ask:
                around.enter_context(no_judge(f"a judge, {AGAIN}" if again else NO_KEY))
            if again:
                around.enter_context(_no_program())
            if not takes_args:
                return function(own)
            folder = around.enter_context(tempfile.TemporaryDirectory(prefix="mm-eval-"))
            return function(own, args=CommandLine(output_path=folder))

    return once


def _parameters(function: Callable[..., Any]) -> Mapping[str, Any]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return {}


@contextmanager
def _same_state(function: Callable[..., Any]) -> Iterator[None]:
    """Puts back the lists, dictionaries and sets of its module that a function names, as OCRBench's adds to its totals."""
    code, variables = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    named = [name for name in getattr(code, "co_names", ()) if type(variables.get(name)) in (dict, list, set)]
    before = {name: copy.deepcopy(variables[name]) for name in named}
    try:
        yield
    finally:
        variables.update(before)


@contextmanager
def _no_program() -> Iterator[None]:
    """Inside, no program is started: COCO's captions take Java for seconds a call, and hours for all pictures left out."""
    start = subprocess.Popen

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ScoringError(f"it starts a program, {AGAIN}")

    setattr(subprocess, "Popen", refuse)  # noqa: B010  # an assignment to a class is what mypy refuses
    try:
        yield
    finally:
        setattr(subprocess, "Popen", start)  # noqa: B010


@contextmanager
def _silent(function: Callable[..., Any]) -> Iterator[None]:
    """Inside, what a function prints, or logs with loguru, goes nowhere."""
    loguru = sys.modules.get("loguru")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        if loguru is None:
            yield
            return
        loguru.logger.disable(function.__module__)
        try:
            yield
        finally:
            loguru.logger.enable(function.__module__)
