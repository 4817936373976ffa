"""kill -9 of a worker at a request of which no worker died before: two deaths at one request are that request's fault."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path


def noted(log: Path, kind: str) -> list[tuple[int, str]]:
    """(pid, what) of each note of a kind that the workers' models have written."""
    rows = [line.split(" ", 2) for line in log.read_text().splitlines()] if log.exists() else []
    return [(int(row[0]), row[2]) for row in rows if len(row) == 3 and row[1] == kind]


def kill_a_worker(process: subprocess.Popen[bytes], log: Path) -> int:
    """Kills the worker that took the last request, if nobody took it before; else waits for another one. Returns its pid.

    The worker is halted for the look at what it has under way. process: the command; AssertionError once it has ended.
    """
    while process.poll() is None:
        time.sleep(0.02)
        pid = noted(log, "ask")[-1][0]
        with suppress(ProcessLookupError):  # it was killed before, and nobody has taken a request since
            os.kill(pid, signal.SIGSTOP)
            takers: dict[str, list[int]] = {}
            for taker, what in noted(log, "ask"):
                takers.setdefault(what, []).append(taker)
            under_way = [found for found in takers.values() if pid in found][-1]
            if under_way == [pid]:
                os.kill(pid, signal.SIGKILL)
                return pid
            os.kill(pid, signal.SIGCONT)
    raise AssertionError(process.communicate())
