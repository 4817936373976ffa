"""The processes (ranks) of a launch, and how they find each other: `torchrun` or `accelerate launch` start them.

Before the first request they exchange values through torch's key-value store (TCPStore), never through a collective: a
collective waits for a dead process until its own timeout, which has to be hours long because a process may be downloading a
model. Here each process counts up a number in the store every few seconds. A process that waits for another one gives up
with a clear message when that number stands still.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Protocol

from mm_eval.errors import ConfigError

START = timedelta(minutes=5)
"""How long the processes wait for each other to connect, before anything is loaded."""
BEAT = 2.0
"""Seconds between two heartbeats."""
SILENCE = 60.0
"""Seconds without a heartbeat after which a process counts as dead."""


@dataclass(frozen=True)
class Processes:
    """This process among those of a launch. local: its number on this machine, which is the number of its device."""

    rank: int = 0
    count: int = 1
    local: int = 0

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, groups: Mapping[int, Hashable], begun: set[int]) -> list[int]:
        """The docs of this rank: whole groups (docs with a common picture), dealt out in turn, those with pending docs first.

        groups: the group of each doc, the same on every rank. begun: docs that have answers already.
        """
        docs: dict[Hashable, list[int]] = {}
        for doc_id, group in groups.items():
            docs.setdefault(group, []).append(doc_id)
        pending = [ids for ids in docs.values() if not begun.issuperset(ids)]
        complete = [ids for ids in docs.values() if begun.issuperset(ids)]
        return sorted(doc_id for ids in [*pending, *complete][self.rank :: self.count] for doc_id in ids)


@lru_cache(maxsize=1)
def processes() -> Processes:
    """The processes of this launch, as accelerate sees them. A single one unless a launcher started several."""
    if int(os.environ.get("WORLD_SIZE") or 1) < 2:
        return Processes()
    # Without this a lost connection prints 60 lines of C++ frames; here it is an error with a message.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    on_cpu = parse_flag_from_env("ACCELERATE_USE_CPU")
    try:
        _wait_for_store()
        _init_after_restart(on_cpu)
        state = PartialState(cpu=on_cpu, timeout=START)
    except RuntimeError as error:
        raise _not_connected(error) from error
    if state.num_processes < 2:
        raise ConfigError(
            f"{os.environ['WORLD_SIZE']} processes were launched, and accelerate finds no device for them.",
            hint="Without a GPU set ACCELERATE_USE_CPU=true.",
        )
    own = Processes(state.process_index, state.num_processes, state.local_process_index)
    rendezvous(own)  # heartbeats begin here, before anything is loaded
    return own


class Store(Protocol):
    """What is used of torch's stores. Every method raises RuntimeError once the process that serves the store has ended."""

    def set(self, key: str, value: str) -> None: ...
    def get(self, key: str) -> bytes: ...
    def check(self, keys: list[str]) -> bool: ...


