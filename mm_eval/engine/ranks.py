"""Many processes, one run: `torchrun --nproc_per_node N -m mm_eval ...` or `accelerate launch -m mm_eval ...`.

Each process (rank) answers its share of the docs into a journal file of its own. Nothing waits for another rank while there
are requests to make. The ranks meet twice at the start (rank 0 has claimed the folder; all have read the same journal), and at
the end rank 0 waits for the others' files: a rank that dies costs its own share and hangs nobody. The same command requests
what it left, with any number of processes.

    ranks/<launch>-<rank>.json    {"done": false, "beat": 17, "answered": 120, "failed": 0}, rewritten every few seconds
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder, folder_error
from mm_eval.engine.meeting import BEAT, SILENCE, Meeting, store_of_launch
from mm_eval.errors import ERRORS_BY_OWNER, ConfigError, MMEvalError
from mm_eval.files import write_atomic

log = logging.getLogger(__name__)

START = timedelta(minutes=5)
"""How long the ranks wait for each other to be there at all, before anything is loaded."""


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
    os.environ.setdefault(
        "TORCH_CPP_LOG_LEVEL", "ERROR"
    )  # a lost connection is an error here, not 60 lines of C++ frames
    from accelerate import PartialState
    from accelerate.utils import parse_flag_from_env

    on_cpu = parse_flag_from_env("ACCELERATE_USE_CPU")
    try:
        _wait_for_the_store()
        _meet_after_a_restart(on_cpu)
        state = PartialState(cpu=on_cpu, timeout=START)
    except RuntimeError as error:
        raise _not_met(error) from error
    if state.num_processes < 2:
        raise ConfigError(
            f"{os.environ['WORLD_SIZE']} processes were launched, and accelerate finds no device for them.",
            hint="Without a GPU set ACCELERATE_USE_CPU=true.",
        )
    own = Processes(state.process_index, state.num_processes, state.local_process_index)
    meeting(own)  # signs of life begin here, before anything is loaded
    return own


def _wait_for_the_store() -> None:
    """Returns when rank 0, or torchrun, listens; RuntimeError after `START`. torch would say so in 60 lines of C++ frames."""
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
                raise RuntimeError(f"nobody listens at {host}:{port}: {error.strerror or error}") from error
        time.sleep(0.2)


def _not_met(error: RuntimeError) -> ConfigError:
    rank, count = os.environ.get("RANK", "?"), os.environ["WORLD_SIZE"]
    first = str(error).strip().split("\n")[0]
    what = f"the {count} processes of this launch did not find each other within {START.total_seconds():.0f} s"
    hint = "Was every one of them started, and did one end early? What it printed says why. Nothing was requested."
    return ConfigError(f"{what} ({type(error).__name__}: {first:.200}).", where=f"rank {rank} of {count}", hint=hint)


@lru_cache(maxsize=1)
def meeting(own: Processes) -> Meeting | None:
    """Where the ranks of this launch meet; None where there is one process."""
    if own.count == 1:
        return None
    try:
        return Meeting(lambda: store_of_launch(START), own.rank, own.count)
    except RuntimeError as error:
        raise _not_met(error) from error


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


_launches = count(1)
"""A number for each launch of this process (`mm-eval prompts` has several), equal on all ranks."""


@contextmanager
def launched(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[str]:
    """Rank 0 locks and claims the folder for the whole launch; the others check their spec against it. Gives the launch's name.

    Errors: rank 0's error on every rank, so that none waits for a launch that does not take place.
    """
    with ExitStack() as stack:
        refusal: MMEvalError | None = None
        if own.leads:
            try:
                stack.enter_context(folder.locked())
                claim()
                clear_signs(folder.path)
            except MMEvalError as error:
                refusal = error
            except OSError as error:
                refusal = folder_error("the run folder can't be used", folder.path, error)
        launch = _agreed(own, uuid.uuid4().hex[:12], refusal)
        if not own.leads:
            claim()
        yield launch


def _agreed(own: Processes, name: str, refusal: MMEvalError | None) -> str:
    """The launch's name, which rank 0 gives; raises rank 0's refusal on every rank."""
    met, topic = meeting(own), f"launch-{next(_launches)}"
    said: dict[str, Any] = {"name": name}
    if refusal is not None:
        said["error"] = [refusal.owner, refusal.what, refusal.where, refusal.hint]
    if met is not None and own.leads:
        met.tell(topic, said)
    elif met is not None:
        said = met.hear(topic, 0)
    if "error" not in said:
        return str(said["name"])
    if met is not None:  # rank 0 may serve the store: it stays until all have heard
        met.tell(f"{topic}-heard", True)
        if own.leads:
            met.hear_all(f"{topic}-heard")
    owner, what, where, hint = said["error"]
    raise refusal or ERRORS_BY_OWNER[owner](what, where=where, hint=hint)


def all_have_read(own: Processes, launch: str) -> None:
    """Returns when every rank has read the journal, so that all deal out the same docs; ConfigError when one has died."""
    if (met := meeting(own)) is not None:
        met.tell(f"read-{launch}", True)
        met.hear_all(f"read-{launch}")


def sign_file(folder: Path, launch: str, rank: int) -> Path:
    """Where a rank gives signs of life."""
    return folder / "ranks" / f"{launch}-{rank}.json"


Said = dict[str, Any]
"""What a rank last wrote into its file."""


@dataclass
class Signs:
    """A rank's signs of life; `counts` is read each time: {"answered": ..., "failed": ...}.

    A file system that fails for a while costs signs and never the thread that gives them.
    heard: what each other rank said last, kept here since its file may be gone by the time it is needed.
    """

    folder: Path
    launch: str
    own: Processes
    counts: Callable[[], dict[str, int]]
    heard: dict[int, Said] = field(default_factory=dict)
    _beat: int = 0
    _listen_again: float = 0.0

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
                if self.own.leads:
                    self._listen()

        self._write(False)
        thread = threading.Thread(target=beat, name="signs", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        self._say_done()

    def failed_elsewhere(self) -> int:
        """How many requests the other ranks said have failed; read anew every few seconds, and never waited for."""
        if self.own.count > 1 and time.monotonic() >= self._listen_again:
            self._listen_again = time.monotonic() + BEAT
            self._listen()
        return sum(said.get("failed", 0) for said in list(self.heard.values()))

    def _listen(self) -> None:
        for rank in range(self.own.count):
            if rank != self.own.rank and (said := _read(sign_file(self.folder, self.launch, rank))):
                self.heard[rank] = said

    def _say_done(self) -> None:
        """Says that all is done, again and again while the file system fails: rank 0 waits for it."""
        until = time.monotonic() + SILENCE
        while not self._write(True):
            if time.monotonic() > until:
                log.warning("Rank %d is done and can't say so: its file in ranks/ can't be written.", self.own.rank)
                return
            time.sleep(min(BEAT, 1.0))

    def _write(self, done: bool) -> bool:
        """Replaces this rank's file; returns whether the file system let it."""
        self._beat += 1
        path = sign_file(self.folder, self.launch, self.own.rank)
        try:
            write_atomic(path, json.dumps({"done": done, "beat": self._beat, **self.counts()}), durable=False)
        except OSError as error:
            log.debug("A sign of life can't be written: %s", error)
            return False
        return True


