"""The recorded tools of a run.

    mm-eval tools replay RUN   runs recorded Python again; what differs?

Exit code 1: a result is another one, or a call could not be made again."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.options import read_pairs
from mm_eval.cli.say import say
from mm_eval.values.errors import ConfigError
from mm_eval.values.words import counted

READS_FOLDERS = True
SHOWN = 20
"""Calls that are listed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("replay",), help="run the recorded code again")
    parser.add_argument("run", metavar="RUN", help="a run folder")
    parser.add_argument("--sandbox", metavar="KIND", help="bwrap (default), docker:IMAGE or podman:IMAGE")
    parser.add_argument(
        "--sandbox_args", metavar="K=V,...", default="", help="memory=MiB,processes=N,files=MiB,seconds=N"
    )
    parser.add_argument("--offline", action="store_true", help="fetch no packages")


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.file import read_run
    from mm_eval.sandbox.check import refuse_if_open
    from mm_eval.sandbox.interpreter import SandboxError
    from mm_eval.sandbox.limits import WHERE, Limits
    from mm_eval.sandbox.walls import NONE, sandbox_of
    from mm_eval.tools.replay import conversations, replay

    folder = Path(args.run)
    recorded = read_run(folder)["spec"].get("sandbox")
    if args.sandbox == NONE:
        what = "code of a run folder is run in a sandbox only."
        raise ConfigError(what, where="--sandbox", hint="Leave it out for bubblewrap.")
    chains = conversations(folder)
    if not chains:
        raise ConfigError("the run has recorded no code.", where=str(folder))
    limits = Limits.of_options(read_pairs(args.sandbox_args, WHERE, typed=True) if args.sandbox_args else {})
    sandbox = sandbox_of(args.sandbox, limits, offline=args.offline, say=say)
    refuse_if_open(sandbox)
    if recorded != sandbox.to_json():
        say("note: the run used a different sandbox or different limits from this replay")
    made = differing = left_out = 0
    try:
        for each in replay(folder, sandbox, chains):
            made += each.made
            left_out += not each.made
            differing += each.made and bool(each.how)
            if each.how and differing + left_out <= SHOWN:
                slot = each.record.slot
                said = each.how if each.made else f"not made again: {each.how}"
                say(f"{slot.task} doc {slot.doc_id}, call {each.record.call + 1}: {said}")
    except SandboxError as error:
        raise ConfigError(error.what, where="--sandbox", hint=error.hint) from error
    if differing + left_out > SHOWN:
        say(f"... and {differing + left_out - SHOWN:,} more")
    same = counted(differing, "result differs", "results differ") if differing else "all results are the recorded ones"
    if left_out and not differing:
        same = "none of their results differs"
    rest = f"; {counted(left_out, 'call was', 'calls were')} not made again" if left_out else ""
    say(f"{counted(made, 'call')} of {counted(len(chains), 'conversation')} made again: {same}{rest}")
    return 1 if differing or left_out else 0
