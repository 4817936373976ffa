"""Peak memory of a run, without what is only mapped from the data files: the system can drop those pages at any time.

    python benchmarks/memory.py mm-eval's OPTIONS ...

Prints {"peak": kB}: the largest RssAnon of the process, read every 20 ms by a thread.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from pathlib import Path

from mm_eval.cli import main


def anonymous() -> int:
    """kB of memory that belongs to this process alone."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    raise SystemExit("this system does not tell RssAnon")


if __name__ == "__main__":
    peak, done = 0, threading.Event()

    def watch() -> None:
        global peak
        while not done.wait(0.02):
            peak = max(peak, anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    with contextlib.redirect_stdout(sys.stderr):
        code = main(sys.argv[1:])
    done.set()
    watcher.join()
    if code:
        raise SystemExit(code)
    print(json.dumps({"peak": peak}))
