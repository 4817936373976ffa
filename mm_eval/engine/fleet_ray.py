"""The workers of a fleet as actors of Ray: it places them, carries what they say, notices their deaths and cleans up.

Ray restarts and repeats nothing by itself: `fleet` decides what is asked again. This is the only file that imports ray.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mm_eval.engine.model import Model
from mm_eval.engine.worker import Event, Worker
from mm_eval.errors import ConfigError, ModelError

log = logging.getLogger(__name__)
GRACE = 10.0
"""Seconds in which models may close before their processes are ended."""
REACH = 10.0
"""Seconds in which a cluster must accept a connection."""
SETTINGS = b"\4"
"""The type of the first frame that a server of HTTP/2 sends, on which gRPC runs (RFC 9113, section 3.4)."""
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0" * 5
"""The words by which a client begins: the preface, and a frame without settings."""
THREADS = 8
"""Calls that an actor runs at a time: one of them is `hear`, which never returns."""


class Actor:
    """A worker as Ray runs it. The model is made in `hear`, so that what goes wrong there is said and not lost."""

    def __init__(self) -> None:
        self.worker: Worker | None = None

    def hear(self, make: Callable[[], Model]) -> Iterator[list[Event]]:
        self.worker = Worker(make)
        self.worker.start()
        yield from self.worker.hear()

    def lease(self, number: int, rows: list[tuple[Any, ...]], files: Mapping[str, bytes]) -> None:
        assert self.worker is not None
        self.worker.lease(number, rows, files)

    def recall(self, stop: bool) -> None:
        if self.worker is not None:
            self.worker.recall(stop)

    def close(self) -> None:
        if self.worker is not None:
            self.worker.close()


class RayCluster:
    """Workers on the cluster at `address` (or RAY_ADDRESS), else on a cluster of this machine alone that ends with the process.

    cpus, gpus: of each worker; gpus=None is one where the cluster has any, else none.
    """

    def __init__(
        self, make: Callable[[], Model], address: str | None = None, cpus: float = 1, gpus: float | None = None
    ) -> None:
        self.ray = joined(address)
        total = self.ray.cluster_resources()
        self.gpus = (1 if total.get("GPU", 0) else 0) if gpus is None else gpus
        if cpus > total.get("CPU", 0) or self.gpus > total.get("GPU", 0):
            log.warning(
                "The cluster has %g CPUs and %g GPUs, and a worker needs %g and %g: it waits until a machine joins.",
                total.get("CPU", 0), total.get("GPU", 0), cpus, self.gpus,
            )  # fmt: skip
        self.make = self.ray.put(make)
        self.actor = self.ray.remote(Actor).options(
            num_cpus=cpus, num_gpus=self.gpus, max_restarts=0, max_task_retries=0, max_concurrency=THREADS
        )
        self.actors: dict[int, Any] = {}
        self.streams: dict[Any, int] = {}

    def start(self, worker: int) -> None:
        self.actors[worker] = self.actor.remote()
        stream = self.actors[worker].hear.options(num_returns="streaming").remote(self.make)
        self.streams[stream] = worker

    def lease(self, worker: int, lease: int, rows: list[tuple[Any, ...]], files: Mapping[str, bytes]) -> None:
        self.actors[worker].lease.remote(lease, rows, files)

    def recall(self, worker: int, stop: bool) -> None:
        self.actors[worker].recall.remote(stop)

    def hear(self, timeout: float) -> Iterable[tuple[int, Event]]:
        streams = list(self.streams)
        if not streams:
            time.sleep(timeout)
            return
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
            return [("lost", True, "its process ended")]
        except errors.ActorDiedError as error:
            return [("lost", not error.preempted, _first_line(error, "its process died"))]
        except errors.RayActorError as error:
            return [("lost", False, _first_line(error, "the connection to it was lost"))]
        except errors.RayTaskError as error:
            return [("raised", ModelError(f"a worker failed: {_last_line(error)}"))]
        except errors.RayError as error:
            return [("lost", False, _first_line(error, type(error).__name__))]

    def kill(self, workers: Sequence[int], gently: bool) -> None:
        actors = [self.actors.pop(worker) for worker in workers]
        ended = [stream for stream, worker in self.streams.items() if worker in workers]
        for stream in ended:
            del self.streams[stream]
        if gently:
            closing = [actor.close.remote() for actor in actors]
            self.ray.wait(closing, num_returns=len(closing), timeout=GRACE)
        for actor in actors:
            self.ray.kill(actor, no_restart=True)


def joined(address: str | None) -> Any:
    """The package ray, connected to a cluster."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # it would send statistics to its authors
    address = address or os.environ.get("RAY_ADDRESS")
    own = None if address else tempfile.mkdtemp(prefix="mm-eval-")
    if own:
        atexit.register(shutil.rmtree, own, ignore_errors=True)  # registered before Ray's own, so it runs after that
    try:
        import ray
    except ImportError as error:
        hint = "pip install 'mm-eval[ray]'"
        raise ConfigError("--executor ray needs the package ray.", where="--executor", hint=hint) from error
    if ray.is_initialized():
        return ray
    threads = os.environ.get("OMP_NUM_THREADS")  # Ray sets another number, and sums of floats would differ
    options: dict[str, Any] = {"runtime_env": {"env_vars": {"OMP_NUM_THREADS": threads}}} if threads else {}
    options |= {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
    try:
        if own:
            ray.init("local", _temp_dir=own, _node_ip_address="127.0.0.1", **options)
        else:
            del options["include_dashboard"]
            _look_for(address or "")
            ray.init(address, **options)
        _hush(ray)
    except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError) as error:
        where = address or "this machine"
        hint = "Is it running (`ray status`), and are Ray's and Python's versions the same there and here?"
        what = f"no cluster of Ray can be used at {where}: {_first_line(error, type(error).__name__)}."
        raise ConfigError(what, where="--ray_address", hint=hint) from error
    return ray


@contextmanager
def local_cluster() -> Iterator[str]:
    """A cluster of this machine alone that other processes join at the address that is given. It ends with the block."""
    ray = joined(None)
    try:
        yield str(ray.get_runtime_context().gcs_address)
    finally:
        ray.shutdown()


def _hush(ray: Any) -> None:
    """Ray prints what its machines report to standard output, where the table belongs, and has no option for that."""
    worker: Any = getattr(ray._private, "worker", None)
    if hasattr(worker, "print_to_stdstream"):
        worker.print_to_stdstream = lambda data, *others, **more: log.debug("Ray: %s", data.get("lines"))


def _look_for(address: str) -> None:
    """OSError or ValueError unless something at HOST:PORT speaks gRPC, as Ray does; Ray itself would try for minutes."""
    host, colon, port = address.rpartition(":")
    if "://" in address:
        raise ValueError(
            "this is the address of a Ray client; run the command on a machine of the cluster, with HOST:PORT"
        )
    if not (colon and port.isdigit()):
        return
    with socket.create_connection((host.strip("[]"), int(port)), timeout=REACH) as connection:
        if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
            connection.sendall(HTTP2)
            if connection.recv(9, socket.MSG_WAITALL)[3:4] != SETTINGS:
                raise ConnectionError("what listens there is not Ray")


def _first_line(error: BaseException, fallback: str) -> str:
    lines = [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else fallback


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
