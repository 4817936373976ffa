"""Scores a run again from its journal: no model is loaded and nothing is asked."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.options import option
from mm_eval.cli.say import say_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument(
        "--bootstrap_iters",
        type=option("bootstrap_iters"),
        default=100_000,
        metavar="N",
        help="draws for corpus metrics; 0: none",
    )


def main(args: argparse.Namespace) -> int:
    from mm_eval.report.progress import ProgressBar
    from mm_eval.report.table import render
    from mm_eval.run import score

    report = score(Path(args.run), args.bootstrap_iters, ProgressBar())
    say_lines(render(report))
    return report.exit_code
