"""`rank_0_dies.py PHASE LOG ARGUMENTS...`: the command line with the slow model; rank 0 kills itself at a phase of the start."""

import importlib
import os
import runpy
import signal
import sys
from datetime import timedelta
from pathlib import Path

from mm_eval.engine import launch, ranks
from mm_eval.engine.model import Model

evaluate = importlib.import_module("mm_eval.run")


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


phase = sys.argv.pop(1)
launch.START = timedelta(seconds=5)
if os.environ["RANK"] == "0":
    if phase == "meeting":
        evaluate.processes = die
    elif phase == "data":
        evaluate.prepare = die
    elif phase == "weights":
        Model.prepare = die
    elif phase == "claim":
        ranks.clear_signs = die
    elif phase == "journal":
        evaluate._recorded = die
runpy.run_path(str(Path(__file__).parent.parent / "cli" / "slow_model.py"), run_name="__main__")
