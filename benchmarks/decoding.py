"""How much faster the pictures of a run are read, decoded and hashed by two threads than by one: `python benchmarks/decoding.py`.

The real path is measured: all requests of a task with a picture of 1024 x 768 a doc, digests included, without a model. In
turn: one thread; two threads; two processes of one thread, each with half of the docs, which is what this machine gives at that
moment (other work makes it less than 2). The CPU of the thread that makes the requests is what can't be shared: two threads
can't be faster than all CPU over that.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection

from data import seed_shaped
from measure import shown

from mm_eval.data import decode
from mm_eval.data.known_pictures import KnownPictures
from mm_eval.prepare import prepare
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.prompt.visuals import PictureCache
from mm_eval.request import RunRequest


def opened(docs: int) -> tuple[Task, PromptStyle]:
    """The task and its prompt style."""
    request = RunRequest(
        ("seedbench",), model="dummy", data_root=str(seed_shaped(docs, (1024, 768))), offline=True, report=False
    )
    prepared = prepare(request)
    return prepared.tasks["seedbench"], prepared.styles["seedbench"]


def read(task: Task, style: PromptStyle, doc_ids: Sequence[int], threads: int) -> tuple[float, float, float, list[str]]:
    """(wall seconds, CPU seconds, those of this thread, the digests) of making all requests of some docs."""
    decode.cores = lambda: threads
    task._cache = PictureCache()  # what was decoded before is decoded again
    KnownPictures.get = lambda *_: None  # type: ignore[method-assign]
    wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
    digests = [digest for instance in task.instances(doc_ids, style) for digest in instance.image_digests]
    return time.perf_counter() - wall, time.process_time() - cpu, time.thread_time() - own, digests


def serve(connection: Connection, docs: int) -> None:
    """A process with one thread, which reads the docs that it is sent."""
    task, style = opened(docs)
    read(task, style, range(4), 1)
    while True:
        connection.send(True)
        if not (doc_ids := connection.recv()):
            return
        read(task, style, doc_ids, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=9)
    args = parser.parse_args()
    task, style = opened(args.docs)
    spawn, ends = multiprocessing.get_context("spawn"), []
    for _ in range(2):
        here, there = spawn.Pipe()
        spawn.Process(target=serve, args=(there, args.docs), daemon=True).start()
        ends.append(here)
    doc_ids = range(args.docs)
    read(task, style, doc_ids, 1)
    for end in ends:
        end.recv()
    threads, processes, against, most = [], [], [], []
    for _ in range(args.repetitions):
        one, one_cpu, _, expected = read(task, style, doc_ids, 1)
        two, two_cpu, own, digests = read(task, style, doc_ids, 2)
        if digests != expected:
            raise SystemExit("two threads gave other digests than one")
        start = time.perf_counter()
        for half, end in enumerate(ends):
            end.send(doc_ids[half::2])
        for end in ends:
            end.recv()
        halves = time.perf_counter() - start
        threads.append(one / two)
        processes.append(one / halves)
        against.append(halves / two)
        most.append(two_cpu / own)
    for end in ends:
        end.send([])
    print(f"two threads against one: {shown(threads)}")
    print(f"two processes against one, what the machine gives: {shown(processes)}")
    print(f"two threads against two processes: {shown(against)}")
    print(f"all CPU over that of the thread that makes the requests: {shown(most)}")
    print(f"CPU ms a doc, one thread and two: {1e3 * one_cpu / args.docs:.2f}, {1e3 * two_cpu / args.docs:.2f}")


if __name__ == "__main__":
    main()
