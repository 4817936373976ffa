"""The order in which instances are asked, made ahead of the model: by picture, then prompt prefix, then continuation.

A model that keeps what it computed for a picture or for a few-shot prefix can only use it for questions that come one after
another. Docs rarely come like that (POPE asks six questions on a picture, hundreds of docs apart), so they are sorted inside
a window: memory grows with the window, never with the dataset. No answer depends on the order, only its price does.

Windows are made by a thread of their own, so that decoding pictures and writing prompts for the next questions goes on while
the model answers. The first window is small, so that the first answer comes early.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from itertools import takewhile

from mm_eval.engine.model import flatten
from mm_eval.types import Instance

FIRST_WINDOW, WINDOW = 64, 512
"""Instances that are sorted together, to begin with and at most. A doc is never divided."""
HEAD = 200
"""Characters at the beginning of a prompt that must be equal for two prompts to count as sharing a prefix."""
_END = None


def planned(instances: Iterable[Instance], window: int = WINDOW) -> Iterator[Instance]:
    """The instances in the order in which they cost least, made ahead by a thread; each of them exactly once.

    What making them raises is raised here, after those that came before it.
    """
    windows: queue.Queue[list[Instance] | BaseException | None] = queue.Queue(maxsize=1)
    closed = threading.Event()

    def make() -> None:
        last: BaseException | None = _END
        try:
            for made in in_windows(takewhile(lambda _: not closed.is_set(), instances), window):
                if not _put(windows, ordered(made), closed):
                    return
        except BaseException as error:  # carried over to the asking thread, whatever it is
            last = error
        _put(windows, last, closed)

    maker = threading.Thread(target=make, name="planner", daemon=True)
    maker.start()
    try:
        while (made := windows.get()) is not _END:
            if isinstance(made, BaseException):
                raise made
            yield from made
    finally:
        closed.set()
        maker.join()


def _put(windows: queue.Queue[list[Instance] | BaseException | None], item: object, closed: threading.Event) -> bool:
    """Hands an item over unless nobody wants it any more."""
    while not closed.is_set():
        try:
            windows.put(item, timeout=0.1)  # type: ignore[arg-type]
            return True
        except queue.Full:
            continue
    return False


def in_windows(instances: Iterable[Instance], window: int = WINDOW) -> Iterator[list[Instance]]:
    """Consecutive instances of one request type, about `window` at a time, whole docs, fewer to begin with."""
    size = min(FIRST_WINDOW, window)
    some: list[Instance] = []
    for instance in instances:
        if some and _parts(some[-1], instance, full=len(some) >= size):
            yield some
            some, size = [], min(2 * size, window)
        some.append(instance)
    if some:
        yield some


def _parts(last: Instance, following: Instance, full: bool) -> bool:
    if last.request_type != following.request_type:
        return True
    return full and (last.task, last.doc_id) != (following.task, following.doc_id)


def ordered(instances: Iterable[Instance]) -> list[Instance]:
    """Questions on the same pictures together, then those whose prompts begin alike, then equal prompts.

    Pictures keep the order in which they first appear, since their decoded pixels are kept for a short while. Prompts of
    text are sorted by length where they share nothing, so that those of one batch need little padding.
    """
    rows = list(instances)
    pictures: dict[tuple[str, ...], int] = {}
    texts = [row.context if isinstance(row.context, str) else flatten(row) for row in rows]
    shortest: dict[tuple[int, str], int] = {}
    for place, (row, text) in enumerate(zip(rows, texts, strict=True)):
        group = pictures.setdefault(row.image_digests, place)
        head = (group, text[:HEAD])
        shortest[head] = min(shortest.get(head, len(text)), len(text))

    def cost(place: int) -> tuple[int, int, str, int, str, int]:
        group, text = pictures[rows[place].image_digests], texts[place]
        return group, shortest[group, text[:HEAD]], text[:HEAD], len(text), text, place

    return [rows[place] for place in sorted(range(len(rows)), key=cost)]
