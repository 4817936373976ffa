"""`echo.py FOLDER COUNT [OPTIONS]`: a run of the engine alone, in a process that can die.

Every call is noted in FOLDER/calls and every acknowledgement in FOLDER/acknowledged, so that a test can count what was lost
and what was asked twice. At the K-th acknowledgement the process kills itself with SIGKILL.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from mm_eval.engine.ask import Asker
from mm_eval.engine.journal import Journal, mend_torn_tails, read_journal
from mm_eval.engine.model import Model, ModelSettings
from mm_eval.engine.outcome import StopSignal
from mm_eval.values.types import Answer, Instance

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("count", type=int)
parser.add_argument("--in_flight", type=int, default=4)
parser.add_argument("--kill_at", type=int, default=0)
parser.add_argument("--share", default="0/1")
parser.add_argument("--delay", type=float, default=0.0)
args = parser.parse_args()
args.folder.mkdir(parents=True, exist_ok=True)
calls = os.open(args.folder / "calls", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
acknowledged = os.open(args.folder / "acknowledged", os.O_CREAT | os.O_WRONLY | os.O_APPEND)


class Echo(Model):
    """Answers with the question, a few in flight."""

    def generate(self, instances):
        flying = []
        for instance in instances:
            os.write(calls, f"{instance.doc_id}\n".encode())
            flying.append(instance)
            if len(flying) == args.in_flight:
                time.sleep(args.delay)
                first = flying.pop(0)
                yield first, Answer(f"echo {first.context}")
        for instance in flying:
            yield instance, Answer(f"echo {instance.context}")


class Noting(Journal):
    """A journal that notes on disk which docs it acknowledged."""

    noted = 0

    def put(self, record, acknowledge=lambda: None):
        def note() -> None:
            os.write(acknowledged, f"{record['slots'][0][1]}\n".encode())
            self.noted += 1
            if self.noted == args.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            acknowledge()

        super().put(record, note)


rank, ranks = map(int, args.share.split("/"))
mend_torn_tails(args.folder)
journal = Noting(args.folder)
instances = (
    Instance("generate_until", "t", n, {}, context=f"question {n}") for n in range(args.count) if n % ranks == rank
)
with StopSignal().listening() as stop:
    outcome = Asker(Echo({}, ModelSettings()), journal, read_journal(args.folder), stop).ask(instances)
journal.close()
sys.exit(130 if outcome.interrupted else 0)
