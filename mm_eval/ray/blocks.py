"""Blocks: consecutive requests that a worker of a fleet gets together, who holds them, and what is asked again when one is lost.

Nobody can tell which request of a block killed a worker. So the rest is cut into groups, then into single requests, and
only what happens to a request that is asked alone counts against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mm_eval.values.types import Instance

BLOCK, PIXELS = 64, 2**26
"""Requests of a block, and pixels of its pictures, from which on it ends with the group."""
STRIKES, LOSSES = 2, 6
"""When a request that is asked alone has failed: crashes while it was under way; workers lost for any reason."""


@dataclass
class Block:
    """Requests that are asked together. pending: those without an answer, by place.

    strikes: crashes while it was under way as a single request. losses: workers lost while it was under way.
    open: the worker may still give some of it back.
    """

    pending: dict[int, Instance]
    strikes: int = 0
    losses: int = 0
    open: bool = True

    @property
    def suspect(self) -> bool:
        """Whether a worker was lost with it, or with the block that it was cut out of."""
        return self.losses > 0

    def after_loss(self, crashed: bool) -> list[Block]:
        """What is asked again after a worker was lost with this block under way; nothing if a single request has failed.

        crashed: the process died, which may be the fault of a request; otherwise a machine or a connection was lost.
        """
        self.losses += 1
        if len(self.pending) == 1:
            self.strikes += crashed
            return [self] if self.strikes < STRIKES and self.losses < LOSSES else []
        return self._cut() if crashed or self.losses >= LOSSES // 2 else [self]

    def taken(self, places: list[int], parts: int) -> list[Block]:
        """Takes some of the requests out of this block, as up to `parts` blocks of about equal size; whole groups."""
        rows = [self.pending.pop(place) for place in places]
        size, part, found = -(-len(rows) // parts), list[Instance](), list[Block]()
        for group in groups_of(rows):
            part += group
            if len(part) >= size:
                found.append(self._with(part))
                part = []
        return found + ([self._with(part)] if part else [])

    def _with(self, rows: list[Instance]) -> Block:
        return Block(dict(enumerate(rows)), self.strikes, self.losses)

    def _cut(self) -> list[Block]:
        """Its groups, or the single requests of one group."""
        groups = list(groups_of(self.pending.values()))
        parts = groups if len(groups) > 1 else [[row] for row in self.pending.values()]
        return [self._with(part) for part in parts]


@dataclass
class Held:
    """A worker as the fleet sees it. host: its machine. heard: when it last said something; None while it waits for room."""

    number: int
    host: str = "a machine of the cluster"
    started: float = 0.0
    heard: float | None = None
    loaded: bool = False
    loading: float = 0.0
    idle: float = 0.0
    leases: dict[int, Block] = field(default_factory=dict)
    recalled: set[int] = field(default_factory=set)
    """Leases of which a recall was sent and not yet answered."""

    @property
    def under_way(self) -> Block | None:
        """The block that is being answered."""
        return next((block for block in self.leases.values() if block.pending), None)


def belongs(one: Instance, other: Instance) -> bool:
    """Whether two consecutive requests are never divided: they are of one doc, or have the same pictures."""
    same_doc = (one.task, one.doc_id) == (other.task, other.doc_id)
    return same_doc or bool(one.image_digests) and one.image_digests == other.image_digests


def groups_of(instances: Iterable[Instance]) -> Iterator[list[Instance]]:
    """Consecutive requests that belong together."""
    group: list[Instance] = []
    for instance in instances:
        if group and not belongs(group[-1], instance):
            yield group
            group = []
        group.append(instance)
    if group:
        yield group


def blocks_of(instances: Iterable[Instance]) -> Iterator[Block]:
    """Consecutive requests, whole groups."""
    rows: list[Instance] = []
    pixels = 0
    for instance in instances:
        if (len(rows) >= BLOCK or pixels >= PIXELS) and not belongs(rows[-1], instance):
            yield Block(dict(enumerate(rows)))
            rows, pixels = [], 0
        pixels += 0 if rows and rows[-1].image_digests == instance.image_digests else instance.pixels
        rows.append(instance)
    if rows:
        yield Block(dict(enumerate(rows)))
