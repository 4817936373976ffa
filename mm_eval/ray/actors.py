"""The workers of a fleet as actors of Ray: it places them, carries what they say, notices their deaths and cleans up.

This runs in the companion of the command (`ray_process`). Ray restarts and repeats nothing by itself:
`fleet` decides what is asked again.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from mm_eval.engine.model import Model
from mm_eval.ray.process import GRACE, refusal
from mm_eval.ray.worker import Event, Worker
from mm_eval.values.errors import ConfigError, ModelError

THREADS = 8
"""Calls that an actor runs at a time: one of them is `hear`, which never returns."""
LOOK = 0.2
"""Seconds after which a new worker is heard while the others are silent."""


class Actor:
    """A worker as Ray runs it. The model is made in `hear`, so that what goes wrong there is said and not lost."""

    def __init__(self) -> None:
        self.worker: Worker | None = None

    def hear(self, make: bytes) -> Iterator[list[Event]]:
        from ray import cloudpickle

        found: Callable[[], Model] = lambda: cloudpickle.loads(make)()  # noqa: E731 (in the worker's own thread)
        self.worker = Worker(found)
        self.worker.start()
        yield from self.worker.hear()

    def lease(self, number: int, rows: list[tuple[object, ...]], files: Mapping[str, object]) -> None:
        assert self.worker is not None
        self.worker.lease(number, rows, files)

    def recall(self, stop: bool) -> None:
        if self.worker is not None:
            self.worker.recall(stop)

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()


class Actors:
    """The workers of one fleet. cpus, gpus: of each; gpus=None is one where the cluster has any, else none."""

    def __init__(self, ray: Any, make: bytes, cpus: float, gpus: float | None) -> None:
        self.ray = ray
        total = ray.cluster_resources()
        self.room = float(total.get("CPU", 0)), float(total.get("GPU", 0))
        self.gpus = float(bool(self.room[1]) if gpus is None else gpus)
        self.make = ray.put(make)
        self.actor = ray.remote(Actor).options(
            num_cpus=cpus, num_gpus=self.gpus, max_restarts=0, max_task_retries=0, max_concurrency=THREADS
        )
        self.actors: dict[int, Any] = {}
        self.streams: dict[Any, int] = {}

    def start(self, worker: int) -> None:
        self.actors[worker] = self.actor.remote()
        stream = self.actors[worker].hear.options(num_returns="streaming").remote(self.make)
        self.streams[stream] = worker

    def lease(self, worker: int, lease: int, rows: list[tuple[object, ...]], files: Mapping[str, object]) -> None:
        self.actors[worker].lease.remote(lease, rows, files)

    def recall(self, worker: int, stop: bool) -> None:
        self.actors[worker].recall.remote(stop)

    def hear(self, timeout: float) -> Iterable[tuple[int, Event]]:
        streams = list(self.streams)
        ready, _ = self.ray.wait(streams, num_returns=1, timeout=timeout)
        if ready and len(streams) > 1:
            ready, _ = self.ray.wait(streams, num_returns=len(streams), timeout=0)
        for stream in ready:
            if (worker := self.streams.get(stream)) is not None:
                for event in self._said(stream):
                    yield worker, event

    def _said(self, stream: Any) -> list[Event]:
        errors = self.ray.exceptions
        try:
            found: list[Event] = self.ray.get(next(stream))
            return found
        except StopIteration:
            lost: Event = ("lost", True, "its process ended")
        except errors.ActorDiedError as error:
            lost = ("lost", not error.preempted, _first_line(error, "its process died"))
        except errors.RayActorError as error:
            lost = ("lost", False, _first_line(error, "the connection to it was lost"))
        except errors.RayTaskError as error:
            lost = ("raised", ModelError(f"a worker failed: {_last_line(error)}"))
        except errors.RayError as error:
            lost = ("lost", False, _first_line(error, type(error).__name__))
        self.streams.pop(stream, None)
        return [lost]

    def kill(self, workers: Sequence[int], gently: bool) -> None:
        actors = [self.actors.pop(worker) for worker in workers if worker in self.actors]
        for stream in [stream for stream, worker in list(self.streams.items()) if worker in workers]:
            self.streams.pop(stream, None)
        if gently and actors:
            closing = [actor.close.remote() for actor in actors]
            self.ray.wait(closing, num_returns=len(closing), timeout=GRACE)
        for actor in actors:
            self.ray.kill(actor, no_restart=True)


class Companion:
    """Does what the command says over a connection, and sends it what workers say, until the command ends."""

    def __init__(self, connection: Connection) -> None:
        self.connection, self.sending = connection, threading.Lock()
        self.over, self.changed = threading.Event(), threading.Event()
        self.fleets: dict[int, Actors] = {}
        self.ray: Any = None

    def send(self, *message: object) -> None:
        with self.sending, suppress(OSError):  # the command has died, which `obey` notices
            self.connection.send(message)

    def run(self) -> None:
        _, address, folder = self.connection.recv()
        threading.Thread(target=self._obey, daemon=True).start()
        try:
            self.ray = joined(address, folder)
            self.send("joined", str(self.ray.get_runtime_context().gcs_address))
            while not self.over.is_set():
                self._hear()
            self.ray.shutdown()
        except ConfigError as error:
            self.send("failed", error)
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _hear(self) -> None:
        busy = [(number, fleet) for number, fleet in list(self.fleets.items()) if fleet.streams]
        for number, fleet in busy:
            if heard := list(fleet.hear(LOOK / len(busy))):
                self.send("heard", number, heard)
        if not busy:
            self.changed.wait(LOOK)
            self.changed.clear()

    def _obey(self) -> None:
        try:
            while (message := self.connection.recv())[0] != "end":
                self._do(*message)
                self.changed.set()
        except (EOFError, OSError):  # the command has ended without a word
            pass
        ending = threading.Timer(GRACE, os._exit, [1])  # it may hang while it joins or leaves
        ending.daemon = True
        ending.start()
        self.over.set()
        self.changed.set()
        if self.ray is None:
            os._exit(1)

    def _do(self, verb: str, number: int, *words: Any) -> None:
        if verb == "cluster":
            fleet = Actors(self.ray, *words)
            self.fleets[number] = fleet
            self.send("cluster", number, *fleet.room, fleet.gpus)
            return
        getattr(self.fleets[number], verb)(*words)
        if verb == "kill":
            self.send("killed", number)


def main(descriptor: int) -> None:
    """The companion's life. descriptor: of its end of the connection."""
    Companion(Connection(descriptor)).run()


def joined(address: str | None, folder: str | None = None) -> object:
    """The package ray, connected to the cluster at an address; without one to a new cluster of this machine in `folder`.

    Errors: ConfigError with one sentence for whatever goes wrong.
    """
    import ray

    threads = os.environ.get("OMP_NUM_THREADS")  # Ray sets another number, and sums of floats would differ
    options: dict[str, object] = {"runtime_env": {"env_vars": {"OMP_NUM_THREADS": threads}}} if threads else {}
    options |= {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            own = {"_temp_dir": os.path.join(folder, "r") if folder else None, "include_dashboard": False}
            ray.init("local", _node_ip_address="127.0.0.1", **own, **options)
        else:
            ray.init(address, **options)
    except (Exception, SystemExit) as error:  # Ray raises bare ones, and ends the process where a helper did not start
        raise refusal(address or "this machine", _first_line(error, type(error).__name__)) from error
    return ray


def _first_line(error: BaseException, fallback: str) -> str:
    lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else fallback


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
