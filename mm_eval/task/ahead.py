"""Decodes the pictures of the next docs in threads, while the requests of the doc before them are made.

The threads compute the pictures' digests too. Pillow and hashlib release Python's lock for both.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from typing import TypeAlias

from mm_eval.task.decode import PIXELS_IN_FLIGHT
from mm_eval.types import Doc

MOST_WORKERS = 8

Load: TypeAlias = Callable[..., Doc]
"""load(doc_id) -> the whole doc; load(doc_id, most), for the threads, raises an error for more than `most` pixels."""


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def decoded_ahead(load: Load, doc_ids: Sequence[int]) -> Iterator[Callable[[int], Callable[[], Doc]]]:
    """Gives a function from each of these doc ids, in their order, to a function that gives the whole doc.

    Only decoding and hashing happen in the threads, never a task's own code. Docs with large pictures, and those that can't be
    decoded, are left to the caller's thread, so that memory stays bounded and errors are raised where the doc is used.
    """
    workers = min(cores(), MOST_WORKERS)
    if workers < 2 or len(doc_ids) < 2:
        yield lambda doc_id: lambda: load(doc_id)
        return
    share = PIXELS_IN_FLIGHT // (2 * workers)
    left, begun = iter(doc_ids), deque[Future[Doc]]()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")

    def begin(count: int) -> None:
        begun.extend(pool.submit(load, doc_id, share) for doc_id in islice(left, count))

    def whole(doc_id: int) -> Callable[[], Doc]:
        waiting = [begun.popleft()]
        begin(1)

        def take() -> Doc:
            """The doc; decoded again at a second call, so that nothing holds its pictures."""
            if waiting:
                future = waiting.pop()
                if future.exception() is None:
                    return future.result()
            return load(doc_id)

        return take

    begin(2 * workers)
    try:
        yield whole
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
