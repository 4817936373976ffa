"""Many processes, one run: `torchrun --nproc_per_node N -m mm_eval ...` or `accelerate launch -m mm_eval ...`.

Each process (rank) answers its share of the docs into its own journal file. No rank waits for another while it has requests
to make. They meet twice at the start: when rank 0 has claimed the folder, and when all have read the same journal. At the end
rank 0 waits for the others' files, so a rank that dies costs its own share and blocks nobody. The same command requests what
it left pending, with any number of processes.

    ranks/<launch>-<rank>.json    {"done": false, "beat": 17, "answered": 120, "failed": 0}, rewritten every few seconds
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from mm_eval.engine.folder import RunFolder, folder_error
from mm_eval.engine.launch import BEAT, SILENCE, Processes, rendezvous
from mm_eval.engine.records import error_fields, error_of
from mm_eval.errors import MMEvalError
from mm_eval.files import write_atomic

log = logging.getLogger(__name__)

RankStatus: TypeAlias = dict[str, Any]
"""The content of a rank's file: done, beat, and its counts."""

_launches = count(1)
"""A number for each launch of this process (`mm-eval prompts` has several), equal on all ranks."""


@contextmanager
def launched(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[str]:
    """Rank 0 locks and claims the folder for the whole launch; the others check their spec against it. Yields the launch's name.

    An error of rank 0 is raised on every rank, so that none waits for a launch that does not take place.
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
        launch = _agreed_name(own, uuid.uuid4().hex[:12], refusal)
        if not own.leads:
            claim()
        yield launch


def _agreed_name(own: Processes, name: str, refusal: MMEvalError | None) -> str:
    """The launch's name, which rank 0 gives. Raises rank 0's refusal on every rank."""
    meeting, topic = rendezvous(own), f"launch-{next(_launches)}"
    message: dict[str, Any] = {"name": name, "error": None if refusal is None else error_fields(refusal)}
    if meeting is not None and own.leads:
        meeting.publish(topic, message)
    elif meeting is not None:
        message = meeting.wait_for(topic, 0)
    if message["error"] is None:
        return str(message["name"])
    if meeting is not None:  # rank 0 may serve the store: it stays until all have received the error
        meeting.publish(f"{topic}-received", True)
        if own.leads:
            meeting.wait_for_all(f"{topic}-received")
    raise refusal or error_of(message["error"])


def all_have_read(own: Processes, launch: str) -> None:
    """Returns when every rank has read the journal, so that all deal out the same docs. Raises ConfigError if one has died."""
    if (meeting := rendezvous(own)) is not None:
        meeting.publish(f"read-{launch}", True)
        meeting.wait_for_all(f"read-{launch}")


def sign_file(folder: Path, launch: str, rank: int) -> Path:
    """The file that a rank rewrites as its sign of life."""
    return folder / "ranks" / f"{launch}-{rank}.json"


@dataclass
class Signs:
    """The signs of life of this rank, and what it knows of the others'.

    A file system that fails for a while costs signs, never the thread that gives them.
    counts: read for each sign: {"answered": ..., "failed": ...}.
    heard: the last status of each other rank, kept because its file may be gone by the time it is needed.
    """

    folder: Path
    launch: str
    own: Processes
    counts: Callable[[], dict[str, int]]
    heard: dict[int, RankStatus] = field(default_factory=dict)
    _beat: int = 0
    _next_look: float = 0.0

    @contextmanager
    def given(self) -> Iterator[None]:
        """Gives signs until the block ends, the last one with `done` true. An exception in the block leaves it false."""
        if self.own.count == 1:
            yield
            return
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT):
                self._write(done=False)
                if self.own.leads:
                    self._look()

        self._write(done=False)
        thread = threading.Thread(target=beat, name="signs", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
        until = time.monotonic() + SILENCE
        while not self._write(done=True):  # again and again while the file system fails, because rank 0 waits for it
            if time.monotonic() > until:
                log.warning("Rank %d is done, but its file in ranks/ can't be written.", self.own.rank)
                return
            time.sleep(min(BEAT, 1.0))

    def failed_elsewhere(self) -> int:
        """The failed requests of the other ranks. Their files are read again every few seconds, and never waited for."""
        if self.own.count > 1 and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + BEAT
            self._look()
        heard = list(self.heard.values())
        return sum(status.get("failed", 0) + status.get("judge_failed", 0) for status in heard)

    def _look(self) -> None:
        for rank in range(self.own.count):
            with suppress(OSError):
                if rank != self.own.rank and (status := _read(sign_file(self.folder, self.launch, rank))):
                    self.heard[rank] = status

    def _write(self, done: bool) -> bool:
        """Replaces this rank's file. Returns False if the file system fails."""
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
    heard: dict[int, RankStatus] | None = None,
) -> tuple[list[int], list[RankStatus]]:
    """Waits until every other rank is done or dead, or until `stopped`. Returns the dead ranks, and the last status of each.

    heard: the status that is known already. A rank is dead when its file has not changed for `silence` seconds. Only seconds
    in which this process looked are counted, by its own clock, so a pause of all processes (a suspended job) kills none. A
    second in which the file system failed counts as a tenth.
    """
    last = dict(heard or {})
    waiting = {rank: 0.0 for rank in range(own.count) if rank != own.rank}
    dead: list[int] = []
    before = time.monotonic()
    while waiting and not stopped():
        now = time.monotonic()
        passed, before = min(now - before, max(1.0, pause)), now
        for rank in sorted(waiting):
            status, silent = None, passed
            try:
                status = _read(sign_file(folder, launch, rank))
            except OSError:
                silent = passed / 10
            if status is not None and status != last.get(rank):
                last[rank], waiting[rank] = status, 0.0
            else:
                waiting[rank] += silent
            if last.get(rank, {}).get("done"):
                del waiting[rank]
            elif waiting[rank] > silence:
                del waiting[rank]
                dead.append(rank)
        time.sleep(pause if waiting else 0)
    return dead, [last[rank] for rank in sorted(last)]


def clear_signs(folder: Path) -> None:
    """Removes the files of earlier launches, as far as possible. Only the holder of the folder's lock may."""
    for path in (folder / "ranks").glob("*.json"):
        with suppress(OSError):
            path.unlink()


def _read(path: Path) -> RankStatus | None:
    """A rank's file. None if it is missing or incomplete. Raises OSError if the file system fails."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, dict) and "done" in content else None