class Rendezvous:
    """Exchanges JSON values between `count` processes, of which this is one, and sends its heartbeat while it lives.

    connect: opens a connection to the store. Called twice, since a connection answers one question at a time.
    """

    def __init__(self, connect: Callable[[], Store], rank: int, count: int) -> None:
        self._store, self.rank, self.count = connect(), rank, count
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(connect(),), name="rendezvous", daemon=True)
        self._thread.start()
        atexit.register(self._leave)  # a thread inside the store's own code must not outlive the interpreter

    def publish(self, name: str, value: Any) -> None:
        """Stores a JSON value under a name for the other processes."""
        try:
            self._store.set(f"{name}/{self.rank}", json.dumps(value))
        except RuntimeError as error:
            raise self._lost() from error

    def wait_for(self, name: str, rank: int) -> Any:
        """The value that a process publishes under a name. Waits as long as that process lives; then raises ConfigError."""
        key, last, silent, before = f"{name}/{rank}", b"", 0.0, time.monotonic()
        try:
            while not self._store.check([key]):
                left, now = self._store.check([f"left/{rank}"]), time.monotonic()
                beat = self._store.get(f"beat/{rank}") if self._store.check([f"beat/{rank}"]) else b""
                # A pause of this process (a suspended job) says nothing about the other one: it counts for a second.
                silent = 0.0 if beat != last else silent + min(now - before, 1.0)
                last, before = beat, now
                if (left and not self._store.check([key])) or silent > SILENCE:
                    raise self._ended(f"rank {rank} ended before the run began.")
                time.sleep(0.05)
            return json.loads(self._store.get(key))
        except RuntimeError as error:
            raise self._lost() from error

    def wait_for_all(self, name: str) -> list[Any]:
        """The values that all processes publish under a name, by rank."""
        return [self.wait_for(name, rank) for rank in range(self.count)]

    def _beat(self, store: Store) -> None:
        beats = 0
        while True:
            try:
                store.set(f"beat/{self.rank}", str(beats := beats + 1))
            except RuntimeError:  # the process that serves the store has ended; whoever waits for it notices
                return
            if self._over.wait(BEAT):
                return

    def _leave(self) -> None:
        self._over.set()
        self._thread.join(BEAT)
        with suppress(RuntimeError):
            self._store.set(f"left/{self.rank}", "")

    def _lost(self) -> ConfigError:
        return self._ended("rank 0, or its launcher, ended before the run began: the connection is lost.")

    def _ended(self, what: str) -> ConfigError:
        hint = "Its own output says why. Nothing was requested; the same command starts again."
        return ConfigError(what, where=f"rank {self.rank} of {self.count}", hint=hint)


@lru_cache(maxsize=1)
def rendezvous(own: Processes) -> Rendezvous | None:
    """The rendezvous of this launch. None if there is one process."""
    if own.count == 1:
        return None
    try:
        return Rendezvous(lambda: _connect("mm_eval-rendezvous"), own.rank, own.count)
    except RuntimeError as error:
        raise _not_connected(error) from error


def _connect(prefix: str) -> Any:
    """A new connection to the store that torchrun, accelerate or rank 0 serves for this launch; its keys get a prefix.

    torchrun's store outlives a restart of the processes, so the prefix ends with the number of the restart.
    """
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"{prefix}-{attempt}", dist.TCPStore(host, port, is_master=False, timeout=START))


def _wait_for_store() -> None:
    """Returns when rank 0, or torchrun, listens. Raises RuntimeError after `START`, without torch's 60 lines of C++ frames."""
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "")
    if os.environ.get("RANK", "0") == "0" or not host or not port.isdigit():
        return
    until = time.monotonic() + START.total_seconds()
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
            return
        except OSError as error:
            if time.monotonic() > until:
                raise RuntimeError(f"no connection to {host}:{port}: {error.strerror or error}") from error
        time.sleep(0.2)


def _init_after_restart(on_cpu: bool) -> None:
    """Initializes torch's process group if torchrun restarted the processes.

    The store then still holds the addresses of the dead processes: with torch 2.13 and gloo the new ones connect to those and
    give up. A prefix for each restart separates them.
    """
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if attempt == "0" or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return
    import torch.distributed as dist

    rank, count, store = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), _connect("mm_eval")
    dist.init_process_group("gloo" if on_cpu else None, store=store, rank=rank, world_size=count, timeout=START)


def _not_connected(error: RuntimeError) -> ConfigError:
    rank, count = os.environ.get("RANK", "?"), os.environ["WORLD_SIZE"]
    first_line = str(error).strip().split("\n")[0]
    what = f"the {count} processes of this launch did not find each other within {START.total_seconds():.0f} s"
    hint = "Was every one of them started, and did one end early? Its output says why. Nothing was requested."
    return ConfigError(
        f"{what} ({type(error).__name__}: {first_line:.200}).", where=f"rank {rank} of {count}", hint=hint
    )
