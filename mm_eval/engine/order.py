"""The order of requests, prepared ahead of the model: by picture, then prompt prefix, then prompt.

A model can reuse what it computed for a picture or a few-shot prefix only if the questions that share it come one after
another. Docs rarely come like that (POPE has six questions on a picture, hundreds of docs apart), so they are sorted within a
window: memory grows with the window, never with the dataset. The order changes the cost of the answers, never the answers.

A thread prepares the windows, so the next pictures are decoded and the next prompts written while the model answers. The
first window is small, so that the first answer comes early.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TypeAlias

from mm_eval.engine.model import flatten
from mm_eval.values.types import Instance

FIRST_WINDOW, WINDOW = 64, 512
"""Instances that are sorted together: in the first window, and at most. The instances of a doc stay in one window."""
PREFIX = 200
"""Two prompts share a prefix if this many characters at their beginning are equal."""

Item: TypeAlias = list[Instance] | BaseException | None
"""What the thread hands over: a sorted window, the error that ended it, or None at the end."""


def in_cheapest_order(instances: Iterable[Instance], window: int = WINDOW) -> Iterator[Instance]:
    """Each instance exactly once, in the order that costs the model least. A thread prepares the next window.

    An error of the iterable is raised here, after the instances that came before it.
    """
    windows: queue.Queue[Item] = queue.Queue(maxsize=1)
    closed = threading.Event()

    def prepare() -> None:
        last: Item = None
        try:
            for group in in_windows(takewhile(lambda _: not closed.is_set(), instances), window):
                if not _put(windows, by_cost(group), closed):
                    return
        except BaseException as error:  # raised again by the reader, whatever it is
            last = error
        _put(windows, last, closed)

    thread = threading.Thread(target=prepare, name="order", daemon=True)
    thread.start()
    try:
        while (item := windows.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield from item
    finally:
        closed.set()
        thread.join()


def _put(windows: queue.Queue[Item], item: Item, closed: threading.Event) -> bool:
    """Hands an item over. Returns False if the reader has gone."""
    while not closed.is_set():
        try:
            windows.put(item, timeout=0.1)
            return True
        except queue.Full:
            continue
    return False


def in_windows(instances: Iterable[Instance], window: int = WINDOW) -> Iterator[list[Instance]]:
    """Consecutive instances of one request type, about `window` at a time, fewer at the beginning. Docs are never divided."""
    size = min(FIRST_WINDOW, window)
    group: list[Instance] = []
    for instance in instances:
        if group:
            last = group[-1]
            same_doc = (last.task, last.doc_id) == (instance.task, instance.doc_id)
            if last.request_type != instance.request_type or (len(group) >= size and not same_doc):
                yield group
                group, size = [], min(2 * size, window)
        group.append(instance)
    if group:
        yield group


def by_cost(instances: Iterable[Instance]) -> list[Instance]:
    """Sorts the instances: those with equal pictures together, then those with a common prefix, then equal prompts.

    Pictures keep the order in which they first appear, because their decoded pixels are kept for a short while. Text prompts
    without a common prefix are sorted by length, so that the prompts of a batch need little padding.
    """
    rows = list(instances)
    pictures: dict[tuple[str, ...], int] = {}
    texts = [flatten(row) for row in rows]
    shortest: dict[tuple[int, str], int] = {}
    for place, (row, text) in enumerate(zip(rows, texts, strict=True)):
        group = pictures.setdefault(row.image_digests, place)
        prefix = (group, text[:PREFIX])
        shortest[prefix] = min(shortest.get(prefix, len(text)), len(text))

    def cost(place: int) -> tuple[int, int, str, int, str, int]:
        group, text = pictures[rows[place].image_digests], texts[place]
        return group, shortest[group, text[:PREFIX]], text[:PREFIX], len(text), text, place

    return [rows[place] for place in sorted(range(len(rows)), key=cost)]
