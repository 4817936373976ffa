"""Checks that published numbers are those of a run: each is compared at the digits that are printed.

CARD is a model card (README.md with a model-index or with tables), a file .eval_results/*.yaml, a record of Every Eval Ever in
JSON, or a release table of `mm-eval report --format csv` or `md`. What differs is listed: value, metric, task, number of
documents, and a number that the run does not have. Exit codes: 0 all are equal, 1 some differ, 2 the file can't be read."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.folders import add_code_option, add_format_option
from mm_eval.cli.options import add_option
from mm_eval.cli.say import say_lines, say_report
from mm_eval.config.arguments import TEXT

READS_FOLDERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("card", metavar="CARD", help="the file with the published numbers")
    parser.add_argument("run", metavar="RUN", help="the run folder that they are of")
    add_option(parser, "name", "NAME", "what CARD calls the model (default: the run's names for it)", rule=TEXT)
    add_format_option(parser)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.results.table import terminal_width
    from mm_eval.verbs.exports.names import full_name
    from mm_eval.verbs.published.cards import read_card
    from mm_eval.verbs.published.check import as_json, check, render

    run = RecordedRun.read(args.run, include_path=args.include_path)
    names = [args.name] if args.name else list(dict.fromkeys([run.model, full_name(run), run.name_of_parts(1)]))
    checked = check(read_card(Path(args.card), names), run)
    if args.format == "json":
        say_lines(as_json(checked))
    else:
        say_report(render(checked, terminal_width()))
    return 1 if checked.differ else 0
