"""The processes (ranks) of a launch on one machine: `torchrun` or `accelerate launch` start them, and end all when one dies.

So no rank has to notice the death of another one. They exchange values through the key-value store (TCPStore) that the launcher
serves, never through a collective: that waits only until a timeout, and a rank may be downloading a model.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Protocol

from mm_eval.errors import ConfigError

START = timedelta(minutes=5)
"""How long a rank tries to connect to the launcher's store."""


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
    """The processes of this launch. A single one unless a launcher started several.

    Errors: ConfigError for processes that nobody ends when one of them dies, or that are on several machines.
    """
    count = int(os.environ.get("WORLD_SIZE") or 1)
    if count < 2:
        return Processes()
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        what = f"WORLD_SIZE is {count}, but neither torchrun nor accelerate launch started this process."
        hint = "Start it with one of them, which end all processes when one dies, or use --executor ray."
        raise ConfigError(what, hint=hint)
    if (here := int(os.environ.get("LOCAL_WORLD_SIZE") or count)) < count:
        what = f"{here} of the {count} processes of this launch are on this machine."
        raise ConfigError(what, hint="torchrun is for one machine; use --executor ray for several.")
    own = Processes(int(os.environ["RANK"]), count, int(os.environ["LOCAL_RANK"]))
    _take_gpu(own.local)
    return own


def _take_gpu(number: int) -> None:
    """Makes the GPU of this number the default one. Does nothing where there is none, or ACCELERATE_USE_CPU is set."""
    import torch

    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes") or not torch.cuda.is_available():
        return
    if number >= (count := torch.cuda.device_count()):
        hint = "Start as many processes as there are GPUs, or set ACCELERATE_USE_CPU=true."
        raise ConfigError(f"there is no GPU for process {number} of this machine, which has {count}.", hint=hint)
    torch.cuda.set_device(number)


class Store(Protocol):
    """What is used of torch's stores. Every method raises RuntimeError once the launcher, which serves the store, has ended."""

    def set(self, key: str, value: str) -> None: ...
    def get(self, key: str) -> bytes: ...
    def check(self, keys: list[str]) -> bool: ...
    def add(self, key: str, number: int) -> int: ...


@lru_cache(maxsize=1)
def store_of(own: Processes) -> Any:
    """The store of this launch; None if there is one process. Restarted processes have the same store and other keys."""
    if own.count == 1:
        return None
    # Without this a lost connection prints 60 lines of C++ frames.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    try:
        store = dist.TCPStore(host, port, is_master=False, timeout=START)
    except RuntimeError as error:
        what = f"no connection to the launcher at {host}:{port} ({str(error).strip().splitlines()[0]:.200})."
        raise ConfigError(what, where=f"rank {own.rank} of {own.count}", hint="Nothing was requested.") from error
    return dist.PrefixStore(f"mm_eval-{restart}", store)
