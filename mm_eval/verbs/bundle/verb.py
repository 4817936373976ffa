"""Copies the data sets of tasks to a data root, for a machine without network. Prints their number and sizes first.

Use it there with --data_root DIR --offline. Data sets that are there already are skipped."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.options import add_options, option, read_request
from mm_eval.cli.say import say
from mm_eval.config.arguments import PATH
from mm_eval.values.errors import StoreError, kind_and_text
from mm_eval.values.words import counted

if TYPE_CHECKING:
    from mm_eval.verbs.bundle.copying import Bundled

NOT_SHOWN = ("num_fewshot", "limit", "samples")
"""Options that are read and decide nothing here: the help leaves them out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dir",
        type=option("dir", PATH),
        metavar="DIR",
        help="the data root to fill; data sets are written to DIR/org/name",
    )
    parser.add_argument("--tasks", required=True, metavar="A,B", help="tasks, groups, tags, globs, YAML files")
    add_options(parser, "tasks")


def _written(copied: Iterator[Bundled], folder: str) -> Iterator[Bundled]:
    """The data sets as they are copied. StoreError where a disk is full or read-only."""
    try:
        yield from copied
    except OSError as error:
        what = f"the data can't be written: {error.strerror or kind_and_text(error)}."
        hint = "Make room or choose another folder; the same command copies what is missing."
        raise StoreError(what, where=str(error.filename or folder), hint=hint) from error


def main(args: argparse.Namespace) -> int:
    from mm_eval.verbs.bundle.copying import Bundle

    bundle = Bundle(read_request(args, "tasks"), Path(args.dir))
    say(str(bundle))
    for each in _written(bundle.copied(), args.dir):
        say(f"{each.task}: {each.dataset}, {counted(each.docs, 'document')}, sha256 {each.fingerprint[:16]}")
    say(f"use it with: --data_root {args.dir} --offline")
    return 0
