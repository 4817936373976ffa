"""`judged_dies_at.py POINT ARGUMENTS...`: the command line, killed with SIGKILL at a point of a judged run.

POINT: answers (all are there, no verdict), verdictN (the Nth verdict came and is not written), verdicts (all are there), samples,
scoring, results; empty for none.
"""

import importlib
import sys

from dying import die, die_before_files, die_while_samples_are_written

from mm_eval.cli import main
from mm_eval.engine.ask import Asker
from mm_eval.scoring.score_task import TaskScoring

point = sys.argv.pop(1)
run = importlib.import_module("mm_eval.run")
whole_record = Asker._record
verdicts = 0


def record_or_die(self: Asker, key: str, instances: list, *others: object, **named: object) -> object:
    global verdicts
    if instances[0].judge:
        verdicts += 1
        if point == f"verdict{verdicts}":
            die()
    return whole_record(self, key, instances, *others, **named)


if point == "answers":
    importlib.import_module("mm_eval.judge.judging").ask_judges = die
elif point == "verdicts":
    run._score_and_write = die
elif point.startswith("verdict"):
    Asker._record = record_or_die
elif point == "samples":
    die_while_samples_are_written()
elif point == "scoring":
    TaskScoring.aggregate = die
elif point == "results":
    die_before_files(["results.json"])
sys.exit(main(sys.argv[1:]))
