"""The order of requests, prepared ahead of the model: by picture, then prompt prefix, then prompt.

A model can reuse what it computed for a picture or a few-shot prefix only if the questions that share it come one after
another. Docs rarely come like that (POPE has six questions on a picture, hundreds of docs apart), so they are sorted within a
window: memory grows with the window, never with the dataset. The order changes the cost of the answers, never the answers.

A thread prepares the windows, so the next pictures are decoded and the next prompts written while the model answers. The
first window is small, so that the first answer comes early. An adapter that must not wait asks `ready` first; while it has
nothing to ask, docs are handed over one by one, as soon as each is prepared.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
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


def in_cheapest_order(instances: Iterable[Instance], window: int = WINDOW) -> Ordered:
    """Each instance exactly once, in the order that costs the model least. A thread prepares the next window.

    An error of the iterable is raised here, after the instances that came before it.
    """
    return Ordered(instances, window)


class _Ahead:
    """What the thread and its reader share. It holds no reader, so that one that nobody keeps is closed.

    hungry: the reader has nothing to ask, so that each doc is handed over. wake: called when the reader may go on.
    """

    def __init__(self, window: int) -> None:
        self.windows: queue.Queue[Item] = queue.Queue(maxsize=1)
        self.closed = threading.Event()
        self.hungry = False
        self.wake: Callable[[], None] = lambda: None
        self._docs, self._lock = _Docs(window), threading.Lock()

    def prepare(self, instances: Iterable[Instance]) -> None:
        """Hands over all windows, and what ended them."""
        last: Item = None
        try:
            for instance in takewhile(lambda _: not self.closed.is_set(), instances):
                with self._lock:
                    window = self._docs.add(instance, self.hungry)
                if window and not self._put(by_cost(window)):
                    return
            with self._lock:
                window = self._docs.rest()
            if window and not self._put(by_cost(window)):
                return
        except BaseException as error:  # raised again by the reader, whatever it is
            last = error
        self._put(last)

    def take(self) -> list[Instance]:
        """For the reader: the docs that are prepared while the thread is at the next one."""
        with self._lock:
            return by_cost(self._docs.take())

    def _put(self, item: Item) -> bool:
        """Hands an item over. Returns False if the reader has gone."""
        while not self.closed.is_set():
            try:
                self.hungry = False
                self.windows.put(item, timeout=0.1)
            except queue.Full:
                continue
            self.wake()
            return True
        return False


class Ordered(Iterator[Instance]):
    """Instances in the cheapest order. `ready` says whether the next one is there; `wake` is called when there may be more."""

    def __init__(self, instances: Iterable[Instance], window: int) -> None:
        self._ahead, self._left, self._ended = _Ahead(window), 0, False
        self._thread = threading.Thread(target=self._ahead.prepare, args=(instances,), name="order", daemon=True)
        self._now: Iterator[Instance] = iter(())

    def __next__(self) -> Instance:
        while self._left == 0:
            if self._ended:
                raise StopIteration
            self._start()
            item = self._ahead.windows.get()
            if item is None or isinstance(item, BaseException):
                self.close()
                if item is not None:
                    raise item
            else:
                self._begin(item)
        self._left -= 1
        return next(self._now)

    def ready(self) -> bool:
        """Whether `next` returns, or ends, without waiting. After False the thread hands over what it has."""
        if self._left or self._ended or not self._ahead.windows.empty():
            return True
        self._ahead.hungry = True
        self._start()
        self._begin(self._ahead.take())
        return bool(self._left) or not self._ahead.windows.empty()

    @property
    def wake(self) -> Callable[[], None]:
        return self._ahead.wake

    @wake.setter
    def wake(self, wake: Callable[[], None]) -> None:
        self._ahead.wake = wake

    def close(self) -> None:
        """Ends the thread. Nothing follows."""
        self._ended, self._left = True, 0
        self._ahead.closed.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _begin(self, window: list[Instance]) -> None:
        self._left, self._now = len(window), iter(window)

    def _start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def __del__(self) -> None:
        if not sys.is_finalizing():  # daemon threads have stopped then
            self.close()


class _Docs:
    """The docs of the next window. _doc: the instances of the one that is being prepared."""

    def __init__(self, window: int) -> None:
        self._most, self._size = window, min(FIRST_WINDOW, window)
        self._prepared: list[Instance] = []
        self._doc: list[Instance] = []

    def add(self, instance: Instance, at_once: bool = False) -> list[Instance]:
        """The docs before this instance if they are a window, else nothing. at_once: any docs are one."""
        last = self._doc[-1] if self._doc else instance
        same_doc = (last.task, last.doc_id) == (instance.task, instance.doc_id)
        other_kind = last.request_type != instance.request_type
        if same_doc and not other_kind:
            self._doc.append(instance)
            return []
        self._prepared += self._doc
        self._doc = [instance]
        if not (other_kind or at_once or len(self._prepared) >= self._size):
            return []
        self._size = min(2 * self._size, self._most)
        return self.take()

    def take(self) -> list[Instance]:
        """The docs that are prepared."""
        taken, self._prepared = self._prepared, []
        return taken

    def rest(self) -> list[Instance]:
        """All that is left at the end."""
        self._prepared += self._doc
        self._doc = []
        return self.take()


def in_windows(instances: Iterable[Instance], window: int = WINDOW) -> Iterator[list[Instance]]:
    """Consecutive instances of one request type, about `window` at a time, fewer at the beginning. Docs are never divided."""
    docs = _Docs(window)
    for instance in instances:
        if found := docs.add(instance):
            yield found
    if found := docs.rest():
        yield found


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
