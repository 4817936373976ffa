"""How the processes of a launch meet before the first request, and notice when one of them has died by then.

They talk through torch's key-value store (TCPStore) and never through a collective: a collective waits for a dead process until
its own timeout, and has to be hours long because one process may still be downloading a model. Here each process counts up a
number in the store every few seconds, and who waits for a process whose number stands still gives up with a clear message.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol

from mm_eval.errors import ConfigError

BEAT = 2.0
"""Seconds between two signs of life."""
SILENCE = 60.0
"""Seconds without a sign of life after which a process counts as dead."""


class Store(Protocol):
    """What is needed of torch's stores. All of it raises RuntimeError once the process that serves the store is gone."""

    def set(self, key: str, value: str) -> None: ...
    def get(self, key: str) -> bytes: ...
    def check(self, keys: list[str]) -> bool: ...


class Meeting:
    """One process among `count`, for as long as it lives.

    connect: opens a connection to the store; called twice, since a store answers one question at a time.
    """

    def __init__(self, connect: Callable[[], Store], rank: int, count: int) -> None:
        self._store, self.rank, self.count = connect(), rank, count
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(connect(),), name="meeting", daemon=True)
        self._thread.start()
        atexit.register(self._leave)  # a thread inside the store's own code must not outlive the interpreter

    def _leave(self) -> None:
        self._over.set()
        self._thread.join(BEAT)
        with suppress(RuntimeError):
            self._store.set(f"left/{self.rank}", "")

    def _beat(self, store: Store) -> None:
        beats = 0
        while True:
            try:
                store.set(f"beat/{self.rank}", str(beats := beats + 1))
            except RuntimeError:  # the process that serves the store has ended: whoever waits for it notices
                return
            if self._over.wait(BEAT):
                return

    def tell(self, name: str, value: Any) -> None:
        """Leaves a JSON value under a name for the others."""
        try:
            self._store.set(f"{name}/{self.rank}", json.dumps(value))
        except RuntimeError as error:
            raise self._lost() from error

    def hear(self, name: str, rank: int) -> Any:
        """What a process leaves under a name, waited for as long as it lives; ConfigError once it has ended."""
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

    def hear_all(self, name: str) -> list[Any]:
        """What each process leaves under a name, by rank."""
        return [self.hear(name, rank) for rank in range(self.count)]

    def _lost(self) -> ConfigError:
        return self._ended("rank 0, or what launched it, ended before the run began: the connection is lost.")

    def _ended(self, what: str) -> ConfigError:
        hint = "Its own output says why. Nothing was requested; the same command starts again."
        return ConfigError(what, where=f"rank {self.rank} of {self.count}", hint=hint)


def store_of_launch(wait: timedelta) -> Store:
    """A new connection to the store that torchrun, accelerate or rank 0 serves for this launch."""
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.TCPStore(host, port, is_master=False, timeout=wait)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")  # torchrun's store outlives a restart
    named: Store = dist.PrefixStore(f"mm_eval-meeting-{attempt}", store)
    return named
