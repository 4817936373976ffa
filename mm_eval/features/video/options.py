"""The option of each verb with a model that says which frames of a video are shown."""

from __future__ import annotations

import argparse
from typing import Any

from mm_eval.cli.options import add_option

VERBS = ("model",)


def add_options(parser: argparse.ArgumentParser, several: bool = False) -> None:
    """several: the rules are compared."""
    what = "the frames that are shown of a video: frames=32 or fps=2,min=4,max=768; with ends, starts, middle or inside"
    if several:
        what += "; given more than once, the rules are compared"
    what += " (default: the prompt block's, else the model's own, else frames=8,ends)"
    add_option(parser, "video", "RULE", what, action="append" if several else "store")


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """The field of a request that the option states."""
    return {"video": args.video}
