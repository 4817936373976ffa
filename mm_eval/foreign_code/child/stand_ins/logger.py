"""loguru's logger, where that package is not installed: what task code reports goes to stderr, as a line with its level.

Only `logger` is used of loguru in task files: its levels, and its settings, which change nothing here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

LEVELS = ("TRACE", "DEBUG", "INFO", "SUCCESS", "WARNING", "ERROR", "CRITICAL")
SHOWN_FROM = LEVELS.index("WARNING")


class Logger:
    """A logger whose messages below WARNING are dropped, as lmms-eval's users run it."""

    def __init__(self, disabled: set[str] | None = None) -> None:
        self._disabled = set[str]() if disabled is None else disabled

    def _say(self, level: str, message: object, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        number = LEVELS.index(level) if level in LEVELS else SHOWN_FROM
        if number < SHOWN_FROM or sys._getframe(2).f_globals.get("__name__") in self._disabled:
            return
        text = str(message)
        if args or kwargs:  # loguru's messages are format strings when they have arguments
            try:
                text = text.format(*args, **kwargs)
            except (IndexError, KeyError, ValueError):
                text = f"{text} {args or kwargs}"
        sys.stderr.write(f"{level}: {text}\n")

    def log(self, level: object, message: object, *args: object, **kwargs: object) -> None:
        self._say(str(level), message, args, kwargs)

    def trace(self, message: object, *args: object, **kwargs: object) -> None: ...

    def debug(self, message: object, *args: object, **kwargs: object) -> None: ...

    def info(self, message: object, *args: object, **kwargs: object) -> None: ...

    def success(self, message: object, *args: object, **kwargs: object) -> None: ...

    def warning(self, message: object, *args: object, **kwargs: object) -> None:
        self._say("WARNING", message, args, kwargs)

    warn = warning

    def error(self, message: object, *args: object, **kwargs: object) -> None:
        self._say("ERROR", message, args, kwargs)

    def critical(self, message: object, *args: object, **kwargs: object) -> None:
        self._say("CRITICAL", message, args, kwargs)

    exception = error

    def disable(self, name: str) -> None:
        self._disabled.add(name)

    def enable(self, name: str) -> None:
        self._disabled.discard(name)

    def add(self, *args: object, **kwargs: object) -> int:
        return 0

    def bind(self, **kwargs: object) -> Logger:
        return self

    def opt(self, *args: object, **kwargs: object) -> Logger:
        return self

    def patch(self, *args: object, **kwargs: object) -> Logger:
        return self

    @contextmanager
    def contextualize(self, **kwargs: object) -> Any:
        yield

    def catch(self, *args: object, **kwargs: object) -> object:
        """As a decorator it changes nothing: an error of the task's code is seen."""
        if len(args) == 1 and callable(args[0]) and not isinstance(args[0], type):
            return args[0]

        def same(function: Callable[..., object]) -> Callable[..., Any]:
            return function

        return same

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None  # remove, configure, complete, level, ...: settings


logger = Logger()
__all__ = ["logger"]
