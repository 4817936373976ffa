"""The main job as users run it: no variable set, on a quiet machine and beside one busy loop a core.

    python benchmarks/as_run.py [--repetitions 3] [--limit N]

Prints CPU and wall seconds of `mm-eval --tasks mme,seedbench` for each way: as the command chooses ("default"), with a thread
for each core ("threads"), and with such threads that spin while they wait, as OpenMP's do by themselves ("spinning"). The
repetitions of all ways alternate. The goal is a median of at most 1.2 of the quiet CPU seconds beside the loops.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CORES = len(os.sched_getaffinity(0))
WAYS: dict[str, dict[str, str]] = {
    "default": {},
    "threads": {"OMP_NUM_THREADS": str(CORES)},
    "spinning": {"OMP_NUM_THREADS": str(CORES), "OMP_WAIT_POLICY": "active"},
}
UNSET = ("OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "MKL_NUM_THREADS")


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Processes that do nothing but count."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def seconds(way: str, limit: int | None) -> tuple[float, float]:
    """CPU seconds and wall seconds of one run in a new folder."""
    environment = {name: value for name, value in os.environ.items() if name not in UNSET} | WAYS[way]
    folder = Path(tempfile.mkdtemp())
    words = [sys.executable, "-m", "mm_eval", "--tasks", "mme,seedbench", "--output_path", str(folder / "run")]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        words + (["--limit", str(limit)] if limit else []), env=environment, check=True, capture_output=True, cwd=folder
    )
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    shutil.rmtree(folder)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--ways", default=",".join(WAYS), metavar="NAME,...")
    args = parser.parse_args()
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(args.repetitions):
        for place, loops in (("quiet", 0), ("busy", CORES)):
            for way in args.ways.split(","):
                with busy_loops(loops):
                    found.setdefault((place, way), []).append(seconds(way, args.limit))
    for (place, way), runs in found.items():
        cpu, wall = ([run[part] for run in runs] for part in (0, 1))
        print(
            f"{place:6} {way:9} CPU {statistics.median(cpu):7.1f} s ({min(cpu):.1f} to {max(cpu):.1f})"
            f"   wall {statistics.median(wall):7.1f} s ({min(wall):.1f} to {max(wall):.1f})"
        )
    for way in args.ways.split(","):
        ratios = [busy[0] / quiet[0] for busy, quiet in zip(found["busy", way], found["quiet", way], strict=True)]
        print(f"{way}: busy over quiet CPU {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
