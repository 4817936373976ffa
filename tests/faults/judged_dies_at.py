"""`judged_dies_at.py POINT ARGUMENTS...`: the command line, killed with SIGKILL at a point of a judged run.

POINT: answers (all are there, no verdict), verdictN (the Nth verdict came and is not written), verdicts (all are there), samples,
scoring, results; empty for none.
"""

import importlib
import os
import signal
import sys
from pathlib import Path

from mm_eval.cli import main
from mm_eval.engine.ask import Asker
from mm_eval.scorers.score_task import TaskScoring

point = sys.argv.pop(1)
run = importlib.import_module("mm_eval.run")
whole_samples, whole_replace, whole_record = TaskScoring.samples, os.replace, Asker._record
verdicts = 0


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def samples_then_die(self: TaskScoring, doc_ids: list[int]):
    for number, row in enumerate(whole_samples(self, doc_ids)):
        if number == 5:
            die()
        yield row


def record_or_die(self: Asker, key: str, instances: list, answer: object) -> object:
    global verdicts
    if "#judge" in instances[0].task:
        verdicts += 1
        if point == f"verdict{verdicts}":
            die()
    return whole_record(self, key, instances, answer)


def replace_or_die(source: str, target: Path) -> None:
    if Path(target).name == "results.json":
        die()
    whole_replace(source, target)


if point == "answers":
    run.ask_judges = die
elif point == "verdicts":
    run._report = die
elif point.startswith("verdict"):
    Asker._record = record_or_die
elif point == "samples":
    TaskScoring.samples = samples_then_die
elif point == "scoring":
    TaskScoring.aggregate = die
elif point == "results":
    os.replace = replace_or_die
sys.exit(main(sys.argv[1:]))
