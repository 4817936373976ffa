"""All output of the command line: every text is made safe for a terminal by `values.safe`."""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from mm_eval.cli.streams import finish_line
from mm_eval.cli.streams import say as write
from mm_eval.values.errors import MMEvalError, all_faults
from mm_eval.values.safe import in_line, terminal_safe

if TYPE_CHECKING:
    from mm_eval.check import TaskCheck

LONGEST = 4000
"""Characters of an error; one that quotes a long value is cut in the middle."""


output_may_be_lost = False
"""Whether a command goes on when standard output breaks, because its results are on disk. `cli.main` sets it for each command."""


def say(text: object = "") -> None:
    """Prints one line; a line break in it is shown as \\n."""
    _print(in_line(text))


def say_lines(text: str) -> None:
    """Prints a text of several lines, such as a table or a prompt."""
    _print(terminal_safe(text))


def _print(text: str) -> None:
    if output_may_be_lost:
        write(text)
    else:
        finish_line()
        print(text, flush=True)


def say_checks(findings: Iterable[TaskCheck]) -> int:
    """Prints a line for each finding of a check, as soon as it is there, and returns the exit code."""
    failed = False
    for finding in findings:
        failed = failed or not finding.ok
        say(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.task}: {finding.text}")
    return 2 if failed else 0


def complain(error: MMEvalError) -> None:
    """Prints an error in one line on the error stream; several faults in a line each, below their number."""
    faults = all_faults(error)
    if len(faults) == 1:
        complain_briefly(f"{error.owner} error: {in_line(error, LONGEST)}")
        return
    complain_briefly(f"{error.owner} error: {len(faults)} mistakes were found; nothing was requested:")
    for fault in faults:
        print(f"  {in_line(fault, LONGEST)}", file=sys.stderr)


def complain_briefly(text: object) -> None:
    """Prints one line on the error stream."""
    finish_line()
    print(f"mm-eval: {in_line(text)}", file=sys.stderr)


class SafeFormatter(logging.Formatter):
    """Log lines without control characters: they may quote a server, a file or an answer."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return in_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        return terminal_safe(super().formatException(ei))  # type: ignore[arg-type]


def guard_streams() -> None:
    """Makes safe what Python itself prints: warnings and tracebacks, whose last line may quote data. For a process of its own.

    Characters that a stream can't encode, an ASCII one for example, are escaped.
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
