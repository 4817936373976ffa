"""Ray in a process of its own, beside the command.

When Ray loses the machine's raylet or its head (the out-of-memory killer takes them), it ends its own process at once, and
Python can't prevent that. It also prints what it likes. So the command itself never connects to Ray: its companion does
(`actors`), and a companion that ends is a failure of the model like any other. The two exchange tuples over a socket pair:

    to the companion: ("join", address, folder), ("cluster", fleet, make, cpus, gpus), ("start" | "lease" | "recall" | "kill",
        fleet, ...) as in `worker.Cluster`, ("end",)
    from it: ("joined", address), ("failed", error), ("cluster", fleet, CPUs, GPUs, GPUs of a worker),
        ("heard", fleet, [(worker, event)]), ("killed", fleet)
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from multiprocessing import Pipe
from typing import IO, Any

from mm_eval.engine.model import Model
from mm_eval.ray.private_folder import PrivateFolder
from mm_eval.ray.worker import Event
from mm_eval.values.errors import ConfigError, ModelError

log = logging.getLogger(__name__)
GRACE = 10.0
"""Seconds in which models may close before their processes are ended."""
REACH = 10.0
"""Seconds in which a cluster must accept a connection."""
START, JOIN = 180.0, 90.0
"""Seconds in which a cluster of this machine must have started, and a running one must have let the command in."""
SETTINGS = b"\4"
"""The type of the first frame that a server of HTTP/2 sends, on which gRPC runs (RFC 9113, section 3.4)."""
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0" * 5
"""The words by which a client begins: the preface, and a frame without settings."""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray replaces 127.0.0.1 by the address of the machine's network and then listens everywhere, unless it knows that this machine
is in no cluster of several. Then it binds and connects to 127.0.0.1, on every system."""
OWN_CLUSTER = "MM_EVAL_OWN_CLUSTER"
"""The address and the token of a cluster that a command has started, in the environment of its models' processes."""


