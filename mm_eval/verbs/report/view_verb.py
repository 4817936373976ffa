"""Serves run folders on this machine: the release page, each run's samples with the other runs' answers, full-size pictures, and
live runs.

The address has a random token, and nothing is written into the folders. Ctrl-C ends it."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from mm_eval.cli.folders import add_code_option, named_or_last, run_folders
from mm_eval.cli.options import add_option
from mm_eval.cli.say import say
from mm_eval.config.arguments import Rule, is_count, whole_number
from mm_eval.values.words import counted

READS_FOLDERS = True
PORT = Rule("a port from 0 to 65535", lambda value: is_count(value, 0, 65_535), whole_number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="run folders, also of live runs, or that of a release or a training (default: the newest one below ./runs)",
    )
    add_option(parser, "port", "N", "the port at 127.0.0.1 (default: a free one)", default=0, rule=PORT)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.file import read_run
    from mm_eval.verbs.report.site.server import serve

    args.runs = named_or_last(args.runs)
    folders = list(map(Path, run_folders(args.runs)))
    for folder in folders:
        read_run(folder)  # an error is said before anything is served

    def said(address: str) -> None:
        say(f"{counted(len(folders), 'run')} at {address}")
        say("Only this machine can open it. Ctrl-C ends it.")

    def end(signal_number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for each in (signal.SIGTERM, signal.SIGHUP):  # without a handler they end Python before the pages are removed
        signal.signal(each, end)
    try:
        serve(folders, args.port, said, args.include_path, lambda: list(map(Path, run_folders(args.runs))))
    except KeyboardInterrupt:
        say("ended")
    return 0
