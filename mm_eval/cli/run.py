"""Evaluates a model on tasks, prints the table and leaves everything in a run folder.

The same command with the same --output_path resumes where it stopped."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mm_eval.cli.options import (
    add_bootstrap_option,
    add_categories_option,
    add_cost_options,
    add_feature_options,
    add_model_options,
    add_option,
    add_store_options,
    add_task_options,
    read_feature_options,
    read_request,
    report_lines,
)
from mm_eval.cli.say import say_report
from mm_eval.values.errors import ConfigError
from mm_eval.values.features import brought

if TYPE_CHECKING:
    from mm_eval.request import RunRequest


COMMON = (
    *("tasks", "model", "model_args", "output_path", "limit", "num_fewshot", "batch_size", "device", "gen_kwargs"),
    *("sample", "categories", "config"),
)
"""The options that the help describes first."""

WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="A,B", help="tasks, groups, tags, globs, YAML files, name@format")
    add_option(
        parser, "config", "FILE", "several models from one YAML file: `models:`, `tasks:` and options of this command"
    )
    add_option(
        parser,
        "name",
        "NAME",
        "the model's name in tables and reports (default: the checkpoint's)",
    )
    what = "models of --config that run at a time, each in a process of its own (default 1; all with --executor ray)"
    add_option(parser, "parallel", "N", what)
    what = "only this model of --config (may be given more than once); the page shows the others as far as they are recorded"
    add_option(parser, "only", "NAME", what, action="append", default=[])
    add_model_options(parser)
    add_task_options(parser)
    add_store_options(parser)
    add_feature_options(parser, "run")
    add_cost_options(parser)
    what = (
        "answers to each question, whose scores are joined as the task says, else by their mean (default: the task's)"
    )
    add_option(parser, "repeats", "N", what)
    parser.add_argument("--predict_only", action="store_true", help="request and record answers, score nothing")
    add_categories_option(parser)
    parser.add_argument("--no_report", action="store_true", help="write no report.html and no thumbnails")
    add_bootstrap_option(parser)


def main(args: argparse.Namespace) -> int:
    if args.config:
        code: int = brought("CONFIGS")["models"](args, request_of)
        return code
    for name in ("only", "parallel"):
        if getattr(args, name):
            raise ConfigError(f"--{name} is an option of a release.", where=f"--{name}", hint="Add --config FILE.")
    request = request_of(args)
    from mm_eval.opening import names_tasks

    if not names_tasks(request):
        raise ConfigError("no task is named: --tasks is needed.", hint="`mm-eval ls tasks` lists them.")
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.run import evaluate

    report = evaluate(request, progress=ProgressBar())
    if not report.silent:
        say_report(report_lines(report, args))
    return report.exit_code


def request_of(args: argparse.Namespace) -> RunRequest:
    return read_request(
        args,
        name=args.name,
        output_path=args.output_path,
        predict_only=args.predict_only,
        repeats=args.repeats,
        bootstrap_iters=args.bootstrap_iters,
        fail_on_error=args.fail_on_error,
        use_cache=args.use_cache,
        report=not args.no_report,
        categories=args.categories,
        budget=args.budget,
        prices=args.prices,
        **read_feature_options(args, "run"),
    )
