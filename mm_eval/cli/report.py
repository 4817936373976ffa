"""Writes report.html of a run, or the release table of several runs: rows are benchmarks, columns are models.

The page opens from disk with no network. Nothing is asked and no model is loaded."""

from __future__ import annotations

import argparse

from mm_eval.errors import ConfigError

FORMATS = ("html", "md", "latex", "csv")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument("--format", choices=FORMATS, default="html", help="html (default), md, latex or csv")
    parser.add_argument(
        "--against", metavar="RUN", help="html of one run: another run's answers beside each sample, flips as a filter"
    )
    parser.add_argument("--output", metavar="FILE", help="where to write a table (default: it is printed)")


def main(args: argparse.Namespace) -> int:
    from mm_eval.report.html import write_report
    from mm_eval.report.recorded import RecordedRun

    runs = [RecordedRun.read(folder) for folder in args.runs]
    against = RecordedRun.read(args.against) if args.against else None
    if args.format == "html":
        if args.output:
            raise ConfigError("--output is for tables.", hint="report.html is written into the run's folder.")
        for run in runs:
            print(write_report(run, against))
        return 0
    raise ConfigError(f"--format {args.format} is not there yet.")
