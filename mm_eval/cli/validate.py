"""Checks task configs completely, without a model: every name and function, the data, each doc's prompt, and that the gold
answers score full marks."""

from __future__ import annotations

import argparse

from mm_eval.cli.options import add_task_options, read_task_request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tasks", metavar="TASKS", help="tasks or groups, with commas")
    add_task_options(parser)
    parser.add_argument("--prompt_key", metavar="KEY", help="the block of model_specific_prompt_kwargs to check with")


def main(args: argparse.Namespace) -> int:
    from mm_eval.validation import validate

    failed = 0
    for finding in validate(read_task_request(args, prompt_key=args.prompt_key)):
        failed += not finding.ok
        print(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.task}: {finding.text}", flush=True)
    return 2 if failed else 0
