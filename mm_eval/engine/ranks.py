"""Many processes, one run: `torchrun --nproc_per_node N -m mm_eval ...` or `accelerate launch -m mm_eval ...` on one machine.

Each process (rank) answers its share of the docs into its own journal file. They meet twice at the start: when rank 0 has claimed
the folder, and when all have read the same journal. At the end rank 0 waits for the others' counts. If a rank dies the launcher
ends all; the same command requests what is pending, with any number of processes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

from mm_eval.engine.folder import RunFolder, folder_error
from mm_eval.engine.launch import Processes, Store, store_of
from mm_eval.errors import ConfigError

LOOK = 0.05
"""Seconds between two looks into the store."""
RETOLD = 1.0
"""Seconds between two looks at the failures of other ranks."""

_launches = count(1)
"""A number for each launch of this process (`mm-eval prompts` has several), equal on all ranks."""


@dataclass
class Launch:
    """A launch as one of its ranks sees it. store: None if there is one process."""

    own: Processes
    store: Store | None
    name: str = ""
    _failed: int = 0
    _elsewhere: int = 0
    _next_look: float = 0.0

    def publish(self, topic: str, value: Any = True) -> None:
        """Stores a JSON value for the other ranks."""
        if self.store is not None:
            self._or_lost(lambda store: store.set(self._key(topic, self.own.rank), json.dumps(value)))

    def wait_for(self, topic: str, rank: int, stopped: Callable[[], bool] = lambda: False) -> Any:
        """The value that a rank publishes; None once `stopped`. Waits without end: the launcher ends the ranks of a dead one."""
        key = self._key(topic, rank)
        while self.store is not None and not stopped():
            if self._or_lost(lambda store: store.check([key])):
                return json.loads(self._or_lost(lambda store: store.get(key)))
            time.sleep(LOOK)
        return None

    def all_have_read(self) -> None:
        """Returns when every rank has read the journal, so that all deal out the same docs."""
        self.publish("read")
        for rank in range(self.own.count):
            self.wait_for("read", rank)

    def failed_elsewhere(self, counts: Mapping[str, int]) -> int:
        """The failed requests of the other ranks, looked up once a second. counts: those of this rank, which are added."""
        now = time.monotonic()
        if self.store is not None and now >= self._next_look:
            self._next_look = now + RETOLD
            failed = counts["failed"] + counts.get("judge_failed", 0)
            new, self._failed = failed - self._failed, failed
            self._elsewhere = int(self._or_lost(lambda store: store.add(f"{self.name}/failed", new))) - failed
        return self._elsewhere

    def others(self, counts: Mapping[str, int], stopped: Callable[[], bool]) -> list[dict[str, int]]:
        """Says that this rank is done. On rank 0: the counts of the others, for which it waits until `stopped`."""
        self.publish("done", dict(counts))
        ranks = range(1, self.own.count) if self.own.leads else ()
        return [found for rank in ranks if (found := self.wait_for("done", rank, stopped)) is not None]

    def _key(self, topic: str, rank: int) -> str:
        return f"{self.name}/{topic}/{rank}"

    def _or_lost(self, call: Callable[[Store], Any]) -> Any:
        assert self.store is not None
        try:
            return call(self.store)
        except RuntimeError as error:
            hint = "Recorded answers are safe; the same command continues from there."
            raise ConfigError(
                "the launcher of this process has ended.", where=f"rank {self.own.rank}", hint=hint
            ) from error


@contextmanager
def launched(own: Processes, folder: RunFolder, claim: Callable[[], object]) -> Iterator[Launch]:
    """Rank 0 locks and claims the folder for the whole launch; the others check their spec against it then."""
    launch = Launch(own, store_of(own), f"launch-{next(_launches)}")
    with ExitStack() as stack:
        if own.leads:
            try:
                stack.enter_context(folder.locked())
                claim()
            except OSError as error:
                raise folder_error("the run folder can't be used", folder.path, error) from error
            launch.publish("claimed")
        else:
            launch.wait_for("claimed", 0)
            claim()
        yield launch
