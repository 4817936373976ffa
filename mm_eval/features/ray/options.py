"""The options that say which processes answer."""

from __future__ import annotations

import argparse
from typing import Any

from mm_eval.cli.options import add_option
from mm_eval.request import EXECUTOR

VERBS = ("run", "prompts")


def add_options(parser: argparse.ArgumentParser) -> None:
    what = "workers on a cluster of Ray answer, each with the model (default: this process)"
    add_option(parser, "executor", "ray", what)
    what = "workers that load the model (default 1); more machines may join while they answer"
    add_option(parser, "workers", "N", what)
    what = "GPUs of a worker, or a share of one (default: 1 if the cluster has GPUs, else 0)"
    add_option(parser, "worker_gpus", "N", what)
    add_option(parser, "worker_cpus", "N", "CPUs of a worker (default 1)")
    what = "a worker that says nothing for so long while it loads or answers is replaced (default 1800)"
    add_option(parser, "worker_timeout", "SECONDS", what)
    what = "HOST:PORT of a cluster (env RAY_ADDRESS; without either one is started on this machine, for this run)"
    add_option(parser, "ray_address", "ADDRESS", what)


def read_options(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of a request that the options state."""
    return {name: getattr(args, name) for name in EXECUTOR}
