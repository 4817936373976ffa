"""All output of the command line: its streams, and texts made safe for a terminal by `values.safe`."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import textwrap
import threading
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NamedTuple, TextIO

from mm_eval.values.errors import MMEvalError, all_faults
from mm_eval.values.safe import in_line, terminal_safe

_BROKEN = (OSError, ValueError, RuntimeError)
"""The reader is gone or the disk full; the stream was closed; a signal handler writes in the middle of a write."""


class OutputError(Exception):
    """Standard output can't be written. reader_is_gone: nobody wants to read it (`mm-eval ls | head`)."""

    def __init__(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        super().__init__(f"standard output can't be written: {reason}.")
        self.reader_is_gone = isinstance(error, BrokenPipeError)


class Output:
    """Standard output that raises OutputError where writing to it fails, so that no other error is mistaken for that."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except _BROKEN as error:
            raise OutputError(error) from error

    def flush(self) -> None:
        try:
            self._stream.flush()
        except _BROKEN as error:
            raise OutputError(error) from error

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class Lenient:
    """A text stream that drops what can't be written."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(*_BROKEN):
            if self._stream is not None:
                self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(*_BROKEN):
            if self._stream is not None:
                self._stream.flush()

    def isatty(self) -> bool:
        with suppress(*_BROKEN):
            return self._stream is not None and self._stream.isatty()
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


@contextmanager
def usable_streams() -> Iterator[None]:
    """Inside the block all standard streams are open, writing to standard error never raises, and to output only OutputError.

    A closed stream's number goes to the next file that is opened: what a library prints would end up in the journal.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    out, err = sys.stdout, sys.stderr
    if out is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it lives as long as the process
    if reconfigure := getattr(sys.stdout, "reconfigure", None):
        reconfigure(errors="backslashreplace")  # an output without "±" gets it escaped
    sys.stdout, sys.stderr = Output(sys.stdout), Lenient(err)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


class _State:
    """What was printed so far. lost: text that someone wanted to read. loading: the last line on the terminal is unfinished."""

    lost = loading = False


def output_was_lost() -> bool:
    """Whether text was lost since the last call, other than of a reader that went away."""
    lost, _State.lost = _State.lost, False
    return lost


def say_loading(name: str, stream: Lenient) -> None:
    """Shows what happens now on a terminal, in a line that the next one replaces."""
    show_line(f"loading {name} ...", stream)


def show_line(text: str, stream: Any) -> None:
    """Shows a line on a terminal that whatever is printed next replaces."""
    _State.loading = True
    print(f"\x1b[2K\r{text}", end="", file=stream, flush=True)


def finish_line() -> None:
    """Clears the line of `say_loading`, so that what is printed next begins a line of its own."""
    if _State.loading:
        _State.loading = False
        print("\x1b[2K\r", end="", file=Lenient(sys.stderr), flush=True)


def discard_output() -> None:
    """Sends standard output nowhere from here on, so that the interpreter can't fail on it when it exits."""
    with suppress(*_BROKEN):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


LONGEST = 4000
"""Characters of an error; one that quotes a long value is cut in the middle."""


writes_results = False
"""Whether a command continues when standard output breaks: its results are on disk. `cli.main` sets it for each command."""


def say(text: object = "") -> None:
    """Prints one line; a line break in it is shown as \\n."""
    _print(in_line(text))


def say_lines(text: str) -> None:
    """Prints a text of several lines, such as a table or a prompt."""
    _print(terminal_safe(text))


def say_report(text: str) -> None:
    """Prints tables and sentences. A sentence that is wider than the terminal is broken between words; a file gets it whole."""
    width = _width_of_sentences()
    lines = terminal_safe(text).split("\n")
    _print("\n".join(lines if width is None else [part for line in lines for part in _broken(line, width)]))


_OF_TABLE = re.compile(r"\S {2,}\S|^-+$")
"""A line of a table: cells stand apart by two spaces or more."""


def wrapped(text: str, later: str = "") -> str:
    """A line within the width of the terminal, 80 columns where there is none. later: the indent of its further lines."""
    return "\n".join(_filled(text, max(40, shutil.get_terminal_size((80, 24)).columns), later))


def _width_of_sentences() -> int | None:
    """The columns into which sentences are broken; None for output that is read by programs, or later: a file, a pipe."""
    if not (os.environ.get("COLUMNS", "").isdigit() or sys.stdout.isatty()):
        return None
    return max(40, shutil.get_terminal_size((80, 24)).columns)


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width or _OF_TABLE.search(line):
        return [line]
    return _filled(line, width, " " * (len(line) - len(line.lstrip()) + 2))


def _filled(line: str, width: int, later: str) -> list[str]:
    """Addresses, paths and commands are not broken at a hyphen."""
    return textwrap.wrap(
        line, width, subsequent_indent=later, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def _print(text: str) -> None:
    """Prints at once. Where output can't be written, the text is lost and the command continues if it has its results on disk."""
    finish_line()
    try:
        print(text, flush=True)
    except OutputError as error:
        if not writes_results:
            raise
        discard_output()
        if not error.reader_is_gone:
            _State.lost = True
            print(f"mm-eval: {error}", file=sys.stderr)


class TaskCheck(NamedTuple):
    """The result of checking one task, or another thing of that name."""

    task: str
    ok: bool
    text: str


def say_checks(findings: Iterable[TaskCheck]) -> int:
    """Prints a line for each finding of a check, as soon as it is there, and returns the exit code."""
    failed = False
    for finding in findings:
        failed = failed or not finding.ok
        line, width = f"{'ok  ' if finding.ok else 'FAIL'}  {finding.task}: {finding.text}", _width_of_sentences()
        _print("\n".join([in_line(line)] if width is None else _filled(in_line(line), width, " " * 6)))
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


def complain_of_fault(error: Exception) -> None:
    """Prints the traceback of a fault of mm-eval itself, and what to do."""
    _uncaught(type(error), error, error.__traceback__)
    complain_briefly(
        "this is a fault of mm-eval, not of your command. Recorded answers are kept. Please report these lines."
    )


class LogHandler(logging.StreamHandler[Any]):
    """Log lines on the error stream, each on a line of its own."""

    def emit(self, record: logging.LogRecord) -> None:
        finish_line()
        super().emit(record)


class SafeFormatter(logging.Formatter):
    """Log lines without control characters: they may quote a server, a file or an answer."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return in_line(super().formatMessage(record))

    def formatException(self, ei: object) -> str:
        return terminal_safe(super().formatException(ei))  # type: ignore[arg-type]


def guard_streams() -> None:
    """Makes safe what Python itself prints: warnings and tracebacks, whose last line may quote data. For a process of its own.

    Characters that a stream can't encode, an ASCII one for example, are escaped. Pillow's warning of a large picture is left
    out: it names a file of Pillow's and not the picture, and a picture above mm-eval's own limit fails with its document's name.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    logging.captureWarnings(True)
    warnings.filterwarnings("ignore", message=".*could be decompression bomb")
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _uncaught(
    kind: type[BaseException], error: BaseException | None, where: TracebackType | None
) -> None:  # pragma: no cover
    print(terminal_safe("".join(traceback.format_exception(kind, error, where))), file=sys.stderr, end="")
