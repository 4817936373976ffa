"""The process of a task's own code, as this process sees it: started when it is needed, asked one thing at a time, ended in time.

The child has no network, a HF_HOME of its own, its own modules, and a limit of seconds for each call. If it ends, or is ended
because it took too long, the call is an error of the doc, and the next call starts another one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

from mm_eval.foreign_code.wire import Line, Reader, Writer
from mm_eval.values.deadline import seconds_of_call
from mm_eval.values.errors import ScoringError, said_by
from mm_eval.values.types import JsonObject
from mm_eval.values.words import counted

OF_ALL_DOCS = 60
"""How many times as long a function may take that gets all docs at once."""
MOST_STARTS = 20
"""How often a process is started again that ended by itself."""

BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from mm_eval.foreign_code.child.main import main; main()"
)

Answer = Callable[[str, Any], Any]
"""Answers what the child asks while a call runs: (what, about what) -> a value."""


class ProcessEnded(ScoringError):
    """The process of a task's own code ended, or was ended, during a call."""


class TaskProcess:
    """The process in which the functions of one folder of task files run."""

    def __init__(self, seconds: float | None = None, most_starts: int = MOST_STARTS) -> None:
        self._seconds, self._most_starts = seconds, most_starts
        self._lock = threading.RLock()
        self._line: Line | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._ends: weakref.finalize[..., TaskProcess] | None = None
        self.starts = 0
        self.unused: list[str] = []
        """Random streams that no task has any more; the next call reports them to the child."""

    def call(self, message: Mapping[str, object], writer: Writer, answer: Answer, all_docs: bool = False) -> Any:
        """What the child answers to a message, with what it reads itself of it.

        writer: with the message's bytes, pictures and lazy docs. answer: answers what it asks meanwhile.
        Raises what the task's code raised, and ProcessEnded.
        """
        limit = self._seconds or seconds_of_call() * (OF_ALL_DOCS if all_docs else 1)
        with self._lock:
            line = self._line or self._start()
            deadline = time.monotonic() + limit

            def left() -> float:
                return max(deadline - time.monotonic(), 0.001)

            try:
                line.send(message, writer.blobs)
                while True:
                    said, blobs = line.receive(left)
                    reader = Reader(blobs)
                    reader.given = writer.pictures
                    if "ask" not in said:
                        return said, reader
                    began = time.monotonic()
                    self._answer(line, said, reader, writer, answer)
                    deadline += time.monotonic() - began
            except TimeoutError:
                self.end()
                what = f"the task's own code took longer than {limit:g} s, and its process was ended."
                raise ProcessEnded(what, hint="MM_EVAL_TASK_SECONDS states another limit.") from None
            except (EOFError, OSError, ValueError, KeyError) as error:
                raise ProcessEnded(self._why_it_ended(error)) from None
            except BaseException:  # an interrupt: the child still works on the call
                self.end()
                raise

    def _answer(self, line: Line, said: dict[str, object], reader: Reader, writer: Writer, answer: Answer) -> None:
        """Answers one question of the child; an error of the answer becomes one of the child's call."""
        answered = Writer()
        answered.rows = writer.rows
        what, about = str(said["ask"]), reader.value(said.get("about"))
        try:
            found = dict(writer.lazy[int(about)]._load()) if what == "doc" else answer(what, about)
        except Exception as error:
            line.send({"error": error_to_wire(error, answered)}, answered.blobs)
            return
        line.send({"value": answered.value(found)}, answered.blobs)

    def _start(self) -> Line:
        if self.starts > self._most_starts:
            raise ProcessEnded(f"the process of the task's own code ended {counted(self.starts, 'time')}.")
        self.starts += 1
        home = tempfile.mkdtemp(prefix="mm-eval-task-")
        ours, theirs = socket.socketpair()
        read, lifeline = os.pipe()
        words = [json.dumps(sys.path), str(theirs.fileno()), str(read), home]
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-c", BOOT, *words],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), read),
            )
        except OSError as error:
            ours.close()
            os.close(lifeline)
            os.rmdir(home)
            raise ProcessEnded(f"the process of the task's own code can't be started: {error.strerror}.") from error
        finally:
            theirs.close()
            os.close(read)
        self._line = Line(ours)
        self._ends = weakref.finalize(self, _end, self._child, ours, lifeline, home)
        return self._line

    def _why_it_ended(self, error: Exception) -> str:
        child = self._child
        if child is None or not isinstance(error, (EOFError, ConnectionError)):
            self.end()
            return f"the process of the task's own code sent an unexpected reply ({error})."
        with suppress(subprocess.TimeoutExpired):
            child.wait(5)
        code = child.returncode
        self.end()
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"the process of the task's own code was ended by {signal.Signals(-code).name}."
        return f"the process of the task's own code ended with exit code {code}."

    def end(self) -> None:
        """Ends the child; the next call starts another one."""
        with self._lock:
            if self._ends is not None:
                self._ends()
            self._line = self._child = self._ends = None


