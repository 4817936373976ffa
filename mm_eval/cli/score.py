"""Scores a run again from its journal: the model that answered is not loaded. A model that is named to grade the answers is asked
first; a grade that is there is not asked for again."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from mm_eval.cli.folders import add_code_option
from mm_eval.cli.options import add_option, add_options, read_part_options, report_lines
from mm_eval.cli.say import say_report
from mm_eval.config.arguments import PATH

READS_FOLDERS = WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run folder")
    add_options(parser, "score")
    what = "score by the golds that this file of decisions gives (`mm-eval doubt --html`); such scores are not ranked with others"
    add_option(parser, "gold_fixes", "FILE", what, rule=PATH)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.request import RunRequest, ScoreOptions
    from mm_eval.run import score

    now = RunRequest.of_options((), **read_part_options(args, "score"))
    options = ScoreOptions(
        judge=now.judge, protocol=now.protocol.name, trackers=now.trackers, gold_fixes=args.gold_fixes
    )
    report = score(Path(args.run), args.bootstrap_iters, ProgressBar(), options, args.include_path, args.reasoning_tags)
    say_report(report_lines(replace(report, categories=args.categories or report.categories), args))
    return report.exit_code
