"""`dies_at.py TURN LOG ARGUMENTS...`: the command line, killed with SIGKILL when the answer of this turn has come; 0 for never.

LOG: a file that gets the slot of each question. An answer that was recorded is on the disk before the next one comes.
"""

import json
import os
import signal
import sys
from pathlib import Path

from mm_eval.cli import main
from mm_eval.engine.ask import Asker

turn, log = int(sys.argv.pop(1)), Path(sys.argv.pop(1))
whole_receive = Asker._receive
asked = 0


def receive_or_die(self: Asker, instance: object, answer: object) -> None:
    """The answer came; it is not recorded yet."""
    global asked
    asked += 1
    slot = instance.slot.to_json()
    with log.open("a") as file:
        file.write(json.dumps(slot) + "\n")
    if asked == turn:
        os.kill(os.getpid(), signal.SIGKILL)
    whole_receive(self, instance, answer)
    self.journal.drain()


Asker._receive = receive_or_die
sys.exit(main(sys.argv[1:]))
