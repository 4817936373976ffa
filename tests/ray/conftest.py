"""A cluster of several nodes on this machine, and commands that use it. Skipped without Ray, which .ci/ray installs."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.folders import results_of
from tests.processes import HANGS
from tests.ray.kills import kill_a_worker, noted

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **os.environ,
    "COLUMNS": "1000",  # a sentence stands in one line, wherever the tests run
    "PYTHONPATH": str(ROOT),
    "OMP_NUM_THREADS": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "HF_HUB_OFFLINE": "1",
}


@dataclass
class Nodes:
    """The cluster: a head without CPUs and nodes that come and go."""

    cluster: Any
    nodes: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add(self, cpus: int = 1) -> Any:
        self.nodes.append(self.cluster.add_node(num_cpus=cpus, object_store_memory=100 * 2**20))
        return self.nodes[-1]

    def remove(self, node: Any) -> None:
        """As if the machine lost its power."""
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)

    def free_cpus(self) -> float:
        """CPUs that no worker holds."""
        script = (
            "import ray, sys, logging; ray.init(sys.argv[1], log_to_driver=False, logging_level=logging.ERROR); "
            "print(ray.available_resources().get('CPU', 0))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, self.address], env=ENVIRONMENT, capture_output=True, text=True, timeout=HANGS
        )
        return float(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    pytest.importorskip("ray")
    os.environ.update(ENVIRONMENT)
    os.makedirs("/tmp/ray", exist_ok=True)
    folder = tempfile.mkdtemp(prefix="mm")
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "object_store_memory": 100 * 2**20, "temp_dir": folder, "include_dashboard": False}
    found = Nodes(Cluster(initialize_head=True, head_node_args=head))
    found.add(1)
    found.add(1)
    try:
        yield found
    finally:
        found.cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Command:
    """A command under way. log: what the workers' models noted."""

    process: subprocess.Popen
    folder: Path
    log: Path

    def noted(self, kind: str) -> list[tuple[int, str]]:
        """(pid, what) of each note of a kind."""
        return noted(self.log, kind)

    def wait_for(self, requests: int, seconds: float = HANGS) -> None:
        end = time.monotonic() + seconds
        while len(self.noted("ask")) < requests:
            assert self.process.poll() is None and time.monotonic() < end, self.process.communicate()
            time.sleep(0.02)

    def kill_a_worker(self) -> int:
        """As `kills.kill_a_worker`."""
        return kill_a_worker(self.process, self.log)

    def end(self, code: int = 0, seconds: float = HANGS) -> str:
        out, err = self.process.communicate(timeout=seconds)
        assert self.process.returncode == code, out + err
        assert "Traceback" not in err
        return out + err

    @property
    def results(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "results.json").read_text())
        return found

    def content(self) -> dict[str, Any]:
        """What must not depend on who answered: results without `run`, and samples."""
        samples = {path.name: path.read_text() for path in sorted((self.folder / "samples").iterdir())}
        return {"results": results_of(self.folder), **samples}

    def answers(self) -> list[dict[str, Any]]:
        """The records of the journal."""
        lines = [line for path in (self.folder / "journal").glob("*.jsonl") for line in path.read_text().splitlines()]
        return [json.loads(line) for line in lines]


def _hears_interrupts() -> None:
    """Tests that a script starts in the background inherit a SIGINT that is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def start(tmp_path: Path, nodes: Nodes) -> Iterator[Callable[..., Command]]:
    """Starts `mm-eval ARGUMENTS`, with workers on the cluster unless workers=0."""
    begun: list[Command] = []

    def run(*arguments: object, workers: int = 2, name: str = "run", **model_args: object) -> Command:
        folder, log = tmp_path / name, tmp_path / f"{name}-{len(begun)}.log"
        words = list(map(str, arguments))
        if "--model" not in words:
            pairs = {"log": log, **model_args}
            words += ["--model", "scripted", "--model_args", ",".join(f"{k}={v}" for k, v in pairs.items())]
        if workers:
            words += ["--executor", "ray", "--workers", str(workers), "--ray_address", nodes.address]
        if "--output_path" not in words:
            words += ["--output_path", str(folder)]
        words += ["--sample"] if words[0] == "prompts" else ["--sample", "--no_report"]
        command = [sys.executable, "-m", "tests.ray", *words]
        process = subprocess.Popen(
            command,
            env=ENVIRONMENT,
            cwd=ROOT,
            text=True,
            preexec_fn=_hears_interrupts,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        begun.append(Command(process, folder, log))
        return begun[-1]

    yield run
    for command in begun:
        if command.process.poll() is None:
            command.process.kill()
            command.process.wait()
