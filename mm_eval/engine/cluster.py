"""Where the workers of a fleet run: five verbs. `fleet_ray` has them by Ray; a test has them by threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from mm_eval.engine.worker import Event


class Cluster(Protocol):
    """Where workers run. A worker is named by a number that is never used again."""

    def start(self, worker: int) -> None:
        """Starts a worker as soon as there is room for it."""

    def lease(self, worker: int, lease: int, rows: list[tuple[Any, ...]], files: Mapping[str, bytes]) -> None:
        """Sends a block to a worker."""

    def recall(self, worker: int, stop: bool) -> None:
        """Asks a worker for the requests that its model has not taken. stop: the run ends."""

    def hear(self, timeout: float) -> Iterable[tuple[int, Event]]:
        """What workers say, waiting for at most `timeout` seconds. ("lost", crashed, why) is said of one that is gone.

        crashed: its process died; otherwise its machine or the connection was lost, which is no fault of a request.
        """

    def kill(self, workers: Sequence[int], gently: bool) -> None:
        """Ends workers and gives back what they hold. gently: their models may close first."""