class RayProcess:
    """The companion. address: of the cluster that it joins; None for one of this machine alone, which ends with it.

    Errors: ConfigError if there is no such cluster, in bounded time.
    """

    def __init__(self, address: str | None) -> None:
        self.token, self.folder = "", None
        self._inboxes: dict[int, queue.SimpleQueue[tuple[Any, ...]]] = {}
        self._answer: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._sending, self._last, self.ended, self._ending = threading.Lock(), "", False, False
        where = address or "this machine"
        environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}  # it would send statistics to its authors
        if address is None:
            self.token, self.folder = secrets.token_hex(32), PrivateFolder()
            environment |= authentication(self.token) | LOOPBACK
        else:
            try:
                environment |= look_for(address)
            except (OSError, ValueError) as error:
                raise refusal(where, str(error) or type(error).__name__) from error
        self._connection, there = Pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path!r}; sys.argv[:] = {sys.argv!r}; "
            f"from mm_eval.ray.actors import main; main({there.fileno()})"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[there.fileno()],
            start_new_session=True,  # an interrupt reaches the command alone
        )
        there.close()
        atexit.register(self.end)
        self._log_reader = threading.Thread(target=self._read_log, name="ray log", daemon=True)
        for thread in (threading.Thread(target=self._listen, name="ray", daemon=True), self._log_reader):
            thread.start()
        try:
            self._send("join", address, None if self.folder is None else str(self.folder.path))
            self.address = self._joined(where, START if address is None else JOIN)
        except BaseException:
            self.end(at_once=True)
            raise

    def _joined(self, where: str, seconds: float) -> str:
        try:
            kind, *said = self._answer.get(timeout=seconds)
        except queue.Empty:
            raise refusal(where, f"it did not answer within {seconds:g} seconds") from None
        if kind == "joined":
            return str(said[0])
        if kind == "failed":
            raise said[0]
        self._log_reader.join(timeout=2)  # the process may have ended before the last line of its log was read
        raise refusal(where, self._last or "Ray's process ended")

    def cluster(self, fleet: int, make: bytes, cpus: float, gpus: float | None) -> tuple[float, float, float]:
        """Makes room for a fleet's workers. Returns the CPUs and GPUs of the cluster, and the GPUs of a worker."""
        self._inboxes[fleet] = queue.SimpleQueue()
        self.send("cluster", fleet, make, cpus, gpus)
        kind, *said = self._inboxes[fleet].get(timeout=JOIN)
        if kind == "ended":
            raise self.failure()
        return said[0], said[1], said[2]

    def inbox(self, fleet: int) -> queue.SimpleQueue[tuple[object, ...]]:
        return self._inboxes[fleet]

    def send(self, *message: object) -> None:
        """Errors: ModelError if Ray has ended."""
        try:
            self._send(*message)
        except (OSError, ValueError) as error:
            raise self.failure() from error

    def _send(self, *message: object) -> None:
        with self._sending:
            self._connection.send(message)

    def failure(self) -> ModelError:
        log.debug("Ray's last line: %s", self._last)
        what = "Ray has ended on this machine: its raylet or the head of its cluster was killed, or can't be reached any more."
        hint = "Answers are recorded, and the same command continues. Is memory short on the machine?"
        return ModelError(what, where="--executor ray", hint=hint)

    def end(self, at_once: bool = False) -> None:
        """Leaves the cluster, or ends the own one. May be called again."""
        atexit.unregister(self.end)
        self._ending = True
        if not at_once:
            with suppress(OSError, ValueError):
                self._send("end")
                self.process.wait(GRACE + 5)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE + 5)
        self.ended = True
        self.process.kill()
        self.process.wait()
        if self.folder is not None:
            self.folder.remove()

    def _listen(self) -> None:
        try:
            while True:
                kind, *said = self._connection.recv()
                if kind in ("joined", "failed"):
                    self._answer.put((kind, *said))
                elif (inbox := self._inboxes.get(said[0])) is not None:
                    inbox.put((kind, *said[1:]))
        except Exception:  # it has ended, or an adapter's error can't be read here: both end the run
            log.debug("Ray's process no longer responds:", exc_info=not self._ending)
        self.ended = True
        for inbox in [self._answer, *self._inboxes.values()]:
            inbox.put(("ended",))

    def _read_log(self) -> None:
        """What Ray prints belongs on no terminal."""
        stream: IO[bytes] | None = self.process.stdout
        for line in stream or ():
            if text := line.decode(errors="replace").strip():
                self._last = text.splitlines()[-1][:300]
                log.debug("Ray: %s", text)


class RayCluster:
    """Workers on the cluster at `address` (or RAY_ADDRESS), else on a cluster of this machine alone that ends with the process.

    cpus, gpus: of each worker; gpus=None is one where the cluster has any, else none.
    """

    _count = 0

    def __init__(
        self, make: Callable[[], Model], address: str | None = None, cpus: float = 1, gpus: float | None = None
    ) -> None:
        try:
            from ray import cloudpickle  # a class of the command's own script travels by its code
        except ImportError as error:
            hint = "pip install 'mm-eval[ray]'"
            raise ConfigError("--executor ray needs the package ray.", where="--executor", hint=hint) from error
        self.ray = companion(address or os.environ.get("RAY_ADDRESS") or None)
        RayCluster._count += 1
        self.fleet = RayCluster._count
        all_cpus, all_gpus, self.gpus = self.ray.cluster(self.fleet, cloudpickle.dumps(make), cpus, gpus)
        self._inbox, self._waiting = self.ray.inbox(self.fleet), deque[tuple[Any, ...]]()
        if cpus > all_cpus or self.gpus > all_gpus:
            log.warning(
                "The cluster has %g CPUs and %g GPUs, and a worker needs %g and %g: it waits until a machine joins.",
                all_cpus, all_gpus, cpus, self.gpus,
            )  # fmt: skip

    def start(self, worker: int) -> None:
        self.ray.send("start", self.fleet, worker)

    def lease(self, worker: int, lease: int, rows: list[tuple[object, ...]], files: Mapping[str, object]) -> None:
        self.ray.send("lease", self.fleet, worker, lease, rows, files)

    def recall(self, worker: int, stop: bool) -> None:
        self.ray.send("recall", self.fleet, worker, stop)

    def hear(self, timeout: float) -> Iterable[tuple[int, Event]]:
        if not self._waiting and timeout:
            with suppress(queue.Empty):
                self._waiting.append(self._inbox.get(timeout=timeout))
        while not self._inbox.empty():
            self._waiting.append(self._inbox.get())
        while self._waiting:
            kind, *said = self._waiting.popleft()
            if kind == "ended":
                self._waiting.append(("ended",))
                raise self.ray.failure()
            if kind == "heard":
                yield from said[0]

    def kill(self, workers: Sequence[int], gently: bool) -> None:
        try:
            self.ray.send("kill", self.fleet, list(workers), gently)
        except ModelError:  # Ray has ended, and its workers with it
            return
        end = time.monotonic() + 2 * GRACE
        with suppress(queue.Empty):
            while (said := self._inbox.get(timeout=max(0.0, end - time.monotonic())))[0] != "killed":
                self._waiting.append(said)
                if said[0] == "ended":
                    return


