"""The models of a release side by side on one cluster: equal results, failures that hinder no other, an interrupt."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.folders import results_of
from tests.processes import HANGS
from tests.ray.conftest import ENVIRONMENT, ROOT, Nodes
from tests.verbs.report.release.conftest import HEAD, MODEL, calls, slow, wait_for


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a command that knows the slow model."""
    folder = tmp_path / "installed"
    (folder / "slow_model-1.dist-info").mkdir(parents=True)
    (folder / "slow_model.py").write_text(MODEL)
    (folder / "slow_model-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-model\nVersion: 1\n")
    (folder / "slow_model-1.dist-info" / "entry_points.txt").write_text("[mm_eval.models]\nslow = slow_model:Slow\n")
    return {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}


def start(tmp_path: Path, known: dict[str, str], models: list[Any], **more: Any) -> "subprocess.Popen[str]":
    (tmp_path / "release.yaml").write_text(json.dumps({**HEAD, **more, "models": models}))
    command = [sys.executable, "-m", "mm_eval", "run", "--config", str(tmp_path / "release.yaml")]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=known, cwd=tmp_path / "installed", **pipes)  # workers import from there


@pytest.mark.slow
def test_three_models_and_one_that_fails_on_one_cluster(
    tmp_path: Path, nodes: Nodes, installed: dict[str, str]
) -> None:
    """Together they want more CPUs than there are; one wants a machine of its own."""
    models = [
        {"model": "tiny-llava", "name": "A", "worker_cpus": 1},
        {"model": "dummy", "name": "B", "worker_cpus": 0.5, "workers": 2},
        slow("C", tmp_path, fails=3),
        {
            "model": "openai",
            "name": "bad",
            "model_args": {"model": "m", "base_url": "http://127.0.0.1:9", "max_retries": 0},
        },
    ]
    child = start(
        tmp_path,
        installed,
        models,
        executor="ray",
        worker_gpus=0,
        ray_address=nodes.address,
        output_path=str(tmp_path / "beside"),
    )
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 3, out + err
    assert "Traceback" not in err and "| benchmark | A | B | C | bad |" in out
    alone = [{key: value for key, value in model.items() if not key.startswith("worker")} for model in models[:2]]
    child = start(tmp_path, installed, alone, output_path=str(tmp_path / "turn"))
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 0, out + err
    for name in "AB":
        assert results_of(tmp_path / "beside" / name) == results_of(tmp_path / "turn" / name)
    assert json.loads((tmp_path / "beside" / "C" / "results.json").read_text())["results"]["mme"]["failed"] == 1
    recorded = json.loads((tmp_path / "beside" / "B" / "results.json").read_text())
    assert sum(recorded["run"]["workers"].values()) in (1, 2), "the second one may find no room"
    wait_for(lambda: nodes.free_cpus() == 2)


@pytest.mark.slow
def test_an_interrupt_ends_all_drivers_and_gives_the_cluster_back(
    tmp_path: Path, nodes: Nodes, installed: dict[str, str]
) -> None:
    names = ("A", "B")
    more = {"executor": "ray", "worker_gpus": 0, "ray_address": nodes.address, "output_path": str(tmp_path / "out")}
    child = start(tmp_path, installed, [slow(name, tmp_path, seconds=0.2) for name in names], **more)
    wait_for(lambda: all(calls(tmp_path, name) for name in names), 120)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 130 and "Traceback" not in err, out + err
    wait_for(lambda: nodes.free_cpus() == 2)
    child = start(tmp_path, installed, [slow(name, tmp_path) for name in names], **more)
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 0, out + err
    for name in names:
        assert len(set(calls(tmp_path, name))) == len(calls(tmp_path, name)) == 40, "what was under way was recorded"
