"""In the process of a task's own code: connections, programs and waiting are refused, each call is like the first.

A scoring function may call a server for its verdict by itself (HallusionBench, MMBench) and turn every failure into a verdict
("unclear", a random option). No function opens a connection here, whatever keys the environment has: the run's own models
need them.
"""

from __future__ import annotations

import copy
import ctypes
import inspect
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from functools import wraps
from types import SimpleNamespace
from typing import Any, NoReturn

from mm_eval.config.packages import install_command, package_of
from mm_eval.config.suites.askers import WHY_REFUSED
from mm_eval.foreign_code.child.draws import generators_in, unchanged
from mm_eval.values.errors import ScoringError

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000

DATA_HOSTS = ("huggingface.co", "hf.co", "github.com", "githubusercontent.com")
"""Hosts that a metric's script or word list may be loaded from: without a network the code goes on with what is here."""

_REFUSED: list[tuple[str, str]] = []
"""(what was refused, the name of it) in the innermost `no_calls` block: a bare `except` may have caught its exception."""


class Refused(BaseException):
    """Ends a function of a task's code. Not an Exception: the code turns each of those into a score."""


def refuse_call(name: str) -> NoReturn:
    """Ends a function that calls a server."""
    _REFUSED.append(("call", name))
    raise Refused(name)


def refuse_package(name: str) -> NoReturn:
    """Ends a function that needs a package which is not installed: its `except` would make a score of that."""
    _REFUSED.append(("package", name))
    raise Refused(name)


@contextmanager
def no_calls(why: str = "") -> Iterator[None]:
    """Inside, a call that is refused is a ScoringError that ends with `why`.

    The use of a package that is not installed is one that names the package."""
    _REFUSED.clear()
    with suppress(Refused):
        yield
    if _REFUSED:
        what, name = _REFUSED[0]
        _REFUSED.clear()
        if what == "package":
            raise ScoringError(
                f"the task's code needs the package {package_of(name)!r}, which is not installed.",
                hint=f"Install it: {install_command(name)}",
            )
        raise ScoringError(f"the task's code calls {name} by itself, {why or WHY_REFUSED}.")


@contextmanager
def importing_calls_nothing() -> Iterator[None]:
    """Around the import of a task's file. ImportError if the file calls a server while it is imported."""
    try:
        yield
    except Refused as error:
        raise ImportError(f"the file calls {error} while it is imported") from error


def close_network() -> None:
    """From now on this process opens no connection: in a network of its own if the system allows that, and by name at any rate.

    Must be called before a thread is started. Python's own resolver is refused in any case, so that the code's attempt is an
    error of its doc, and not one of its guesses.
    """
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    with suppress(OSError, AttributeError):
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{user} {user} 1"),
                ("gid_map", f"{group} {group} 1"),
            ):
                with suppress(OSError), open(f"/proc/self/{name}", "w") as file:
                    file.write(text)
    resolve = socket.getaddrinfo

    def refuse(host: object, *args: object, **kwargs: object) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if any(name == known or name.endswith(f".{known}") for known in DATA_HOSTS):
            raise OSError(f"the process of a task's own code has no network: {name}")
        refuse_call(name)

    socket.getaddrinfo = refuse  # what names a host
    for name in ("connect", "connect_ex"):  # what has an address
        setattr(socket.socket, name, _refusing(getattr(socket.socket, name), resolve))


def _refusing(connect: Callable[..., object], resolve: Callable[..., object]) -> Callable[..., object]:
    def refuse(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            refuse_call(str(address[0]))
        return connect(self, address)

    return refuse


# ------------------------------------------------------------------ aggregation functions
# Habit: an aggregation function is written to be called once. It may take the command line (`args`), print, write a
# submission file, change the values that it gets and add to a dictionary of its module. A standard error calls it once
# for each doc that is left out, so every call is made to look like the first one.

AGAIN = "and a standard error would do so once for each document that is left out"


class CommandLine(SimpleNamespace):
    """Stands for lmms-eval's command line: `output_path` is set, and every other option is None."""

    def __getattr__(self, name: str) -> None:
        return None


def as_called_once(function: Callable[..., object]) -> Callable[[Sequence[object]], object]:
    """The aggregation as a function of the values alone, which may be called any number of times.

    Files that it writes below `args.output_path` are deleted; what it prints is shown at the first call only. A function
    that declares how it may be called (`@stratified_by`, `@smooth`) is returned unchanged.
    """
    from mm_eval.scoring.metrics.traits import Traits, traits_of

    takes_args = "args" in _parameters(function)
    if not takes_args and traits_of(function) != Traits():
        return function
    called = [False]

    @wraps(function)
    def once(values: Sequence[object]) -> object:
        own = [dict(value) if type(value) is dict else value for value in values]
        with ExitStack() as around:
            around.enter_context(_same_state(function))
            around.enter_context(unchanged(generators_in(getattr(function, "__globals__", {}))))
            if takes_args or called[0]:  # with args, what it prints is the path of its file
                around.enter_context(_silent(function))
            again, called[0] = called[0], True
            around.enter_context(no_calls())
            if again:
                around.enter_context(_no_program())
            if not takes_args:
                return function(own)
            folder = around.enter_context(tempfile.TemporaryDirectory(prefix="mm-eval-"))
            return function(own, args=CommandLine(output_path=folder))

    return once


def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return {}


@contextmanager
def _same_state(function: Callable[..., object]) -> Iterator[None]:
    """Restores the lists, dictionaries and sets of its module that a function names: OCRBench's adds to its totals."""
    code, variables = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    named = [name for name in getattr(code, "co_names", ()) if type(variables.get(name)) in (dict, list, set)]
    before = {name: copy.deepcopy(variables[name]) for name in named}
    try:
        yield
    finally:
        variables.update(before)


@contextmanager
def _no_program() -> Iterator[None]:
    """Inside, starting a program is a ScoringError: COCO's captions run Java, seconds a call and hours a standard error."""
    original = subprocess.Popen

    def refuse(*args: object, **kwargs: object) -> Any:
        raise ScoringError(f"it starts a program, {AGAIN}")

    setattr(subprocess, "Popen", refuse)  # noqa: B010  # an assignment to a class is what mypy refuses
    try:
        yield
    finally:
        setattr(subprocess, "Popen", original)  # noqa: B010


@contextmanager
def _silent(function: Callable[..., object]) -> Iterator[None]:
    """Inside, what a function prints, or logs with loguru, is dropped."""
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
