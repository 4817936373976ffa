"""The options of `mm-eval run` and `mm-eval score` about judges."""

from __future__ import annotations

import argparse
from typing import Any

from mm_eval.cli.options import add_option, read_pairs

VERBS = ("run", "score")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Which judges grade the answers of judged tasks. --judge and --judge_args may be given more than once, in pairs."""
    more: dict[str, Any] = {"action": "append", "default": []}
    add_option(parser, "judge", "NAME", "the model that grades the answers of judged tasks (openai, hf, ...)", **more)
    what = "model=...,base_url=...; or JSON; name=NAME names the judge"
    parser.add_argument("--judge_args", metavar="K=V,...", help=what, **more)
    what = "go without the numbers that need a judge; their rows say so"
    parser.add_argument("--no_judge", action="store_true", help=what)
    what = "how often a reply that can't be read is asked for again (default 2)"
    add_option(parser, "judge_retries", "N", what, default=2)
    add_option(
        parser, "judge_budget", "DOLLARS", "the most that the verdicts may cost; checked before and during the run"
    )
    what = "try the judge on a gold and an empty answer before the run (default true)"
    add_option(parser, "judge_preflight", "BOOL", what, default=True)


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of a request that the options state."""
    return {
        "judge": tuple(args.judge),
        "judge_args": tuple(read_pairs(given, "--judge_args") for given in args.judge_args),
        "no_judge": args.no_judge,
        "judge_retries": args.judge_retries,
        "judge_budget": args.judge_budget,
        "judge_preflight": args.judge_preflight,
    }
