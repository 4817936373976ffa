"""Evaluates a model on tasks, prints the table and leaves everything in a run folder.

The same command with the same --output_path goes on where it stopped."""

from __future__ import annotations

import argparse

from mm_eval.cli.options import add_model_options, add_store_options, add_task_options, read_request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tasks", required=True, metavar="A,B", help="tasks, groups, tags, globs, YAML files, name@format"
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
    request = read_request(
        args,
        output_path=args.output_path,
        predict_only=args.predict_only,
        bootstrap_iters=args.bootstrap_iters,
        fail_on_error=args.fail_on_error,
        use_cache=args.use_cache,
        report=not args.no_report,
    )
    from mm_eval.evaluate import evaluate
    from mm_eval.report.progress import Progress
    from mm_eval.report.table import render

    report = evaluate(request, progress=Progress())
    if not report.silent:
        print(render(report))
    return report.exit_code
