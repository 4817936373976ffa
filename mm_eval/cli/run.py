"""Evaluates a model on tasks, prints the table and leaves everything in a run folder.

The same command with the same --output_path resumes where it stopped."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.options import (
    add_bootstrap_option,
    add_categories_option,
    add_cost_options,
    add_executor_options,
    add_judge_options,
    add_model_options,
    add_option,
    add_protocol_option,
    add_store_options,
    add_task_options,
    read_executor,
    read_judges,
    read_request,
)
from mm_eval.cli.say import say, say_lines
from mm_eval.values.errors import ConfigError

if TYPE_CHECKING:
    from mm_eval.features.report.release.outcomes import Ended, Outcomes
    from mm_eval.request import RunRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="A,B", help="tasks, groups, tags, globs, YAML files, name@format")
    add_option(
        parser, "config", "FILE", "several models from one YAML file: `models:`, `tasks:` and options of this command"
    )
    add_protocol_option(parser)
    add_option(parser, "protocol_settings", "A,B", "only these settings of the protocol, such as prompt,gen_kwargs")
    add_option(
        parser,
        "name",
        "NAME",
        "the model's name in tables and reports, and in the protocol (default: the checkpoint's)",
    )
    what = "models of --config that run at a time, each in a process of its own (default 1; all with --executor ray)"
    add_option(parser, "parallel", "N", what)
    what = "only this model of --config (may be given more than once); the page shows the others as far as they are recorded"
    add_option(parser, "only", "NAME", what, action="append", default=[])
    add_model_options(parser)
    add_task_options(parser)
    add_store_options(parser)
    add_judge_options(parser)
    add_cost_options(parser)
    add_executor_options(parser)
    parser.add_argument("--predict_only", action="store_true", help="request and record answers, score nothing")
    add_categories_option(parser)
    parser.add_argument("--no_report", action="store_true", help="write no report.html and no thumbnails")
    add_bootstrap_option(parser)


def main(args: argparse.Namespace) -> int:
    if args.config:
        return _release(args)
    for name in ("only", "parallel"):
        if getattr(args, name):
            raise ConfigError(f"--{name} is an option of a release.", where=f"--{name}", hint="Add --config FILE.")
    if not args.tasks and (args.tasks is not None or not args.protocol):
        raise ConfigError("no task is named: --tasks is needed.", hint="`mm-eval ls tasks` lists them.")
    request = _request(args)
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.results.run_table import render
    from mm_eval.run import evaluate

    report = evaluate(request, progress=ProgressBar())
    if not report.silent:
        say_lines(render(report))
    return report.exit_code


def _release(args: argparse.Namespace) -> int:
    """Runs the models of a release file and prints one table; a model that fails leaves its column empty."""
    from dataclasses import replace

    from mm_eval.features.report.release.numbers import release_table
    from mm_eval.features.report.release.outcomes import Outcomes
    from mm_eval.features.report.release.page import write_release_page
    from mm_eval.features.report.release.plan import INTERRUPTED, at_a_time, check_models, read_release
    from mm_eval.features.report.release.text import as_markdown

    named = bool(args.tasks)
    args.tasks = args.tasks or "none"
    if args.model or args.model_args or args.name:
        what = "--model, --model_args and --name belong into the file of --config."
        raise ConfigError(what, hint="Give one or the other.")
    base = _request(args)
    release = read_release(args.config, base if named else replace(base, tasks=()))
    requests = release.chosen(args.only)
    parallel = at_a_time(requests, args.parallel or release.parallel)
    check_models(requests)
    found = Outcomes()
    run = _side_by_side if parallel > 1 else _in_turn
    run(requests, parallel, found)
    if found.exit_code == INTERRUPTED:
        found.leave_out(requests, "it was not run: the release was interrupted before it")
    for name, request in release.runs.items():
        if name not in requests:
            found.add_recorded(name, request)
    if found.runs or found.holes:
        found.runs.sort(key=lambda run: list(release.runs).index(run.name))
        table = release_table(found.runs, holes=found.holes, order=list(release.runs))
        say_lines(
            "\n"
            + as_markdown(table, intervals=True, categories=any(request.categories for request in requests.values()))
        )
        if found.runs:
            folder = Path(os.path.commonpath([run.folder.resolve().parent for run in found.runs]))
            say(f"page: {write_release_page(folder / 'release.html', table)}")
    return found.exit_code


def _in_turn(requests: Mapping[str, RunRequest], parallel: int, found: Outcomes) -> None:
    """Runs the models one after another in this process."""
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.features.report.release.outcomes import drive
    from mm_eval.features.report.release.plan import INTERRUPTED

    for name, request in requests.items():
        say(f"{name}: {request.output_path}")
        ended = drive(request, ProgressBar())
        found.add(name, ended, requests[name].include_path)
        for problem in ended.problems:
            say(f"  {problem}")
        if ended.exit_code == INTERRUPTED:
            break


def _side_by_side(requests: Mapping[str, RunRequest], parallel: int, found: Outcomes) -> None:
    """Runs the models in processes of their own, `parallel` at a time."""
    from mm_eval.features.report.release.drivers import Drivers
    from mm_eval.features.report.release.plan import INTERRUPTED, on_one_cluster
    from mm_eval.features.report.release.progress import ReleaseProgress

    progress = ReleaseProgress(list(requests))

    def end(name: str, ended: Ended) -> None:
        found.add(name, ended, requests[name].include_path)
        with progress.aside():
            say(f"{name}: {requests[name].output_path}")
            for problem in ended.problems:
                say(f"  {problem}")

    with on_one_cluster(requests) as placed:
        interrupted = Drivers(placed, parallel, progress, end).run()
    progress.draw(last=True)
    if interrupted:
        found.exit_code = INTERRUPTED


def _request(args: argparse.Namespace) -> RunRequest:
    return read_request(
        args,
        protocol=args.protocol,
        protocol_settings=args.protocol_settings,
        name=args.name,
        output_path=args.output_path,
        predict_only=args.predict_only,
        bootstrap_iters=args.bootstrap_iters,
        fail_on_error=args.fail_on_error,
        use_cache=args.use_cache,
        report=not args.no_report,
        categories=args.categories,
        budget=args.budget,
        prices=args.prices,
        **read_judges(args),
        **read_executor(args),
    )
