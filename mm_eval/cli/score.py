"""Scores a run again from its journal: no model is loaded and nothing is requested."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from mm_eval.cli.options import add_bootstrap_option, add_categories_option
from mm_eval.cli.say import say_lines


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run folder")
    add_bootstrap_option(parser)
    add_categories_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.report.progress import ProgressBar
    from mm_eval.report.run_table import render
    from mm_eval.run import score

    report = score(Path(args.run), args.bootstrap_iters, ProgressBar())
    say_lines(render(replace(report, categories=args.categories or report.categories)))
    return report.exit_code
