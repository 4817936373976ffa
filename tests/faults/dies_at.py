"""`dies_at.py POINT LOG ARGUMENTS...`: the command line with the slow model, killed with SIGKILL at a point after the answers."""

import importlib
import os
import runpy
import sys
from pathlib import Path

from dying import die, die_before_files, die_while_samples_are_written

from mm_eval.engine.folder import RunFolder
from mm_eval.scoring.score_task import TaskScoring

point = sys.argv.pop(1)
if point == "answers":
    importlib.import_module("mm_eval.run")._score_and_write = die
elif point == "samples":
    die_while_samples_are_written()
elif point == "scoring":
    TaskScoring.aggregate = die
elif point in ("results", "thumbnails", "report"):
    assert RunFolder.write_lines.__globals__["os"] is os
    die_before_files([f"{point}.json", f"{point}.jsonl", f"{point}.html"])
runpy.run_path(str(Path(__file__).parent.parent / "cli" / "slow_model.py"), run_name="__main__")
