"""What a command costs before it does anything, in two trees of this repository, alternated.

    git worktree add ../old COMMIT
    python benchmarks/start.py ../old [--repetitions 9]

CPU seconds of whole processes, of the other tree and of this one, and their ratio: with written bytecode, and without it
(PYTHONDONTWRITEBYTECODE=1 and none there before, as in a read-only image).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from measure import HERE, fresh, shown


def seconds(tree: Path, bytecode: Path | None, words: list[str]) -> float:
    """CPU seconds of a command with the code of a tree. bytecode: the folder for it; None for no bytecode."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "" if bytecode else "1"
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode or fresh("no-bytecode"))
    before = os.times()
    subprocess.run([sys.executable, "-m", "mm_eval", *words], env=environment, cwd=fresh_folder(), capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def fresh_folder() -> Path:
    folder = fresh("start")
    folder.mkdir(parents=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--repetitions", type=int, default=9)
    args = parser.parse_args()
    nowhere, empty = fresh("start-nowhere"), fresh("start-empty")
    nowhere.mkdir(parents=True)
    (empty / "lmms-lab/MME").mkdir(parents=True)
    missing = ["--tasks", "mme", "--model", "dummy", "--offline", "--output_path", "run", "--data_root"]
    commands = {
        "--help": ["--help"],
        "ls tasks": ["ls", "tasks"],
        "a data set that is nowhere": [*missing, str(nowhere)],
        "a folder without data files": [*missing, str(empty)],
    }
    trees = [args.other.resolve(), HERE.resolve().parent]
    print("| CPU s | other tree | this tree | this / other |\n|---|---|---|---|", flush=True)
    for written in (True, False):
        stores = [fresh(f"bytecode-{number}") if written else None for number in range(2)]
        for what, words in commands.items():
            times: list[list[float]] = [[], []]
            for _ in range(args.repetitions + 1):
                for number, tree in enumerate(trees):
                    times[number].append(seconds(tree, stores[number], words))
            other, ours = times[0][1:], times[1][1:]  # the first makes bytecode and caches
            ratios = [new / old for old, new in zip(other, ours, strict=True)]
            name = what if written else f"{what}, without written bytecode"
            print(f"| {name} | {shown(other, 3)} | {shown(ours, 3)} | {shown(ratios)} |", flush=True)


if __name__ == "__main__":
    main()
