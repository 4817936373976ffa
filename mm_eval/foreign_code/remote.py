"""Functions of a task's own code that run in a process of their own, as functions of this one.

RUNNER.takes(files)            whether they must (reading.py)
RUNNER.function(file, name)    a RemoteFunction, or a class of remote filters
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from mm_eval.config.foreign_code import FURTHER_DATA, NO_CALLS, during
from mm_eval.config.packages import MissingPackages
from mm_eval.data.places import home_of_hub, put_in_place
from mm_eval.foreign_code.annotations import annotations_from
from mm_eval.foreign_code.process import TaskProcess, error_from_wire, error_to_wire, process_of
from mm_eval.foreign_code.rows import read_rows, written_rows
from mm_eval.foreign_code.wire import Reader, Writer
from mm_eval.scoring.asked import RETRIES, Asked, CodeQuestion, Lookup
from mm_eval.values.errors import ConfigError, DataError, ScoringError
from mm_eval.values.types import Answer, Fields, JsonObject, MetricKey, Number, Options

_USED: ContextVar[tuple[str, list[str], bool] | None] = ContextVar("stream", default=None)
"""(the stream that the functions draw from now, its files, whether it goes on); None outside of any."""
_NUMBERS = itertools.count()


MOST_REMEMBERED = 64 * 2**20
"""Characters of arguments and results that are remembered of one function."""
PLAIN = (str, int, float, bool, type(None), list, dict)


class RemoteStream:
    """The random stream of a task whose functions run in another process, which keeps its state."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._name, self._files = str(next(_NUMBERS)), [str(file) for file in files]
        for folder in {file.parent for file in files}:
            weakref.finalize(self, process_of(folder).unused.append, self._name).atexit = False

    @contextmanager
    def used(self, *, goes_on: bool = True) -> Iterator[None]:
        with during(_USED, (self._name, self._files, goes_on)):
            yield


class RemoteFunction:
    """A function of a task file, which runs in the process of its folder."""

    has_deadline = True

    def __init__(self, process: TaskProcess, file: Path, name: str, about: Fields) -> None:
        self._process, self._file = process, file
        self._more: dict[str, object] = {}
        self._known: dict[str, str | int | float | bool] | None = {}
        self._room = MOST_REMEMBERED
        self.__name__ = self.__qualname__ = name
        self.__module__ = str(about["module"])
        self.__doc__ = about.get("doc")
        self.__annotations__ = annotations_from(about.get("annotations") or {})
        if about["parameters"] is not None:
            self.__signature__ = _signature(about["parameters"])
        for attribute, value in about["attributes"].items():
            setattr(self, attribute, value)

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """What the function returns. A run writes each prompt several times: texts and numbers are remembered unless it draws."""
        if self._known is None or _USED.get() is not None or FURTHER_DATA.get() is not None or NO_CALLS.get():
            return self.ask({"do": "call"}, args, kwargs)[0]
        try:
            key = json.dumps((args, kwargs), check_circular=False)  # fails for all that JSON lacks, but for tuples
        except (TypeError, ValueError, RecursionError):
            key = ""
        if not key or any(type(each) not in PLAIN for each in (*args, *kwargs.values())):
            return self.ask({"do": "call"}, args, kwargs)[0]
        if key not in self._known:
            found = self.ask({"do": "call"}, args, kwargs)[0]
            self._room -= len(key) + (len(found) if type(found) is str else 0)
            if type(found) not in (str, int, float, bool) or self._room < 0:
                self._known = None  # it gives other values, or too many
                return found
            self._known[key] = found
        return self._known[key]

    def run_with_replies(self, doc: object, results: object, lookup: Lookup, retries: int = RETRIES) -> Asked:
        """Runs it with the recorded replies of the model that it asks. retries: further replies to a question that it asks again.

        Errors: what the function raises, unless it asked something whose reply is not known.
        """
        questions: list[CodeQuestion] = []
        replies: list[Answer | None] = []

        def answer(what: str, about: Any) -> Any:
            if what != "reply":
                return answer_of_process(what, about)
            questions.append(CodeQuestion(**about))
            found = lookup(questions[-1])
            replies.append(found)
            if found is None:
                return None
            error = error_to_wire(found.error, Writer()) if found.error is not None else None
            return {"output": str(found.output), "ended": found.ended, "model": found.model, "error": error}

        value, said, reader = self.ask({"do": "call_with_replies", "retries": retries}, (doc, results), {}, answer)
        asked = Asked(lookup, retries, value)
        asked.questions = [questions[number] for number in said["questions"]]
        asked.replies = [reply for number in said["questions"] if (reply := replies[number]) is not None]
        asked.pending = None if said["pending"] is None else questions[said["pending"]]
        failed = replies[said["pending"]] if said["pending"] is not None else None
        if said["failed"] is not None:
            asked.error = (failed and failed.error) or error_from_wire(said["failed"], reader)  # type: ignore[assignment]
        return asked

    def as_aggregation(self) -> RemoteAggregation:
        """As an aggregation that may be called any number of times, each call like the first."""
        return RemoteAggregation(self)

    def ask(
        self,
        message: Mapping[str, object],
        args: tuple[object, ...],
        kwargs: Options,
        answer: Callable[[str, object], object] | None = None,
        all_docs: bool = False,
    ) -> tuple[Any, JsonObject, Reader]:
        """As `ask` of this file. message: what its process does with the function."""
        whole = {"file": str(self._file), "name": self.__name__, **self._more, **message}
        return ask(self._process, whole, args, kwargs, answer, all_docs)


