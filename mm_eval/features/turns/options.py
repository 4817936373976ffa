"""The option `--turns` of `mm-eval show`."""

from __future__ import annotations

import argparse
from typing import Any

VERBS = ("show",)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What a scripted model answers in a conversation."""
    what = "a whole conversation, in which a scripted model gives these answers in order (default: made-up ones)"
    parser.add_argument("--turns", nargs="*", metavar="ANSWER", help=what)


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """No field of a request."""
    return {}
