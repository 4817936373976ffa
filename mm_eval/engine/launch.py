"""The processes of a launch: this one alone, or many for one run on one machine.

They are started by `torchrun --nproc_per_node N -m mm_eval ...` or `accelerate launch -m mm_eval ...`.
Each process (rank) answers its share of the docs into its own journal file. They meet twice at the start: when rank 0 has claimed
the folder, and when all have read the same journal. At the end rank 0 waits for the others' counts. If a rank dies the launcher
ends all; the same command requests what is pending, with any number of processes. So no rank has to notice the death of another
one. They exchange values through the key-value store (TCPStore) that the launcher serves, never through a collective: that waits
only until a timeout, and a rank may be downloading a model.

In a training (`evaluate(model=trainer.model)`) the death of a rank ends the training, but a failed evaluation must not: there all
ranks leave together, and where one fails all raise (`all_together`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from itertools import count
from typing import Any, Protocol

from mm_eval.engine.folder import OtherRunError, RunFolder, folder_error
from mm_eval.engine.journal import JournalState
from mm_eval.prompt.task import Task
from mm_eval.values.errors import ConfigError, ModelError, first_line
from mm_eval.values.types import Slot

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


@dataclass
class Launch:
    """What a process knows of the others of its launch: here of one process, so nothing."""

    own: Processes

    def docs_of(self, task: Task, doc_ids: list[int], state: JournalState) -> list[int]:
        """Those of some docs of a task that this process requests. state: of the journal, as all have read it."""
        return doc_ids

    def all_have_read(self) -> None:
        """Returns when every process has read the journal, so that all deal out the same docs."""

    def failed_elsewhere(self, counts: Mapping[str, int]) -> int:
        """The failed requests of the others. counts: those of this one, which the others get."""
        return 0

    def others(self, counts: Mapping[str, int], stopped: Callable[[], bool]) -> list[dict[str, int]]:
        """Says that this process is done. On rank 0: the counts of the others, for which it waits until `stopped`."""
        return []


@lru_cache(maxsize=1)
def processes() -> Processes:
    """The processes of this launch. A single one unless a launcher started several. Errors: as of `place`."""
    count = int(os.environ.get("WORLD_SIZE") or 1)
    return Processes() if count < 2 else place(count)


@contextmanager
def launched(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[Launch]:
    """Locks the run folder for the launch, and claims it."""
    if own.count > 1:
        with _launched_together(own, folder, claim) as launch:
            yield launch
    else:
        with claimed(folder, claim):
            yield Launch(own)


@contextmanager
def claimed(folder: RunFolder, claim: Callable[[], object]) -> Iterator[None]:
    """Locks and claims a run folder."""
    with ExitStack() as stack:
        try:
            stack.enter_context(folder.locked())
            claim()
        except OSError as error:
            raise folder_error("the run folder can't be used", folder.path, error) from error
        yield


def all_together() -> AbstractContextManager[None]:
    """An evaluation that all processes of a training make together: none leaves before all have ended."""
    return nullcontext() if processes().count == 1 else _in_one_round()


def place(count: int) -> Processes:
    """The place of this process among the `count` of its launch.

    Errors: ConfigError for processes without a launcher that ends them when one dies, or that are on several machines.
    """
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True" and _group() is None:
        what = f"WORLD_SIZE is {count}, but neither torchrun nor accelerate launch started this process."
        hint = "Start it with one of them, which end all processes when one dies, or use --executor ray."
        raise ConfigError(what, hint=hint)
    here = int(os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("LOCAL_SIZE") or count)  # LOCAL_SIZE: deepspeed's
    if here < count:
        what = f"{here} of the {count} processes of this launch are on this machine."
        raise ConfigError(what, hint="torchrun is for one machine; use --executor ray for several.")
    own = Processes(int(os.environ["RANK"]), count, int(os.environ.get("LOCAL_RANK") or os.environ["RANK"]))
    if _group() is None:  # a training has chosen its device
        _take_gpu(own.local)
    return own


def _group() -> object:
    """The process group of a training that this process takes part in; None outside of one.

    The training's own steps wait for all processes, so whoever started it ends them when one dies.
    """
    torch = sys.modules.get("torch")
    dist = getattr(torch, "distributed", None)
    return dist if dist is not None and dist.is_available() and dist.is_initialized() else None


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
    """The store of this launch. Restarted processes have the same store and other keys."""
    # Without this a lost connection prints 60 lines of C++ frames.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    import torch.distributed as dist

    restart = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return dist.PrefixStore("mm_eval", dist.distributed_c10d._get_default_store())
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    try:
        store = dist.TCPStore(host, port, is_master=False, timeout=START)
    except RuntimeError as error:
        what = f"no connection to the launcher at {host}:{port} ({first_line(error):.200})."
        raise ConfigError(what, where=f"rank {own.rank} of {own.count}", hint="Nothing was requested.") from error
    return dist.PrefixStore(f"mm_eval-{restart}", store)


LOOK = 0.05
"""Seconds between two looks into the store."""
RETOLD = 1.0
"""Seconds between two looks at the failures of other ranks."""

_launches = count(1)
"""A number for each launch of this process (`mm-eval prompts` has several), equal on all ranks."""
_rounds = count(1)
_round: Round | None = None
"""The evaluation of a model in memory that is under way in this process."""


@dataclass
class Shared(Launch):
    """A launch as one of its ranks sees it. round: the evaluation in a training."""

    store: Store
    name: str = ""
    round: Round | None = None
    _failed: int = 0
    _elsewhere: int = 0
    _next_look: float = 0.0

    def publish(self, topic: str, value: object = True) -> None:
        """Stores a JSON value for the other ranks."""
        self._or_lost(lambda store: store.set(self._key(topic, self.own.rank), json.dumps(value)))

    def wait_for(self, topic: str, rank: int, stopped: Callable[[], bool] = lambda: False) -> Any:
        """The value that a rank publishes; None once `stopped`. Waits without end: the launcher ends the ranks of a dead one."""
        key = self._key(topic, rank)
        while not stopped():
            failure = self.round.failure_of(rank) if self.round else ""  # looked up first: it may publish, then fail
            if self._or_lost(lambda store: store.check([key])):
                return json.loads(self._or_lost(lambda store: store.get(key)))
            if failure:
                raise other_failed(failure, rank, self.own.count)
            time.sleep(LOOK)
        return None

    def docs_of(self, task: Task, doc_ids: list[int], state: JournalState) -> list[int]:
        groups = {doc_id: (type(key).__name__, key) for doc_id, key in task.groups(doc_ids).items()}
        return share(self.own, groups, {doc_id for doc_id in doc_ids if state.answer(Slot(task.path, doc_id))})

    def all_have_read(self) -> None:
        self.publish("read")
        for rank in range(self.own.count):
            self.wait_for("read", rank)

    def failed_elsewhere(self, counts: Mapping[str, int]) -> int:
        """Looked up once a second."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + RETOLD
            failed = sum(count for name, count in counts.items() if name == "failed" or name.endswith("_failed"))
            new, self._failed = failed - self._failed, failed
            self._elsewhere = int(self._or_lost(lambda store: store.add(f"{self.name}/failed", new))) - failed
        return self._elsewhere

    def others(self, counts: Mapping[str, int], stopped: Callable[[], bool]) -> list[dict[str, int]]:
        self.publish("done", dict(counts))
        ranks = range(1, self.own.count) if self.own.leads else ()
        return [found for rank in ranks if (found := self.wait_for("done", rank, stopped)) is not None]

    def _key(self, topic: str, rank: int) -> str:
        return f"{self.name}/{topic}/{rank}"

    def _or_lost(self, call: Callable[[Store], object]) -> Any:
        try:
            return call(self.store)
        except RuntimeError as error:
            hint = "Recorded answers are safe; the same command continues from there."
            raise ConfigError(
                "the launcher of this process has ended.", where=f"rank {self.own.rank}", hint=hint
            ) from error


