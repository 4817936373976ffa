"""Prompts written ahead of the model: pictures are decoded, resized and cut into patches by threads while it computes.

Pillow, numpy and torch release the interpreter's lock in this work, so threads really run beside the model. A bounded number
of prompts is ahead, each with its pixels. Prompts without pictures cost nothing worth a thread and are written when asked.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from mm_eval.errors import DataError, ModelError

Item = TypeVar("Item")
Written = TypeVar("Written")

AHEAD = 16
"""Prompts with pictures that are ready or being written: two batches of eight."""


def written_ahead(
    items: Iterable[Item],
    write: Callable[[Item], Written],
    has_pictures: Callable[[Item], bool],
    most: int = AHEAD,
) -> Iterator[tuple[Item, Written | DataError | ModelError]]:
    """Each item with what `write` makes of it, in order; an error of the item's own in its place."""
    waiting: deque[tuple[Item, Future[Written | DataError | ModelError]]] = deque()

    def attempt(item: Item) -> Written | DataError | ModelError:
        try:
            return write(item)
        except (DataError, ModelError) as error:
            return error

    workers = max(1, min(4, (os.cpu_count() or 2) // 2))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pictures")
    try:
        for item in items:
            if has_pictures(item):
                waiting.append((item, pool.submit(attempt, item)))
                while len(waiting) > most:
                    first, made = waiting.popleft()
                    yield first, made.result()
                continue
            while waiting:
                first, made = waiting.popleft()
                yield first, made.result()
            yield item, attempt(item)
        while waiting:
            first, made = waiting.popleft()
            yield first, made.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