_companions: dict[str | None, RayProcess] = {}


def companion(address: str | None) -> RayProcess:
    """The companion for the cluster at an address, shared by all fleets of this process; a new one where it has ended."""
    ray = sys.modules.get("ray")
    if address is None and ray is not None and ray.is_initialized():  # by the program that uses mm-eval as a library
        address = str(ray.get_runtime_context().gcs_address)
    found = _companions.get(address)
    if found is not None and found.ended:
        found.end(at_once=True)
        found = None
    if found is None:
        found = _companions[address] = RayProcess(address)
    return found


@contextmanager
def local_cluster() -> Iterator[str]:
    """A cluster of this machine alone that this process's children join at the address that is given. It ends with the block."""
    ray = RayProcess(None)
    os.environ[OWN_CLUSTER] = f"{ray.address} {ray.token}"
    try:
        yield ray.address
    finally:
        del os.environ[OWN_CLUSTER]
        ray.end()


def authentication(token: str) -> dict[str, str]:
    """The environment in which Ray asks for a token, and shows it."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}


def look_for(address: str) -> dict[str, str]:
    """The environment in which Ray can join the cluster at an address.

    Errors: OSError or ValueError unless something at HOST:PORT speaks gRPC, as Ray does; Ray itself would try for minutes.
    """
    if "://" in address:
        raise ValueError(
            "this is the address of a Ray client; run the command on a machine of the cluster, with HOST:PORT"
        )
    own, _, token = os.environ.get(OWN_CLUSTER, "").partition(" ")
    if address == own:
        return authentication(token) | LOOPBACK
    host, colon, port = address.rpartition(":")
    if not (colon and port.isdigit()):
        return {}
    host = host.strip("[]")
    _speaks_grpc(host, int(port))
    if not _is_loopback(host):
        return {}
    try:  # Ray will replace the host by this one
        _speaks_grpc(outer_address(), int(port))
    except OSError:
        return LOOPBACK
    return {}


def _speaks_grpc(host: str, port: int) -> None:
    with socket.create_connection((host, port), timeout=REACH) as connection:
        if os.environ.get("RAY_USE_TLS", "0") in ("", "0"):
            connection.sendall(HTTP2)
            if connection.recv(9, socket.MSG_WAITALL)[3:4] != SETTINGS:
                raise ConnectionError("the program that listens there is not Ray")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def outer_address() -> str:
    """This machine's address in its network; nothing is sent to find it. OSError if there is none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("8.8.8.8", 53))
        return str(probe.getsockname()[0])


def refusal(where: str, why: str) -> ConfigError:
    """The error of a cluster that can't be used."""
    if where == "this machine":
        what = f"no cluster of Ray could be started on this machine: {why.rstrip('.')}."
        hint = "Try again when the machine is less busy; --verbosity DEBUG shows what Ray says."
        return ConfigError(what, where="--executor ray", hint=hint)
    hint = (
        "Is it running (`ray status`), are Ray's and Python's versions the same there and here, "
        "and does this command have its token (RAY_AUTH_MODE, RAY_AUTH_TOKEN)?"
    )
    return ConfigError(
        f"no cluster of Ray can be used at {where}: {why.rstrip('.')}.", where="--ray_address", hint=hint
    )
