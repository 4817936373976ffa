"""Runs a tracker's library in a process of its own.

These libraries hold the state of one run in their module, print, and leave threads and exit handlers behind. In a process of its
own a training run that is logged by the same library is not disturbed, and a server that does not answer costs a note.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping

from mm_eval.values.errors import ConfigError, MMEvalError, kind_and_text
from mm_eval.values.types import Fields

SECONDS = 300.0
"""How long a tracker may take to get the values of a run."""
BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from mm_eval.trackers.process import main; main()"
OF_ANOTHER_RUN = ("WANDB_SERVICE", "WANDB_RUN_ID", "WANDB_RESUME", "WANDB_NAME", "MLFLOW_RUN_ID")
"""Variables by which a training run would take our values for its own."""
SERVERS = ("TRACKIO_SPACE_ID", "TRACKIO_SERVER_URL", "TRACKIO_DATASET_ID", "TRACKIO_BUCKET_ID")
"""Variables that name a server; with --offline they do not hold."""


class TrackerError(MMEvalError):
    """A tracker did not get the values. The results stand."""

    owner = "tracker"


def call(tracker: str, what: str, args: Mapping[str, object], tracked: Mapping[str, object] | None = None) -> str:
    """What a tracker's `check` or `send` returns. ConfigError for wrong arguments, TrackerError for any other failure."""
    message = json.dumps({"tracker": tracker, "do": what, "args": dict(args), "tracked": tracked})
    words = [sys.executable, "-c", BOOT, json.dumps(sys.path)]
    left_out = {*OF_ANOTHER_RUN, *(SERVERS if tracked and tracked["offline"] else ())}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    try:
        done = subprocess.run(
            words, input=message, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise TrackerError(f"{tracker} did not answer within {SECONDS:g} s.") from None
    lines = done.stdout.strip().splitlines()
    if not lines:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise TrackerError(f"the process of {tracker} ended ({done.returncode}): {last[:300]}")
    said = json.loads(lines[-1])
    if "wrong" in said:
        raise ConfigError(said["wrong"], where=f"--{tracker}_args", hint=said["hint"])
    if "failed" in said:
        raise TrackerError(f"{tracker}: {said['failed']}")
    return str(said["value"])


def main() -> None:
    """The child: reads one message, writes one line. What a library prints goes to the error stream."""
    message = json.load(sys.stdin)
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        said = {"value": _answer(message)}
    except ConfigError as error:
        said = {"wrong": error.what, "hint": error.hint}
    except Exception as error:  # a library, its server, its settings
        said = {"failed": kind_and_text(error).splitlines()[0]}
    with os.fdopen(answer, "w") as line:
        line.write(json.dumps(said) + "\n")


def _answer(message: Fields) -> str:
    from mm_eval.trackers.tracked import Tracked

    module = importlib.import_module(f"mm_eval.trackers.on_{message['tracker']}")
    if message["do"] == "check":
        module.check(message["args"])
        return ""
    return str(module.send(Tracked.from_json(message["tracked"]), message["args"]))
