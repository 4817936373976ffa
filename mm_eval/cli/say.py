"""The only place where the command line writes: no text reaches a terminal without `report.safe`."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from types import TracebackType

from mm_eval.errors import ConfigErrors, MMEvalError
from mm_eval.report import streams
from mm_eval.report.safe import in_line, terminal_safe

LONGEST = 4000
"""Characters of an error; one that quotes a long value is cut in the middle."""


def say(text: object = "") -> None:
    """One line on the output stream; a line break in it is shown as \\n."""
    streams.say(in_line(text))


def say_lines(text: str) -> None:
    """A text of several lines, such as a table or a prompt, whose parts are in their lines already."""
    streams.say(terminal_safe(text))


def complain(error: MMEvalError) -> None:
    """An error in one line on the error stream; where several were found, one line each."""
    errors = error.errors if isinstance(error, ConfigErrors) else ()
    said = f"{len(errors)} mistakes were found; nothing was asked:" if errors else in_line(error, LONGEST)
    complain_briefly(f"{error.owner} error: {said}")
    for each in errors:
        print(f"  {in_line(each, LONGEST)}", file=sys.stderr)


def complain_briefly(text: object) -> None:
    """One line on the error stream."""
    print(f"mm-eval: {in_line(text)}", file=sys.stderr)


class SafeFormatter(logging.Formatter):
    """Log lines without control characters: they may quote a server, a file or an answer."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return in_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        return terminal_safe(super().formatException(ei))  # type: ignore[arg-type]


def guard_streams() -> None:
    """For a process of its own: what Python itself prints is made safe too, and no character is too much for a stream.

    A fault of mm-eval ends in a traceback, whose last line quotes data; a stream may be ASCII.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _uncaught(
    kind: type[BaseException], error: BaseException | None, where: TracebackType | None
) -> None:  # pragma: no cover
    print(terminal_safe("".join(traceback.format_exception(kind, error, where))), file=sys.stderr, end="")
