"""`dies_at.py POINT LOG ARGUMENTS...`: the command line with the slow model, killed with SIGKILL at a point after the answers."""

import importlib
import os
import runpy
import signal
import sys
from pathlib import Path

from mm_eval.engine.folder import RunFolder
from mm_eval.scorers.score_task import TaskScoring


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def samples_then_die(self: TaskScoring, doc_ids: list[int]):
    for number, row in enumerate(whole_samples(self, doc_ids)):
        if number == 5:
            die()
        yield row


def replace_or_die(source: str, target: Path) -> None:
    """Dies with the file written beside its place: results.json, the pack of thumbnails, or report.html."""
    if Path(target).name in (f"{point}.json", f"{point}.jsonl", f"{point}.html"):
        die()
    whole_replace(source, target)


point = sys.argv.pop(1)
whole_samples, whole_replace = TaskScoring.samples, os.replace
if point == "answers":
    importlib.import_module("mm_eval.run")._report = die
elif point == "samples":
    TaskScoring.samples = samples_then_die
elif point == "scoring":
    TaskScoring.aggregate = die
elif point in ("results", "thumbnails", "report"):
    assert RunFolder.write_lines.__globals__["os"] is os
    os.replace = replace_or_die
runpy.run_path(str(Path(__file__).parent.parent / "cli" / "slow_model.py"), run_name="__main__")
