"""`dies_at.py TURN LOG ARGUMENTS...`: the command line, killed with SIGKILL when the answer of this turn has come; 0 for never.

LOG: a file that gets the slot of each question. An answer that was recorded is on the disk before the next one comes.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from mm_eval.cli import main
from mm_eval.engine.ask import Asker
from mm_eval.values.types import Instance


def die_at(turn: int, log: Path) -> None:
    """This process is killed at this turn."""
    whole_receive, asked = Asker._receive, 0

    def receive_or_die(self: Asker, instance: Instance, answer: Any) -> None:
        """The answer came; it is not recorded yet."""
        nonlocal asked
        asked += 1
        with log.open("a") as file:
            file.write(json.dumps(instance.slot.to_json()) + "\n")
        if asked == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        whole_receive(self, instance, answer)
        self.journal.drain()

    Asker._receive = receive_or_die  # type: ignore[method-assign]


if __name__ == "__main__":
    die_at(int(sys.argv.pop(1)), Path(sys.argv.pop(1)))
    sys.exit(main(sys.argv[1:]))