def share(own: Processes, groups: Mapping[int, Hashable], begun: set[int]) -> list[int]:
    """The docs of a rank: whole groups (docs with a common picture), dealt out in turn, those with pending docs first.

    groups: the group of each doc, the same on every rank. begun: docs that have answers already.
    """
    docs: dict[Hashable, list[int]] = {}
    for doc_id, group in groups.items():
        docs.setdefault(group, []).append(doc_id)
    pending = [ids for ids in docs.values() if not begun.issuperset(ids)]
    complete = [ids for ids in docs.values() if begun.issuperset(ids)]
    return sorted(doc_id for ids in [*pending, *complete][own.rank :: own.count] for doc_id in ids)


@contextmanager
def _launched_together(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[Shared]:
    """Rank 0 locks and claims the folder for the whole launch; the others check their spec against it then."""
    name = f"launch-{next(_launches)}" if _round is None else _round.next_name()
    launch = Shared(own, store_of(own), name, _round)
    with ExitStack() as stack:
        if own.leads:
            try:
                stack.enter_context(claimed(folder, claim))
            except OtherRunError as error:
                launch.publish(
                    "claimed", [error.what, error.where, error.hint]
                )  # the others may choose another one, too
                raise
            launch.publish("claimed")
        else:
            if isinstance(said := launch.wait_for("claimed", 0), list):
                raise OtherRunError(said[0], where=said[1], hint=said[2])
            claim()
        yield launch


@dataclass
class Round:
    """One evaluation in a training, as one of its ranks sees it. Its number is the same on all ranks, whoever failed before."""

    own: Processes
    store: Any
    number: int
    _names: Iterator[int] = field(default_factory=lambda: count(1))

    def next_name(self) -> str:
        """The name of the next exchange, equal on all ranks."""
        return f"round-{self.number}/{next(self._names)}"

    def end(self, failure: str = "") -> None:
        """Says how this rank has ended."""
        self.store.set(self._key(self.own.rank), failure)

    def failure_of(self, rank: int) -> str:
        """The error that a rank has ended with; empty for one that is running or has ended well."""
        return str(self.store.get(self._key(rank)).decode()) if self.store.check([self._key(rank)]) else ""

    def __enter__(self) -> Round:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Ends when all ranks have ended, one that was interrupted at once. ModelError where another one failed."""
        self.end("" if error is None else str(error) or type(error).__name__)
        if error is not None and not isinstance(error, Exception):
            return
        for rank in range(self.own.count):
            while not self.store.check([self._key(rank)]):
                time.sleep(LOOK)
        failures = {rank: self.failure_of(rank) for rank in range(self.own.count) if error is None}
        for rank, failure in failures.items():
            if failure:
                raise other_failed(failure, rank, self.own.count)

    def _key(self, rank: int) -> str:
        return f"round-{self.number}/ended/{rank}"


def other_failed(failure: str, rank: int, count: int) -> ModelError:
    """The error of another rank, as this one raises it."""
    return ModelError(
        f"{failure.rstrip('.')}.", where=f"process {rank} of {count}", hint="The answers so far are recorded."
    )


@contextmanager
def _in_one_round() -> Iterator[None]:
    """`all_together` of several ranks: where one fails all raise.

    A rank that went on alone would wait in the training's next collective, which has a timeout.
    """
    global _round
    own = processes()
    if _round is not None:
        yield
        return
    _round = Round(own, store_of(own), next(_rounds))
    try:
        with _round:
            yield
    finally:
        _round = None


def agreed(topic: str, value: object) -> list[object]:
    """The value of each rank, in their order; all ranks of an evaluation in a training call it."""
    if _round is None:
        return [value]
    launch = Shared(_round.own, _round.store, f"{_round.next_name()}/{topic}", _round)
    launch.publish("value", value)
    return [launch.wait_for("value", rank) for rank in range(_round.own.count)]
