"""The sandbox in which code that a model writes is run.

    mm-eval sandbox make     makes its Python: pinned packages, once a machine
    mm-eval sandbox check    tries each wall from inside, and says which holds
                             and what the limits are kept by

Exit code 1: a wall does not hold."""

from __future__ import annotations

import argparse

from mm_eval.cli.options import read_pairs
from mm_eval.cli.say import say
from mm_eval.sandbox.check import Wall, check
from mm_eval.sandbox.interpreter import SandboxError
from mm_eval.sandbox.limits import WHERE, Limits
from mm_eval.sandbox.walls import otherwise, sandbox_of
from mm_eval.values.errors import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("make", "check"), help="make its Python, or try its walls")
    parser.add_argument(
        "--sandbox", metavar="KIND", help="bwrap (default), docker:IMAGE, podman:IMAGE, or none: no isolation at all"
    )
    parser.add_argument("--sandbox_args", metavar="K=V,...", default="", help="memory=MiB,processes=N,files=MiB")
    parser.add_argument("--offline", action="store_true", help="fetch no packages")


def main(args: argparse.Namespace) -> int:
    limits = Limits.of_options(read_pairs(args.sandbox_args, WHERE, typed=True) if args.sandbox_args else {})
    sandbox = sandbox_of(args.sandbox, limits, offline=args.offline, say=say)
    if args.what == "make":
        where = sandbox.environment.path if sandbox.environment else sandbox.image
        say(f"the sandbox is there: {sandbox.kind}, {where}, digest {sandbox.digest}")
        return 0
    try:
        walls, facts = check(sandbox)
    except SandboxError as error:
        raise ConfigError(error.what, where="--sandbox", hint=otherwise(sandbox)) from error
    width = max(len(name) for name in (*facts, *(wall.name for wall in walls)))
    for wall in walls:
        say(f"{'holds' if wall.holds else 'OPEN '}  {wall.name:<{width}}{_said(wall)}".rstrip())
    for name, what in facts.items():
        say(f"       {name:<{width}}  {what}")
    return 0 if all(wall.holds for wall in walls) else 1


def _said(wall: Wall) -> str:
    """What code inside has seen, where that says more than that the wall holds."""
    return "" if wall.said == "no" else f"  {wall.said}"
