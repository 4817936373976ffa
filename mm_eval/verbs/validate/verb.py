"""Checks task configs completely, without a model: every name and function, the data, each document's prompt, and that the gold
answers score full marks and wrong ones do not. With --model: requests some documents at batch 1, at the real batch and in two
shards, and lists every answer that differs."""

from __future__ import annotations

import argparse

from mm_eval.cli.options import add_options, read_request
from mm_eval.cli.say import say, say_checks
from mm_eval.values.errors import ConfigError
from mm_eval.values.words import of_all

SAMPLES = 16
"""Docs of each task that are requested with --model and without --limit."""


NOT_SHOWN = ("batch_size", "device", "on_long_prompt", "reasoning_tags", "blind", "seed")
"""Options that are read and decide nothing here: the help leaves them out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", nargs="?", metavar="TASKS", help="tasks or groups, with commas")
    parser.add_argument("--tasks", dest="named_tasks", metavar="TASKS", help="the same")
    parser.add_argument(
        "--imports",
        action="store_true",
        help="only load the configs and import their functions: of TASKS, else of all tasks of --include_path",
    )
    add_options(parser, "tasks", "model")


def main(args: argparse.Namespace) -> int:
    if args.imports and args.tasks is None and args.named_tasks is None:
        return _imports([], args.include_path)
    if (args.tasks is None) == (args.named_tasks is None):
        raise ConfigError("validate needs tasks, stated once.", hint="Write mm-eval validate mme,seedbench.")
    args.tasks = args.tasks or args.named_tasks
    if args.imports:
        return _imports(args.tasks.split(","), args.include_path)
    if args.model or args.model_args:
        return _invariance(args)
    from mm_eval.verbs.validate.check import validate

    return say_checks(validate(read_request(args, "tasks", prompt_key=args.prompt_key)))


def _imports(names: list[str], include_path: str | None) -> int:
    from mm_eval.gold_checks.imports import check_imports

    report = check_imports(names, include_path)
    for line in report.lines():
        say(line)
    return 2 if report.reasons else 0


def _invariance(args: argparse.Namespace) -> int:
    from mm_eval.verbs.validate.check import invariance

    if args.limit is None and args.samples is None:
        args.limit = SAMPLES
    failed = 0
    for found in invariance(read_request(args, "tasks", "model")):
        count = len(found.differences)
        failed += count
        say(
            f"{'FAIL' if count else 'ok  '}  {found.way}: "
            f"{of_all(count, found.answers, 'answer', 'differs', 'differ')} from batch 1;"
            f" log-likelihoods by at most {found.worst:.1e} nats"
        )
        for difference in found.differences:
            say(f"      {difference}")
    return 2 if failed else 0
