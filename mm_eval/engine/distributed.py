"""Many processes, one run: `torchrun --nproc_per_node N -m mm_eval ...` or `accelerate launch -m mm_eval ...`.

Each process (rank) answers its share of the docs into a journal file of its own. Nothing waits for another rank while there
are questions to ask: two collectives at the start (who leads, and that all have read the same journal) are all there are. At
the end rank 0 waits for files, not for collectives: a rank that died costs its own share and hangs nobody, and what it owed
is asked by the same command, with any number of processes.

    ranks/<launch>-<rank>.json    {"done": false, "beat": 17, "answered": 120, "failed": 0}, rewritten every few seconds
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from mm_eval.engine.run_folder import RunFolder
from mm_eval.errors import ConfigError

BEAT = 2.0
"""Seconds between two signs of life."""
SILENCE = 60.0
"""Seconds without a sign of life after which a rank counts as dead."""
START = timedelta(hours=6)
"""How long a rank may be ahead of the slowest one when the run starts: models are downloaded then."""


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
        """The docs of this rank: whole groups (docs that share a picture), dealt out in turn, those with owed docs first.

        groups: for each doc its group, the same on every rank; begun: docs that have answers already.
        """
        docs: dict[Hashable, list[int]] = {}
        for doc_id, group in groups.items():
            docs.setdefault(group, []).append(doc_id)
        owed = [ids for ids in docs.values() if not begun.issuperset(ids)]
        whole = [ids for ids in docs.values() if begun.issuperset(ids)]
        dealt = [ids for number, ids in enumerate([*owed, *whole]) if number % self.count == self.rank]
        return sorted(doc_id for ids in dealt for doc_id in ids)


@lru_cache(maxsize=1)
def processes() -> Processes:
    """The processes of this launch, as accelerate sees them; one where nothing launched several."""
    if int(os.environ.get("WORLD_SIZE") or 1) < 2:
        return Processes()
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    on_cpu = parse_flag_from_env("ACCELERATE_USE_CPU")
    _meet_after_a_restart(on_cpu)
    state = PartialState(cpu=on_cpu, timeout=START)
    if state.num_processes < 2:
        raise ConfigError(
            f"{os.environ['WORLD_SIZE']} processes were launched, and accelerate finds no device for them.",
            hint="Without a GPU set ACCELERATE_USE_CPU=true.",
        )
    return Processes(state.process_index, state.num_processes, state.local_process_index)


def _meet_after_a_restart(on_cpu: bool) -> None:
    """Lets the processes that torchrun restarted find each other.

    Its store outlives a restart, the addresses of dead processes in it: with torch 2.13 and gloo the new ones connect to
    those and give up. A prefix for each attempt keeps them apart.
    """
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if attempt == "0" or os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return
    import torch.distributed as dist

    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.PrefixStore(f"mm_eval-{attempt}", dist.TCPStore(host, port, is_master=False, timeout=START))
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo" if on_cpu else None, store=store, rank=rank, world_size=count, timeout=START)


@contextmanager
def launched(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[str]:
    """Rank 0 locks and claims the folder for the whole launch; the others check their spec against it. Gives the launch's name.

    Errors: rank 0's ConfigError on every rank, so that none waits for a launch that does not take place.
    """
    with ExitStack() as stack:
        said: dict[str, Any] = {"launch": uuid.uuid4().hex[:12]}
        refusal: ConfigError | None = None
        if own.leads:
            try:
                stack.enter_context(folder.locked())
                claim()
                clear_signs(folder.path)
            except ConfigError as error:
                said, refusal = {"error": (error.what, error.where, error.hint)}, error
        if own.count > 1:
            from accelerate.utils import broadcast_object_list

            [said] = broadcast_object_list([said])
        if "error" in said:
            what, where, hint = said["error"]
            raise refusal or ConfigError(what, where=where, hint=hint)
        if not own.leads:
            claim()
        yield said["launch"]


def all_have_read(own: Processes) -> None:
    """Returns when every rank has read the journal, so that all deal out the same docs."""
    if own.count > 1:
        from accelerate import PartialState

        PartialState().wait_for_everyone()


def sign_file(folder: Path, launch: str, rank: int) -> Path:
    """Where a rank gives signs of life."""
    return folder / "ranks" / f"{launch}-{rank}.json"


@dataclass
class Signs:
    """A rank's signs of life; `counts` is read each time: {"answered": ..., "failed": ...}."""

    folder: Path
    launch: str
    own: Processes
    counts: Callable[[], dict[str, int]]
    _beat: int = 0
    _elsewhere: int = 0
    _read_again: float = 0.0

    @contextmanager
    def given(self) -> Iterator[None]:
        """Gives signs of life until the block ends, the last of them that all is done. An exception leaves it undone."""
        if self.own.count == 1:
            yield
            return
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT):
                self._write(False)

        self._write(False)
        thread = threading.Thread(target=beat, name="signs", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self._write(True)

    def failed_elsewhere(self) -> int:
        """How many requests the other ranks said have failed; read anew every few seconds, and never waited for."""
        if self.own.count > 1 and time.monotonic() >= self._read_again:
            self._read_again = time.monotonic() + BEAT
            self._elsewhere = sum(said["failed"] for said in _others(self.folder, self.launch, self.own))
        return self._elsewhere

    def _write(self, done: bool) -> None:
        self._beat += 1
        path = sign_file(self.folder, self.launch, self.own.rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".tmp")
        beside.write_text(json.dumps({"done": done, "beat": self._beat, **self.counts()}), encoding="utf-8")
        os.replace(beside, path)


def wait_for_ranks(
    folder: Path,
    launch: str,
    own: Processes,
    stopped: Callable[[], bool],
    silence: float = SILENCE,
    pause: float = 0.2,
) -> tuple[list[int], list[dict[str, int]]]:
    """Waits until every other rank is done or dead; returns the dead ones, and what each said last. Stops waiting when `stopped`.

    A rank is dead when its file did not change for `silence` seconds by this process's clock: no other clock is compared.
    """
    waiting = set(range(own.count)) - {own.rank}
    last: dict[int, tuple[Any, float]] = {rank: (None, time.monotonic()) for rank in waiting}
    dead: list[int] = []
    while waiting and not stopped():
        for rank in sorted(waiting):
            found = _read(sign_file(folder, launch, rank))
            if found is not None and found["done"]:
                waiting.discard(rank)
            elif found != last[rank][0]:
                last[rank] = found, time.monotonic()
            elif time.monotonic() - last[rank][1] > silence:
                waiting.discard(rank)
                dead.append(rank)
        time.sleep(pause if waiting else 0)
    return dead, _others(folder, launch, own)


def clear_signs(folder: Path) -> None:
    """Removes the files of launches that are over; only who holds the folder's lock may."""
    for path in (folder / "ranks").glob("*.json"):
        path.unlink(missing_ok=True)


def _others(folder: Path, launch: str, own: Processes) -> list[dict[str, Any]]:
    """What each other rank said last."""
    said = (_read(sign_file(folder, launch, rank)) for rank in range(own.count) if rank != own.rank)
    return [each for each in said if each]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content
