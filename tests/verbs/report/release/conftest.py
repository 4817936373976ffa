"""A model that takes its time, notes each call and can die, installed beside the repository as a user's own package is."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

MODEL = '''
import os, signal, time
from mm_eval.engine.model import Model
from mm_eval.errors import ModelError
from mm_eval.types import Answer

class Slow(Model):
    """log: a file that gets a line a call. seconds: of each. dies, fails: the number of the call at which it does."""

    def generate(self, instances):
        for number, instance in enumerate(instances):
            with open(self.args["log"], "a") as log:
                log.write(f"{instance.task} {instance.doc_id}\\n")
            time.sleep(float(self.args.get("seconds", 0)))
            if self.args.get("dies") == str(number):
                os.kill(os.getpid(), signal.SIGKILL)
            failed = self.args.get("fails") == str(number)
            yield instance, ModelError("refused") if failed else Answer("Yes")

    def identity(self, instance):
        return {**super().identity(instance), "args": {}}

    def describe(self):
        return {"adapter": "slow"}
'''
HEAD = {"tasks": ["mme"], "sample": True, "limit": 40, "no_report": True}


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts `mm-eval run --config` with a release of these models, in a process of its own."""
    installed = tmp_path / "installed"
    (installed / "slow_model-1.dist-info").mkdir(parents=True)
    (installed / "slow_model.py").write_text(MODEL)
    (installed / "slow_model-1.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: slow-model\nVersion: 1\n"
    )
    (installed / "slow_model-1.dist-info" / "entry_points.txt").write_text("[mm_eval.models]\nslow = slow_model:Slow\n")
    known = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(installed), *filter(None, sys.path)]),
    }

    def run(models: list[dict[str, object]], *options: str, **more: object) -> subprocess.Popen[str]:
        release = {**HEAD, "output_path": str(tmp_path / "out"), "models": models, **more}
        (tmp_path / "release.yaml").write_text(json.dumps(release))
        command = [sys.executable, "-m", "mm_eval", "run", "--config", str(tmp_path / "release.yaml"), *options]
        return subprocess.Popen(command, env=known, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return run


def slow(name: str, folder: Path, **args: object) -> dict[str, object]:
    """An entry of a release: the slow model, which notes its calls in `<name>.log`."""
    return {"model": "slow", "name": name, "model_args": {"log": str(folder / f"{name}.log"), **args}}


def calls(folder: Path, name: str) -> list[str]:
    log = folder / f"{name}.log"
    return log.read_text().splitlines() if log.exists() else []


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
