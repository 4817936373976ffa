"""What the suite itself costs in two trees of this repository, alternated, so that a busy machine slows both alike.

    git worktree add ../old COMMIT
    python benchmarks/trees.py ../old [--repetitions 3] [--quick]

Prints CPU seconds of whole runs with the dummy model, of the other tree and of this one, and their ratio.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from data import four_choices, mme_shaped, seed_shaped
from measure import HERE, fresh, process, shown


def run(tree: Path, *options: object) -> float:
    """CPU seconds of a run with the code of a tree."""
    command = ["env", "-C", tree, f"PYTHONPATH={tree}", sys.executable, "-m", "mm_eval", *options, "--model", "dummy"]
    return process([*map(str, command), "--output_path", str(fresh("run"))])[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    pictured, docs = (100, 1_000) if args.quick else (1_000, 10_000)
    figures = {
        f"{pictured} docs in SEED's shape": ("--tasks", "seedbench", "--data_root", seed_shaped(pictured), "--offline"),
        "2000 docs in MME's shape": ("--tasks", "mme", "--data_root", mme_shaped(2_000), "--offline"),
        f"{docs} docs of 4 choices": ("--tasks", "four_choices", "--include_path", four_choices(docs)),
        "2 docs in MME's shape": ("--tasks", "mme", "--data_root", mme_shaped(2_000), "--offline", "--limit", "2"),
    }
    print(
        "| dummy model, whole process, CPU s | other tree | this tree | this / other |\n|---|---|---|---|", flush=True
    )
    for what, options in figures.items():
        pairs = [
            (run(args.other.resolve(), *options), run(HERE.resolve().parent, *options))
            for _ in range(args.repetitions + 1)
        ][1:]  # the first pair makes caches and bytecode
        ratios = [ours / other for other, ours in pairs]
        print(
            f"| {what} | {shown([o for o, _ in pairs])} | {shown([n for _, n in pairs])} | {shown(ratios)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
