"""Lists the named protocols: settings and scores of published reports.

A name prints that protocol in full, with the source of each setting. `check` checks all protocols, or those named after it,
against the tasks: every task exists, every setting is known, every prompt renders on the bundled sample data."""

from __future__ import annotations

import argparse

from mm_eval.cli.options import add_option
from mm_eval.cli.say import say_checks, say_report
from mm_eval.values.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="NAME", help="a protocol, or `check` and the protocols to check")
    add_option(parser, "include_path", "DIR", "a folder with protocols and tasks of your own")


def main(args: argparse.Namespace) -> int:
    from mm_eval.protocols.protocol_file import find_protocol, protocol_names, read_protocol
    from mm_eval.protocols.text import described, listed

    folders = [args.include_path] if args.include_path else []
    if args.words[:1] == ["check"]:
        from mm_eval.protocols.check import check_protocols

        return say_checks(check_protocols(args.words[1:], args.include_path))
    if len(args.words) > 1:
        raise ConfigError("one protocol at a time is printed.", hint="`mm-eval protocols check A B` checks several.")
    if args.words:
        say_report("\n".join(described(find_protocol(args.words[0], folders, where=""))))
        return 0
    say_report("\n".join(listed([read_protocol(file) for file in protocol_names(folders).values()])))
    return 0