def wait_for_ranks(
    folder: Path,
    launch: str,
    own: Processes,
    stopped: Callable[[], bool],
    silence: float = SILENCE,
    pause: float = 0.2,
    heard: dict[int, Said] | None = None,
) -> tuple[list[int], list[Said]]:
    """Waits until every other rank is done or dead; returns the dead ones, and what each said last. Stops waiting when `stopped`.

    heard: what the ranks said before. A rank is dead when its file did not change for `silence` seconds. Only seconds in which
    this process looked are counted, by its own clock: a pause of all of them (a suspended job) kills nobody. A second in which
    the file system failed counts for a tenth.
    """
    said = dict(heard or {})
    waiting = {rank: 0.0 for rank in range(own.count) if rank != own.rank}
    dead: list[int] = []
    before = time.monotonic()
    while waiting and not stopped():
        now = time.monotonic()
        passed, before = min(now - before, max(1.0, pause)), now
        for rank in sorted(waiting):
            found, silent = None, passed
            try:
                found = _parsed(sign_file(folder, launch, rank))
            except OSError:
                silent = passed / 10
            if found is not None and found != said.get(rank):
                said[rank], waiting[rank] = found, 0.0
            else:
                waiting[rank] += silent
            if said.get(rank, {}).get("done"):
                del waiting[rank]
            elif waiting[rank] > silence:
                del waiting[rank]
                dead.append(rank)
        time.sleep(pause if waiting else 0)
    return dead, [said[rank] for rank in sorted(said)]


def clear_signs(folder: Path) -> None:
    """Removes the files of launches that are over, as far as it can; only who holds the folder's lock may."""
    for path in (folder / "ranks").glob("*.json"):
        with suppress(OSError):
            path.unlink()


def _read(path: Path) -> Said | None:
    """What a rank said last; None where its file can't be read now."""
    try:
        return _parsed(path)
    except OSError:
        return None


def _parsed(path: Path) -> Said | None:
    """What a rank said last; None where it said nothing or nothing whole. OSError where the file system fails."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) and "done" in content else None
