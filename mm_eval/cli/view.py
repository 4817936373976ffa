"""Serves run folders on this machine: the release page, each run's samples with the other runs' answers, pictures in full
size, and runs that still go on.

The address has a random token, and nothing is written into the folders. Ctrl-C ends it."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.options import add_option
from mm_eval.cli.say import say
from mm_eval.errors import ConfigError
from mm_eval.words import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders, also of runs that still go on")
    add_option(parser, "port", "N", "the port at 127.0.0.1 (default: a free one)", default=0)


def main(args: argparse.Namespace) -> int:
    from mm_eval.report.site.live import why_unreadable
    from mm_eval.report.site.server import serve

    folders = [Path(each) for each in args.runs if not (each.endswith(".html") and Path(each).is_file())]
    for folder in folders:
        if why := why_unreadable(folder):
            raise ConfigError(f"{why}.", where=str(folder), hint="Give the folder of a run.")
    if not folders:
        raise ConfigError("no run folder was named.", hint="mm-eval view runs/*")

    def said(address: str) -> None:
        say(f"{counted(len(folders), 'run')} at {address}")
        say("Only this machine can open it. Ctrl-C ends it.")

    try:
        serve(folders, args.port, said)
    except KeyboardInterrupt:
        say("ended")
    return 0
