"""The options of the verbs that ask a recorded run again otherwise."""

from __future__ import annotations

import argparse

from mm_eval.cli.folders import add_code_option, add_format_option, add_trust_option
from mm_eval.cli.options import add_option
from mm_eval.config.arguments import WHOLE_FROM_0


def add_trial_options(parser: argparse.ArgumentParser, docs: str, output_path: str) -> None:
    """--tasks, --docs, --output_path, --format, --include_path and --trust_run. docs, output_path: their help."""
    parser.add_argument("--tasks", metavar="A,B", help="only these tasks and groups of the run")
    add_option(parser, "docs", "N", docs, rule=WHOLE_FROM_0)
    add_option(parser, "output_path", "DIR", output_path)
    add_format_option(parser)
    add_code_option(parser)
    add_trust_option(parser)
