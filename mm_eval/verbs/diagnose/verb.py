"""Lists what went wrong in a run: answers that are empty, unparsed, truncated or refused, cut prompts, a bias to one answer, a
category far below the others. Each has its count, examples, the likely cause, and a command that mends it or shows more."""

from __future__ import annotations

import argparse

from mm_eval.cli.folders import add_format_option
from mm_eval.cli.say import say_lines, say_report

READS_FOLDERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run folder")
    add_format_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.findings import as_json, diagnose, render
    from mm_eval.results.recorded import RecordedRun

    run = RecordedRun.read(args.run)
    findings = diagnose(run)
    if args.format == "json":
        say_lines(as_json(run, findings))
    else:
        say_report(render(run, findings))
    return 0
