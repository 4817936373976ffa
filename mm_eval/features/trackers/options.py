"""The options of `mm-eval run` and `mm-eval score` about trackers."""

from __future__ import annotations

import argparse
from typing import Any

from mm_eval.cli.options import read_pairs
from mm_eval.request import TRACKERS

VERBS = ("run", "score")
EXAMPLES = {
    "wandb_args": "project=...,entity=...: log to Weights & Biases (arguments of wandb.init)",
    "mlflow_args": "experiment=...,tracking_uri=...: log to MLflow",
    "trackio_args": "project=...,space_id=...: log to Trackio (arguments of trackio.init)",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the numbers go beside the run folder: with intervals, the table and the page."""
    for name in TRACKERS:
        parser.add_argument(f"--{name}", metavar="K=V,...", nargs="?", const="", help=EXAMPLES[name])


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of a request that the options state."""
    given = {name: getattr(args, name) for name in TRACKERS}
    return {name: None if text is None else read_pairs(text, f"--{name}", typed=True) for name, text in given.items()}
