"""The kills of the tests and of benchmarks/cluster.py never draw one request twice. Needs no Ray."""

import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.processes import HANGS
from tests.ray.kills import kill_a_worker


def test_a_request_at_which_a_worker_died_is_not_drawn_again(tmp_path: Path) -> None:
    """Two deaths at one request fail it, exit code 3, though nothing is wrong with mm-eval."""
    log = tmp_path / "log"
    command, worker, dead = (
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdout=-1, stderr=-1) for _ in range(3)
    )
    try:
        dead.kill(), dead.wait()
        log.write_text(f"{dead.pid} ask mme:1\n{worker.pid} ask mme:1\n")
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(kill_a_worker(command, log)))
        thread.start()
        time.sleep(1)
        assert worker.poll() is None and not found, "the worker has a request under way that was asked before"
        with log.open("a") as file:
            file.write(f"{worker.pid} ask mme:2\n")
        thread.join(HANGS)
        assert found == [worker.pid] and worker.wait(HANGS) == -9
    finally:
        for process in (command, worker):
            process.kill()
            process.communicate()
