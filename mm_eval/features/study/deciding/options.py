"""The options of `mm-eval run` that end a run when it is decided."""

from __future__ import annotations

import argparse
from typing import Any

from mm_eval.cli.options import add_option

VERBS = ("run",)


def add_options(parser: argparse.ArgumentParser) -> None:
    what = (
        "end the runs of a release (--config) when their comparisons are decided; the same command without it goes on"
    )
    add_option(parser, "stop_when", "decided", what)
    add_option(
        parser,
        "looks",
        "N",
        "after how many equal parts of the docs the comparisons are tested (default 20)",
        default=20,
    )
    what = "false alarms that are allowed over all comparisons and looks together (default 0.05)"
    add_option(parser, "alpha", "ALPHA", what, default=0.05)
    what = (
        "a comparison also ends when the difference is surely within this margin, in the table's unit (default: none)"
    )
    add_option(parser, "margin", "POINTS", what)
    what = "end the run when half of the main number's interval is at most this, in the table's unit"
    add_option(parser, "until_interval", "POINTS", what)


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of a request that the options state."""
    return {name: getattr(args, name) for name in ("stop_when", "looks", "alpha", "margin", "until_interval")}
