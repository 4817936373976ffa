"""`rank_0_dies.py PHASE LOG ARGUMENTS...`: the command line with the slow model; rank 0 kills itself at a phase of the start."""

import importlib
import os
import runpy
import signal
import sys
from pathlib import Path

from mm_eval.engine.folder import RunFolder
from mm_eval.engine.model import Model

evaluate = importlib.import_module("mm_eval.run")


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


phase = sys.argv.pop(1)
if os.environ["RANK"] == "0":
    if phase == "meeting":
        evaluate.processes = die
    elif phase == "data":
        evaluate.prepare = die
    elif phase == "weights":
        Model.prepare = die
    elif phase == "claim":
        RunFolder.claim = die
    elif phase == "journal":
        evaluate._read_journal = die
runpy.run_path(str(Path(__file__).parent.parent / "cli" / "slow_model.py"), run_name="__main__")
