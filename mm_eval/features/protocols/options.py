"""The options that put a run, or a prompt that is shown, under a named protocol."""

from __future__ import annotations

import argparse
from typing import Any

from mm_eval.cli.options import add_option

VERBS = ("run", "show")


def add_options(parser: argparse.ArgumentParser) -> None:
    what = "a named protocol of a report: its prompts, generation, pictures and judge, unless an option states another"
    add_option(parser, "protocol", "NAME", f"{what} (`mm-eval protocols` lists them)")
    add_option(parser, "protocol_settings", "A,B", "only these settings of the protocol, such as prompt,gen_kwargs")


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of a request that the options state."""
    return {"protocol": args.protocol, "protocol_settings": args.protocol_settings}