class RemoteAggregation:
    """An aggregation of another process: the number, and its standard error, which calls it many times, are made there."""

    def __init__(self, function: RemoteFunction) -> None:
        self._function, self._once = function, next(_NUMBERS)
        self.__name__ = self.__qualname__ = function.__name__
        self.__module__ = function.__module__

    def __call__(self, values: Sequence[object]) -> object:
        return self._function.ask({"do": "aggregate", "once": self._once}, ([*values],), {}, all_docs=True)[0]

    def number_of(
        self, key: MetricKey, of_docs: Mapping[int, object], clusters: Mapping[int, object] | None, *settings: object
    ) -> Number:
        """The number of all docs and its standard error. settings: those of `number_of` of scoring/number.py, in its order."""
        ids = list(of_docs)
        drawn = None if clusters is None else _numbered(clusters.get(doc_id, ("doc", doc_id)) for doc_id in ids)
        given = (ids, list(of_docs.values()), drawn, list(settings))
        try:
            message = {"do": "number", "once": self._once}
            found = self._function.ask(message, given, {}, all_docs=True)[0]
        except ScoringError as error:  # its process ended
            return Number(key, None, n=len(ids), note=f"the aggregation raised {type(error).__name__}: {error.what}")
        return Number(key, *found)

    def interval_of(
        self, key: MetricKey, runs: Sequence[Sequence[object]], clusters: Sequence[object] | None, *settings: object
    ) -> Number:
        """The number of one run's values with its interval, or the paired difference of two.

        settings: the draws and the seed of `estimate` of scoring/metrics/paired.py.
        """
        given = (list(map(list, runs)), None if clusters is None else _numbered(clusters), list(settings))
        found = self._function.ask({"do": "interval", "once": self._once}, given, {}, all_docs=True)[0]
        return Number(key, *found)


def _numbered(clusters: Iterable[object]) -> list[int]:
    """A number for each cluster, which may be named by anything."""
    order: dict[object, int] = {}
    return [order.setdefault(cluster, len(order)) for cluster in clusters]


def ask(
    process: TaskProcess,
    message: dict[str, object],
    args: Iterable[object],
    kwargs: Options,
    answer: Callable[[str, object], object] | None = None,
    all_docs: bool = False,
) -> tuple[Any, JsonObject, Reader]:
    """(what a function returned in its process, the rest of what that says, what reads its values).

    answer: to what the process asks meanwhile, by default `answer_of_process`. all_docs: the time limit is that of all docs.
    """
    writer = Writer()
    tables: list[object] = []

    def table(rows: object) -> JsonObject:
        tables.append(rows)
        return written_rows(rows)

    writer.rows = table
    args = list(args)
    message["args"] = [writer.value(item) for item in args]
    message["kwargs"] = {name: writer.value(item) for name, item in kwargs.items()}
    unused, process.unused[:] = process.unused[:], []
    message |= {
        "unused": unused,
        "stream": _USED.get(),
        "why": NO_CALLS.get(),
        "data": FURTHER_DATA.get() is not None and message["do"] != "load",
    }
    said, reader = process.call(message, writer, answer or answer_of_process, all_docs or bool(tables))
    for number, text in said.get("printed", ()):
        (sys.stdout if number == 1 else sys.stderr).write(text)
    reader.rows = lambda stated: read_rows(stated, tables)
    reader.kept = _nothing_kept
    for own, looked, lacking in zip(writer.watched, said.get("looked", ()), said.get("lacking", ()), strict=False):
        if isinstance(read := getattr(own, "read", None), set):
            read.update(looked)
        if isinstance(known := getattr(own, "lacking", None), list):
            known.extend(lacking)
    if "error" in said:
        raise error_from_wire(said["error"], reader)
    return reader.value(said.get("value")), said, reader


