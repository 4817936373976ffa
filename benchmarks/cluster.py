"""What workers on Ray cost and how evenly they share, on a test cluster of this machine.

    python benchmarks/cluster.py [--repetitions 3] [--only text,sharing,slow,kills,many] [--docs 10000]

text: CPU time of the asking process over one process without workers, a request of text. Both are measured at two sizes, so that
    starting Ray is not in it.
sharing: workers whose model sleeps: what they could have answered between the first and the last answer, each from its own
    start, over what was answered. slow: the same with one of two workers three times as slow.
kills: twenty kill -9 at random moments, each at a request of which no worker died before: two deaths at one fail it.
many: 100,000 docs of text (400,000 requests).
load: of the machine when the line was measured (1 minute), to be compared with its CPUs.
Needs Ray (`pip install 'mm-eval[ray]'`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data import four_choices
from measure import ONE_THREAD, SCRATCH, fresh, shown

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
from tests.ray.kills import kill_a_worker, noted  # noqa: E402

SECONDS = 0.05
SLEEPING = ("--tasks", "mme,seedbench", "--sample", "--model", "scripted")
Line = tuple[str, str, str]


class Nodes:
    """A head without CPUs and a node with four."""

    def __init__(self) -> None:
        os.makedirs("/tmp/ray", exist_ok=True)
        os.environ.update(ONE_THREAD, RAY_USAGE_STATS_ENABLED="0", PYTHONPATH=str(ROOT))
        from ray.cluster_utils import Cluster

        memory = 200 * 2**20
        self.cluster = Cluster(True, head_node_args={"num_cpus": 0, "object_store_memory": memory})
        self.cluster.add_node(num_cpus=4, object_store_memory=memory)

    def options(self, workers: int, cpus: float = 1) -> list[str]:
        found = ["--executor", "ray", "--ray_address", self.cluster.address]
        return [*found, "--workers", str(workers), "--worker_cpus", str(cpus)]


def command(folder: Path, *words: object) -> list[str]:
    return [sys.executable, "-m", "tests.ray", *map(str, words), "--no_report", "--output_path", str(folder)]


def cpu(*words: object) -> tuple[float, float]:
    """CPU and wall seconds of the asking process alone: workers are children of the cluster."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command(fresh("cluster"), *words), capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.monotonic() - begin


def text_of(nodes: Nodes, repetitions: int, docs: int) -> Iterator[Line]:
    small, found = docs // 10, []
    for _ in range(repetitions):
        used = {
            (size, workers): cpu(
                *("--tasks", "four_choices", "--include_path", four_choices(size), "--model", "dummy"),
                *(nodes.options(workers) if workers else ()),
            )[0]
            for size in (small, docs)
            for workers in (0, 1)
        }
        one, fleet = (used[docs, workers] - used[small, workers] for workers in (0, 1))
        found.append((fleet - one) / (4 * (docs - small)) * 1e3)
    yield f"text, {4 * docs} requests: CPU a request over one process, ms", shown(found, 3), "<= 0.1"


def over_even(nodes: Nodes, workers: int, **more: object) -> float:
    """What all workers could have answered from the first answer, or their own start if later, over what was answered."""
    folder = fresh("cluster")
    log = SCRATCH / "cluster.log"
    for path in SCRATCH.glob("cluster.log*"):
        path.unlink()
    pairs = {"seconds": SECONDS, "log": log, **more}
    words = [*SLEEPING, "--model_args", ",".join(f"{name}={value}" for name, value in pairs.items())]
    done = subprocess.run(command(folder, *words, *nodes.options(workers)), capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    times = [row["t"] for row in answers(folder)]
    notes = [line.split(" ", 2) for line in log.read_text().splitlines()]
    begun = {pid: float(what) for pid, kind, what in notes if kind == "load"}
    sleeps = {pid: float(what) for pid, kind, what in notes if kind == "sleeps"}
    could = sum(max(0.0, max(times) - max(min(times), begun[pid])) / sleeps[pid] for pid in sleeps)
    return float(could / len(times))


def answers(folder: Path) -> list[dict[str, Any]]:
    lines = [line for path in (folder / "journal").glob("*.jsonl") for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def sharing(nodes: Nodes, repetitions: int) -> Iterator[Line]:
    for workers, most in ((1, 1.10), (2, 1.10), (4, 1.15)):
        found = [over_even(nodes, workers) for _ in range(repetitions)]
        yield (
            f"a model that sleeps {SECONDS * 1e3:g} ms, {workers} workers: over an even share",
            shown(found),
            f"<= {most}",
        )


def slow(nodes: Nodes, repetitions: int) -> Iterator[Line]:
    found = [over_even(nodes, 2, slow=3) for _ in range(repetitions)]
    yield "one of two workers three times as slow: over the best that both can do", shown(found), "<= 1.15"


def kills(nodes: Nodes, repetitions: int) -> Iterator[Line]:
    for repetition in range(repetitions):
        folder, log, draw = fresh("cluster"), SCRATCH / "cluster.log", random.Random(repetition)
        log.unlink(missing_ok=True)
        words = [*SLEEPING, "--model_args", f"seconds=0.05,log={log}", *nodes.options(2)]
        child = subprocess.Popen(command(folder, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        for kill in range(20):
            target = 10 + 25 * kill + draw.randrange(20)
            while len(noted(log, "ask")) < target and child.poll() is None:
                time.sleep(0.02)
            kill_a_worker(child, log)
        child.communicate()
        slots = [tuple(slot) for row in answers(folder) if row["kind"] == "answer" for slot in row["slots"]]
        twice, again = len(slots) - len(set(slots)), len(noted(log, "ask")) - len(set(slots))
        said = f"exit code {child.returncode}, {len(set(slots))} answered, {twice} twice, {again} asked again"
        yield "twenty kill -9 at random moments", said, "exit code 0, 0 twice; again: 20 and answers on their way"


def many(nodes: Nodes) -> Iterator[Line]:
    folder = four_choices(100_000)
    words = ("--tasks", "four_choices", "--include_path", folder, "--model", "dummy")
    one, fleet = cpu(*words), cpu(*words, *nodes.options(2))
    yield "100,000 docs, 400,000 requests, 2 workers: CPU s (wall s)", f"{fleet[0]:.1f} ({fleet[1]:.0f})", ""
    yield "the same in one process", f"{one[0]:.1f} ({one[1]:.0f})", ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--docs", type=int, default=10_000)
    parser.add_argument("--only", default="text,sharing,slow,kills,many")
    args = parser.parse_args()
    nodes = Nodes()
    figures = {
        "text": lambda: text_of(nodes, args.repetitions, args.docs),
        "sharing": lambda: sharing(nodes, args.repetitions),
        "slow": lambda: slow(nodes, args.repetitions),
        "kills": lambda: kills(nodes, 1),
        "many": lambda: many(nodes),
    }
    print("| figure | median (least to most, runs) | to reach | load |\n|---|---|---|---|", flush=True)
    try:
        for name in args.only.split(","):
            for what, value, goal in figures[name]():
                print(f"| {what} | {value} | {goal} | {os.getloadavg()[0]:.0f} |", flush=True)
    finally:
        nodes.cluster.shutdown()


if __name__ == "__main__":
    main()
