"""Downloads, checks and converts the data set of a task that can't be loaded by name, by its authors' recipe.

The same command continues where it stopped. Without network, and with --offline, it prints the recipe. `mm-eval bundle` copies
data sets of the hub."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.options import option
from mm_eval.cli.say import say
from mm_eval.config.arguments import PATH
from mm_eval.values.words import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="a task, whose data set is fetched")
    parser.add_argument(
        "dir",
        type=option("dir", PATH),
        metavar="DIR",
        help="the data root to fill; the data set is written to DIR/org/name",
    )
    parser.add_argument("--offline", action="store_true", help="only print the recipe")


def main(args: argparse.Namespace) -> int:
    from mm_eval.verbs.fetch.recipe import Recipe, Unreachable

    recipe = Recipe.of_task(args.task, Path(args.dir))
    if args.offline:
        for line in recipe.lines():
            say(line)
        return 0
    try:
        docs = recipe.follow(say)
    except Unreachable:
        for line in recipe.lines():
            say(line)
        raise
    say(f"{args.task}: {counted(docs, 'document')} in {recipe.folder}; use it with --data_root {args.dir}")
    return 0
