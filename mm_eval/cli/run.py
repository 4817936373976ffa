"""Evaluates a model on tasks, prints the table and leaves everything in a run folder.

The same command with the same --output_path resumes where it stopped."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mm_eval.cli.options import add_option, add_options, read_request, report_lines
from mm_eval.cli.say import say_report
from mm_eval.config.arguments import COUNT_FROM_1, PATH, TEXT
from mm_eval.values.errors import ConfigError

if TYPE_CHECKING:
    from mm_eval.request import RunRequest


COMMON = (
    *("tasks", "model", "model_args", "output_path", "limit", "num_fewshot", "batch_size", "device", "gen_kwargs"),
    *("sample", "categories", "config"),
)
"""The options that the help describes first."""

SETS = ("model", "tasks", "store", "run", "cost")
WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="A,B", help="tasks, groups, tags, globs, YAML files, name@format")
    what = "several models from one YAML file: `models:`, `tasks:` and options of this command"
    add_option(parser, "config", "FILE", what, PATH)
    what = (
        "how many models of --config run at a time, each in a process of its own (default 1; all with --executor ray)"
    )
    add_option(parser, "parallel", "N", what, COUNT_FROM_1)
    what = "only this model of --config (may be given more than once); the page shows the others as far as they are recorded"
    add_option(parser, "only", "NAME", what, TEXT, action="append", default=[])
    add_options(parser, *SETS)


def main(args: argparse.Namespace) -> int:
    if args.config:
        from mm_eval.verbs.report.release.run_models import run_release

        return run_release(args, request_of)
    for name in ("only", "parallel"):
        if getattr(args, name):
            raise ConfigError(f"--{name} is an option of a release.", where=f"--{name}", hint="Add --config FILE.")
    request = request_of(args)
    from mm_eval.prepare import names_tasks

    if not names_tasks(request):
        raise ConfigError("no task is named: --tasks is needed.", hint="`mm-eval ls tasks` lists them.")
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.run import evaluate

    report = evaluate(request, progress=ProgressBar())
    if not report.silent:
        say_report(report_lines(report, args))
    return report.exit_code


def request_of(args: argparse.Namespace) -> RunRequest:
    return read_request(args, *SETS)
