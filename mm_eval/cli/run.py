"""Evaluates a model on tasks, prints the table and leaves everything in a run folder.

The same command with the same --output_path goes on where it stopped."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mm_eval.cli.options import add_model_options, add_store_options, add_task_options, read_request
from mm_eval.cli.say import say, say_lines
from mm_eval.errors import ConfigError

if TYPE_CHECKING:
    from mm_eval.request import RunRequest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="A,B", help="tasks, groups, tags, globs, YAML files, name@format")
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="several models from one YAML file: `models:`, `tasks:` and options of this command",
    )
    add_model_options(parser)
    add_task_options(parser)
    add_store_options(parser)
    parser.add_argument("--predict_only", action="store_true", help="ask and record, score nothing")
    parser.add_argument("--no_report", action="store_true", help="write no report.html and no thumbnails")
    parser.add_argument(
        "--bootstrap_iters", type=int, default=100_000, metavar="N", help="draws for corpus metrics; 0: none"
    )


def main(args: argparse.Namespace) -> int:
    if args.config:
        return _release(args)
    if not args.tasks:
        raise ConfigError("no task is named: --tasks is needed.", hint="`mm-eval ls tasks` lists them.")
    request = _request(args)
    from mm_eval.evaluate import evaluate
    from mm_eval.report.progress import Progress
    from mm_eval.report.table import render

    report = evaluate(request, progress=Progress())
    if not report.silent:
        say_lines(render(report))
    return report.exit_code


def _release(args: argparse.Namespace) -> int:
    """Runs every model of a release file, a failing one no hindrance to the next, and prints the table of all."""
    from dataclasses import replace

    from mm_eval.evaluate import evaluate
    from mm_eval.release import read_release
    from mm_eval.report.progress import Progress
    from mm_eval.report.recorded import RecordedRun
    from mm_eval.report.release import as_markdown, release_table

    named = bool(args.tasks)
    args.tasks = args.tasks or "none"
    if args.model or args.model_args:
        raise ConfigError("--model and --model_args stand in the file of --config.", hint="Give one or the other.")
    base = _request(args)
    requests = read_release(args.config, base if named else replace(base, tasks=()))
    code, runs = 0, []
    for name, request in requests.items():
        say(f"{name}: {request.output_path}")
        report = evaluate(request, progress=Progress())
        code = max(code, report.exit_code)
        if report.silent:
            continue
        for problem in report.problems:
            say(f"  {problem}")
        if report.results:
            runs.append(RecordedRun.read(report.folder, name))
        if report.exit_code == 130:
            break
    if runs:
        say_lines("\n" + as_markdown(release_table(runs), intervals=True))
    return code


def _request(args: argparse.Namespace) -> RunRequest:
    return read_request(
        args,
        output_path=args.output_path,
        predict_only=args.predict_only,
        bootstrap_iters=args.bootstrap_iters,
        fail_on_error=args.fail_on_error,
        use_cache=args.use_cache,
        report=not args.no_report,
    )
