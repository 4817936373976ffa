"""What the tool python costs: milliseconds of a call above its own code, interpreters started a second, memory of many at once.

    python benchmarks/python_tool.py [--calls 200] [--starts 16] [--held 64]

It needs bubblewrap, and times the machine that it runs on: other work on it makes every number worse. Memory is the proportional
set size of all processes below this one, so that pages which interpreters share count once.
"""

from __future__ import annotations

import argparse
import statistics
import time
from contextlib import closing, suppress
from pathlib import Path

from mm_eval.sandbox.interpreter import Asked, Interpreter
from mm_eval.sandbox.limits import Limits
from mm_eval.sandbox.pool import Pool
from mm_eval.sandbox.walls import sandbox_of

CODES = {
    "1 + 1": "1 + 1",
    "numpy, 1000 x 1000": "import numpy as np\nfloat(np.ones((1000, 1000)).sum())",
    "a crop returned": "from PIL import Image\nImage.new('RGB', (640, 480), 'red').crop((0, 0, 320, 240))",
    "sleeps 50 ms": "import time\ntime.sleep(0.05)",
}
OWN = "__import__('time')"


def call(interpreter: Interpreter, code: str) -> float:
    """Milliseconds of a call."""
    began = time.perf_counter()
    found = interpreter.run(Asked(code, 60, 20_000, 4, 2048, 2))
    if found.ending != "ok":
        raise SystemExit(f"the code failed: {found}")
    return 1000 * (time.perf_counter() - began)


def own(interpreter: Interpreter, code: str) -> float:
    """Milliseconds that the code takes by itself, inside."""
    *lines, last = code.splitlines()
    timed = "\n".join([f"_began = {OWN}.perf_counter()", *lines, f"_ = ({last})", f"{OWN}.perf_counter() - _began"])
    return 1000 * float(interpreter.run(Asked(timed, 60, 20_000, 4, 2048, 2)).text.splitlines()[-1])


def memory() -> float:
    """MiB of all processes below this one."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    import os

    below, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        grown = bool(more)
        below |= more
    total = 0
    for pid in below - {os.getpid()}:
        with suppress(OSError, ValueError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--starts", type=int, default=16)
    parser.add_argument("--held", type=int, default=64)
    parser.add_argument("--sandbox", default="bwrap")
    options = parser.parse_args()
    sandbox = sandbox_of(options.sandbox, Limits(), say=print)
    with closing(Pool(sandbox, 0)) as pool:
        began = time.perf_counter()
        held = [pool.take() for _ in range(options.starts)]
        seconds = time.perf_counter() - began
        print(f"| started one after another | {options.starts / seconds:.2f} a second |")
        for interpreter in held[1:]:
            pool.give_back(interpreter)
        print("| code | calls | ms a call, median | 95% below | of its own | above it, median |")
        print("|---|---|---|---|---|---|")
        for name, code in CODES.items():
            call(held[0], code)
            times = sorted(call(held[0], code) for _ in range(options.calls))
            inside = statistics.median(own(held[0], code) for _ in range(min(20, options.calls)))
            middle = statistics.median(times)
            print(
                f"| {name} | {options.calls} | {middle:.1f} | {times[int(0.95 * len(times))]:.1f} | {inside:.1f} "
                f"| {middle - inside:.1f} |"
            )
    with closing(Pool(sandbox, options.held - 1)) as pool:
        began = time.perf_counter()
        all_held = [pool.take() for _ in range(options.held)]
        seconds = time.perf_counter() - began
        print(f"| {options.held} started ahead | {options.held / seconds:.2f} a second | {memory():,.0f} MiB |")
        del all_held


if __name__ == "__main__":
    main()