def _end(child: subprocess.Popen[bytes], end: socket.socket, lifeline: int, home: str) -> None:
    """Ends a child that may still work on a call, and removes its folder."""
    end.close()
    with suppress(OSError):
        os.close(lifeline)
    try:
        child.wait(0.5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    shutil.rmtree(home, ignore_errors=True)


_KNOWN: weakref.WeakValueDictionary[tuple[Any, ...], TaskProcess] = weakref.WeakValueDictionary()
_LAST: deque[TaskProcess] = deque(maxlen=2)
"""Those that were named last, so that a config that is resolved again finds its process still running."""
_LOCK = threading.Lock()


_FOR_ALL: TaskProcess | None = None


@contextmanager
def one_for_all(seconds: float) -> Iterator[TaskProcess]:
    """Inside, the files of all folders are imported in one process, which is started again after a file that ended it.

    seconds: how long a file may take to be imported.
    """
    global _FOR_ALL
    _FOR_ALL = found = TaskProcess(seconds, most_starts=sys.maxsize)
    try:
        yield found
    finally:
        _FOR_ALL = None
        found.end()


def process_of(folder: Path) -> TaskProcess:
    """The process for the task files of a folder. It ends when nothing of it is used any more."""
    if _FOR_ALL is not None:
        return _FOR_ALL
    key = (folder, os.getcwd(), *sorted((n, v) for n, v in os.environ.items() if n != "PYTEST_CURRENT_TEST"))
    with _LOCK:
        found = _KNOWN.get(key)
        if found is None:
            found = _KNOWN[key] = TaskProcess()
        if found not in _LAST:
            _LAST.append(found)
        return found


# ------------------------------------------------------------------ errors
class TaskCodeError(Exception):
    """An error of a task's own code that is of no kind of Python's."""


def error_to_wire(error: BaseException, writer: Writer) -> JsonObject:
    """What crosses of an error: its kind, its sentence, and its arguments where they are plain."""
    found: dict[str, object] = {"kind": type(error).__name__, "text": said_by(error)}
    found["below"] = [kind.__name__ for kind in type(error).__mro__[1:] if kind.__module__ == "builtins"]
    for name in ("what", "where", "hint"):
        if isinstance(said := getattr(error, name, None), str):
            found[name] = said
    if isinstance(error, ImportError):
        found["name"] = error.name
    if all(arg is None or isinstance(arg, (str, int, float, bool)) for arg in error.args):
        found["args"] = writer.value([*error.args])
    return found


def error_from_wire(stated: Mapping[str, Any], reader: Reader) -> Exception:
    """The error as one of this process: of the same kind if it is one of Python's or of mm-eval's, else of its name."""
    import builtins

    from mm_eval.values import errors

    kind, text = str(stated["kind"]), str(stated["text"])
    own = getattr(errors, kind, None)
    if isinstance(own, type) and issubclass(own, errors.MMEvalError) and own is not errors.ConfigErrors:
        return own(str(stated.get("what", text)), where=str(stated.get("where", "")), hint=str(stated.get("hint", "")))
    known = getattr(builtins, kind, getattr(sys.modules.get("datasets.exceptions"), kind, None))
    if isinstance(known, type) and issubclass(known, Exception):
        with suppress(Exception):
            make: Any = partial(known, name=stated.get("name")) if issubclass(known, ImportError) else known
            return cast("Exception", make(*(reader.value(stated["args"]) if "args" in stated else [text])))
    name = kind if kind.isidentifier() else "Error"
    for each in stated.get("below", ()):  # a ValueError of the task's own stays a ValueError
        base = getattr(builtins, str(each), None)
        if isinstance(base, type) and issubclass(base, Exception) and base is not Exception:
            with suppress(Exception):
                return cast("Exception", type(name, (base,), {})(text))
    return cast("Exception", type(name, (TaskCodeError,), {})(text))
