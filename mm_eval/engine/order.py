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
from itertools import chain, groupby, takewhile
from operator import attrgetter
from typing import TypeAlias

from mm_eval.engine.model import flatten
from mm_eval.values.types import Instance

FIRST_WINDOW, WINDOW = 64, 512
"""Instances that are sorted together: in the first window, and at most. The instances of a doc stay in one window."""
WINDOW_PIXELS = 2**25
"""Pixels that are sorted together for a model that gets files, so that their files are still in memory when they are sent."""
PREFIX = 200
"""Two prompts share a prefix if this many characters at their beginning are equal."""

Question: TypeAlias = list[Instance]
"""Requests of a doc that follow each other and have one prompt: the choices of a question, or one request alone."""

Item: TypeAlias = list[Question] | BaseException | None
"""What the thread hands over: a sorted window, the error that ended it, or None at the end."""


class _Ahead:
    """What the thread and its reader share. It does not refer to the reader, so that a reader without further use is closed.

    hungry: the reader has nothing to ask, so that each doc is handed over. wake: called when the reader may continue.
    """

    def __init__(self, window: int, pixels: int | None) -> None:
        self.windows: queue.Queue[Item] = queue.Queue(maxsize=1)
        self.closed = threading.Event()
        self.hungry = False
        self.wake: Callable[[], None] = lambda: None
        self._docs, self._lock = Windows(window, pixels), threading.Lock()

    def prepare(self, instances: Iterable[Instance]) -> None:
        """Hands over all windows, and what ended them."""
        last: Item = None
        try:
            for doc in takewhile(lambda _: not self.closed.is_set(), in_docs(instances)):
                with self._lock:
                    window = self._docs.add(doc, self.hungry)
                if window and not self._put(_by_cost(window)):
                    return
            with self._lock:
                window = self._docs.take()
            if window and not self._put(_by_cost(window)):
                return
        except BaseException as error:  # raised again by the reader, whatever it is
            last = error
        self._put(last)

    def take(self) -> list[Question]:
        """For the reader: the docs that are prepared while the thread is at the next one."""
        with self._lock:
            return _by_cost(self._docs.take())

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


class CheapestOrder(Iterator[Instance]):
    """Each instance exactly once, in the order that costs the model least. A thread prepares the next window.

    `ready` says whether the next one is there; `wake` is called when there may be more. An error of the iterable is raised here,
    after the instances that came before it. pixels: of the pictures that are sorted together at most; None for any number.
    """

    def __init__(self, instances: Iterable[Instance], window: int = WINDOW, pixels: int | None = None) -> None:
        self._ahead, self._ended = _Ahead(window, pixels), False
        self._thread = threading.Thread(target=self._ahead.prepare, args=(instances,), name="order", daemon=True)
        self._window: list[Question] = []  # the next one last
        self._question: Question = []  # what is left of one, the next one last

    def __next__(self) -> Instance:
        if not self._question:
            self._question = (self.question() or [])[::-1]
            if not self._question:
                raise StopIteration
        return self._question.pop()

    def question(self) -> Question | None:
        """All instances of the next question; None at the end."""
        while not self._window and not self._ended:
            self._start()
            item = self._ahead.windows.get()
            if item is None or isinstance(item, BaseException):
                self.close()
                if item is not None:
                    raise item
            else:
                self._window = item[::-1]
        return self._window.pop() if self._window else None

    def ready(self) -> bool:
        """Whether `next` returns, or ends, without waiting. After False the thread hands over what it has."""
        if self._question or self._window or self._ended or not self._ahead.windows.empty():
            return True
        self._ahead.hungry = True
        self._start()
        self._window = self._ahead.take()[::-1]
        return bool(self._window) or not self._ahead.windows.empty()

    @property
    def wake(self) -> Callable[[], None]:
        return self._ahead.wake

    @wake.setter
    def wake(self, wake: Callable[[], None]) -> None:
        self._ahead.wake = wake

    def close(self) -> None:
        """Ends the thread. Nothing follows."""
        self._ended, self._window, self._question = True, [], []
        self._ahead.closed.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def __del__(self) -> None:
        if not sys.is_finalizing():  # daemon threads have stopped then
            self.close()


def in_docs(instances: Iterable[Instance]) -> Iterator[list[Instance]]:
    """The requests of each doc that follow each other, those of one type."""
    return (list(doc) for _, doc in groupby(instances, key=attrgetter("doc_id", "task", "request_type")))


def in_questions(doc: list[Instance]) -> Iterable[Question]:
    """The requests of a doc by prompt and repeat."""
    context, repeat = doc[0].context, doc[0].repeat
    if all(each.context == context and each.repeat == repeat for each in doc):
        return (doc,)
    return (list(rows) for _, rows in groupby(doc, key=attrgetter("repeat", "context")))


class Windows:
    """The docs of the next window."""

    def __init__(self, window: int, pixels: int | None = None) -> None:
        self._most, self._size, self._most_pixels = window, min(FIRST_WINDOW, window), pixels
        self._prepared: list[list[Instance]] = []
        self._count = self._pixels = 0  # of their instances

    def add(self, doc: list[Instance], at_once: bool = False) -> list[list[Instance]]:
        """The docs that are a window by now, of one request type; often none. at_once: any docs are one."""
        window: list[list[Instance]] = []
        if self._prepared and self._prepared[0][0].request_type != doc[0].request_type:
            window = self.take()
        self._prepared.append(doc)
        self._count += len(doc)
        self._pixels += doc[0].pixels
        large = self._most_pixels is not None and self._pixels >= self._most_pixels
        if not window and (at_once or large or self._count >= self._size):
            self._size = min(2 * self._size, self._most)
            window = self.take()
        return window

    def take(self) -> list[list[Instance]]:
        """The docs that are prepared."""
        taken, self._prepared, self._count, self._pixels = self._prepared, [], 0, 0
        return taken


def by_cost(instances: Iterable[Instance]) -> list[Instance]:
    """Sorts the instances: those with equal pictures together, then those with a common prefix, then equal prompts.

    Pictures keep the order in which they first appear, because their decoded pixels are kept for a short while. Text prompts
    without a common prefix are sorted by length, so that the prompts of a batch need little padding.
    """
    return [*chain.from_iterable(_by_cost(in_docs(instances)))]


def _by_cost(docs: Iterable[list[Instance]]) -> list[Question]:
    """The same by question."""
    rows = [question for doc in docs for question in in_questions(doc)]
    shown: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}
    shortest: dict[tuple[int, str], int] = {}
    costs: list[tuple[tuple[int, str], str, int]] = []
    for place, (first, *_) in enumerate(rows):
        text = flatten(first)
        prefix = shown.setdefault((first.image_digests, first.sound_digests), place), text[:PREFIX]
        shortest[prefix] = min(shortest.get(prefix, len(text)), len(text))
        costs.append((prefix, text, place))

    def cost(each: tuple[tuple[int, str], str, int]) -> tuple[int, int, str, int, str, int]:
        (group, begin), text, place = each
        return group, shortest[group, begin], begin, len(text), text, place

    return [rows[place] for _, _, place in sorted(costs, key=cost)]
