"""Memory and CPU seconds of runs of more and more documents: four choices each, dummy model, page included.

    git worktree add ../old COMMIT
    python benchmarks/growth.py [../old] [--docs 1000,10000,100000,1000000]

Prints for each number of documents the largest RssAnon of the process (memory that is not mapped from files), what a further
document takes beyond the row before, and CPU milliseconds a document; with another tree, the same of that one and the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from data import four_choices
from measure import HERE, ONE_THREAD, fresh


def peak(tree: Path, docs: int) -> tuple[float, float]:
    """The largest memory in kB and the CPU seconds of a run with the code of a tree."""
    task = four_choices(docs) / "four_choices.yaml"
    words = ["--tasks", task, "--model", "dummy", "--offline", "--output_path", fresh("grown")]
    command = [sys.executable, HERE / "memory.py", *words]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(tree)}
    before = os.times()
    done = subprocess.run([*map(str, command)], env=environment, cwd=tree, capture_output=True, text=True)
    after = os.times()
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return json.loads(done.stdout.splitlines()[-1])["peak"], cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--docs", default="1000,10000,100000")
    args = parser.parse_args()
    trees = [HERE.resolve().parent, *([args.other.resolve()] if args.other else [])]
    before: dict[Path, tuple[int, float]] = {}
    peak(trees[0], 1000)  # bytecode and caches
    for docs in map(int, args.docs.split(",")):
        found = {}
        for tree in trees:
            memory, cpu = found[tree] = peak(tree, docs)
            few, less = before.get(tree, (docs, memory))
            growth = f", {(memory - less) / (docs - few):.2f} kB a further document" if docs > few else ""
            which = "this tree" if tree == trees[0] else "the other"
            print(f"{docs:>9,} {which}: {memory / 1000:.0f} MB{growth}, {1000 * cpu / docs:.3f} CPU ms", flush=True)
            before[tree] = docs, memory
        if len(trees) > 1:
            (ours, cpu), (other, other_cpu) = (found[tree] for tree in trees)
            print(f"          this / other: memory {ours / other:.2f}, CPU {cpu / other_cpu:.2f}", flush=True)


if __name__ == "__main__":
    main()
