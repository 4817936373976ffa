"""Prompts are written ahead, in threads, while the model computes: decoding and preprocessing pictures costs the most time.

written_ahead  prompts in order, several in work; the error of one is its result
shown          which instances show the same pictures
prompt_parts   which instances have the same prompt
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby, islice
from typing import Any, TypeAlias, TypeVar

from mm_eval.values.errors import DataError, MMEvalError, ModelError
from mm_eval.values.types import Instance

Item = TypeVar("Item")
Written = TypeVar("Written")

Failed: TypeAlias = DataError | ModelError

AHEAD = 16
"""Runs of prompts that are ready or being written: two batches of eight pictures with one question each."""
LONGEST_RUN = 16
"""Prompts on the same pictures that one worker writes in a row."""
MOST_WORKERS = 16
"""More threads do not write more prompts, since the tokenizer's and the processor's Python code runs in one at a time."""


def workers() -> int:
    """Threads that write prompts: a core less than this process may use, shared with the other ranks of the machine."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ranks = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return max(1, min(MOST_WORKERS, (cores - 1) // (int(ranks) if ranks.isdigit() and int(ranks) else 1)))


def shown(instance: Instance) -> Hashable:
    """Equal for instances that show the same pictures; None without pictures."""
    if instance.images is None and instance.sounds is None:
        return None
    return (
        (instance.image_digests, instance.sound_digests) if instance.image_digests or instance.heard else id(instance)
    )


def written_ahead(
    items: Iterable[Item], write: Callable[[Item], Written], pictures: Callable[[Item], Hashable], most: int = AHEAD
) -> Iterator[tuple[Item, Written | Failed]]:
    """Yields each item with the result of `write`, in order. A DataError or ModelError of an item is its result.

    pictures: what an item shows; None if it has no pictures and is written when it is needed. One worker writes the items that
    show the same in a row, so that the others preprocess other pictures. most: such runs that are ready or being written.
    """
    waiting: deque[tuple[list[Item], Future[list[Written | Failed]]]] = deque()

    def attempt(item: Item) -> Written | Failed:
        try:
            return write(item)
        except (DataError, ModelError) as error:
            return error

    def finished(left: int) -> Iterator[tuple[Item, Written | Failed]]:
        """Waits for the first runs until `left` are in the queue."""
        while len(waiting) > left:
            run, made = waiting.popleft()
            yield from zip(run, made.result(), strict=True)

    count = workers()
    pool = ThreadPoolExecutor(count, thread_name_prefix="pictures")
    try:
        for key, alike in groupby(items, pictures):
            if key is None:
                yield from finished(0)
                yield from ((item, attempt(item)) for item in alike)
            while run := list(islice(alike, LONGEST_RUN)):
                waiting.append((run, pool.submit(lambda run: [attempt(item) for item in run], run)))
                yield from finished(max(most, 2 * count) - 1)
        yield from finished(0)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def prompt_parts(instance: Instance) -> tuple[object, ...]:
    """Equal for instances with equal prompts."""
    pictures = None if instance.image_digests else id(instance.images)
    return instance.context, instance.image_digests, pictures, instance.sound_digests


def located(answer: Any, instance: Instance) -> Any:
    """An error with the task and doc of its instance; an answer unchanged."""
    return answer.located(f"{instance.task}, doc {instance.doc_id}") if isinstance(answer, MMEvalError) else answer