def _nothing_kept(number: int) -> object:
    raise DataError("the process of the task's own code named an object that is not here.")


def answer_of_process(what: str, about: Any) -> Any:
    """Answers what the child asks for any function: to print, for further data, for the place of a file."""
    if what == "print":
        (sys.stdout if about[0] == 1 else sys.stderr).write(about[1])
        return None
    if what == "place":  # a file below HF_HOME, as lmms-eval would have unpacked it
        path = os.path.join(home_of_hub(), str(about))
        return path if os.path.exists(path) or put_in_place(path) else None
    load = FURTHER_DATA.get()
    if what == "data" and load is not None:
        path, name, options = about
        return load(path, name, **options)
    if what == "data":
        raise DataError(
            "further data can be loaded while the documents are made (process_docs, custom_dataset), not later."
        )
    raise DataError(f"the process of the task's own code asks for {what!r}, which is not known.")


class _Parameter:
    """The default of a parameter, which stays in the other process."""

    def __repr__(self) -> str:
        return "..."


def _signature(stated: Sequence[Sequence[Any]]) -> inspect.Signature:
    kinds = {kind.name: kind for kind in inspect._ParameterKind}
    empty = inspect.Parameter.empty
    found = [
        inspect.Parameter(name, kinds[kind], default=_Parameter() if default else empty)
        for name, kind, default in stated
    ]
    return inspect.Signature(found)


class RemoteObject:
    """An object of a class of a task file, such as a filter, in the process of its folder."""

    _process: TaskProcess
    _about: Fields

    def __init__(self, **kwargs: object) -> None:
        made, _, _ = ask(self._process, {"do": "make", **self._about}, (), kwargs)
        self._number = made

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[object]) -> Iterable[Sequence[Any]]:
        """The answers after this step, as of any filter."""
        given = ([list(answers) for answers in resps], list(docs))
        message = {"do": "apply", "number": self._number, **self._about}
        found, _, _ = ask(self._process, message, given, {}, all_docs=True)
        return list(found)


def function(file: Path, name: str, class_of: Callable[[TaskProcess, Path, str], type]) -> tuple[Any, Sequence[str]]:
    """As `ForeignCode.function` says. class_of: makes the class that stands for a task class of a file."""
    process = process_of(file.parent)
    where = {"file": str(file), "name": name}
    about, _, _ = ask(process, {"do": "describe", **where}, (), {})
    if not about["callable"]:
        return None if about["missing"] else name, about["names"]
    if about["packages"]:
        raise MissingPackages(f"{name!r} needs", about["packages"])
    if not about["is_class"]:
        return RemoteFunction(process, file, name, about), ()
    if about.get("is_task"):
        return class_of(process, file, name), ()
    if not about["filters"]:
        what = f"the class {name!r} is in a file whose code runs elsewhere, where only filters and tasks can be made."
        raise ConfigError(what, hint="Put it into a file that imports nothing of another suite.")
    attributes = {"_process": process, "_about": where, "__module__": about["module"], **about["attributes"]}
    made = type(name, (RemoteObject,), attributes)
    if about["parameters"] is not None:
        made.__signature__ = _signature(about["parameters"])  # type: ignore[attr-defined]
    return made, ()


def load_offline(path: str, name: str | None, options: Mapping[str, object]) -> object:
    """As `ForeignCode.load_offline` says."""
    process = process_of(Path("offline"))  # no folder of a task
    return ask(process, {"do": "load"}, (path, name), options, all_docs=True)[0]
