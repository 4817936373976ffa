"""Workers under `mm-eval watch` and under models in lockstep: what a single process comes to, and nothing asked twice."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from tests.deciding.skilled import calls
from tests.deciding.test_release import two_that_differ, write_release
from tests.folders import results_of
from tests.processes import HANGS
from tests.ray.conftest import ENVIRONMENT, ROOT, Nodes

pytestmark = pytest.mark.full
DOCS = 12


def test_each_checkpoint_is_evaluated_by_workers_and_one_that_dies_costs_nothing(start, tmp_path: Path) -> None:
    for step in (1, 2):
        (tmp_path / "out" / f"checkpoint-{step}").mkdir(parents=True)
    watch = ("watch", tmp_path / "out", "--once", "--tasks", "mme", "--limit", DOCS)
    study, alone = tmp_path / "study", tmp_path / "alone"
    first = start(*watch, "--output_path", study, seconds=0.5)
    first.wait_for(2)
    first.kill_a_worker()
    said = first.end()
    assert said.count("mme_perception_score") and "step-00000002" in said
    for step in (1, 2):
        workers = json.loads((study / f"step-{step:08d}" / "results.json").read_text())["run"]["workers"]
        assert workers, "workers answered"
    again = start(*watch, "--output_path", study)
    again.end()
    assert not again.noted("ask"), "all is recorded"
    start(*watch, "--output_path", alone, workers=0).end()
    for step in (1, 2):
        assert results_of(study / f"step-{step:08d}") == results_of(alone / f"step-{step:08d}")


@pytest.fixture
def known(tmp_path: Path) -> dict[str, str]:
    """The environment of a command that knows the skilled model."""
    folder = tmp_path / "installed" / "skilled-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: skilled\nVersion: 1\n")
    entry = "[mm_eval.models]\nskilled = tests.deciding.skilled:Skilled\n"
    (folder / "entry_points.txt").write_text(entry)
    return {**ENVIRONMENT, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folder.parent)])}


def test_models_in_lockstep_on_a_cluster_stop_where_a_single_process_stops(
    nodes: Nodes, known: dict[str, str], tmp_path: Path
) -> None:
    rows = evaluate("seedbench", "dummy", sample=True, report=False, output_path=str(tmp_path / "rows"))
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps({row["doc_id"]: row["target"] for row in rows.samples("seedbench")}))

    def released(name: str, **more: Any) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        models = two_that_differ(folder, gold=str(gold))
        models[1]["model_args"]["gold"] = str(gold)
        path = write_release(folder, models, **more)
        command = [sys.executable, "-m", "mm_eval", "run", "--config", str(path)]
        done = subprocess.run(command, env=known, cwd=ROOT, capture_output=True, text=True, timeout=HANGS)
        assert done.returncode == 0, done.stdout + done.stderr
        return folder

    cluster = {"executor": "ray", "workers": 1, "worker_cpus": 1, "worker_gpus": 0, "ray_address": nodes.address}
    beside, alone = released("beside", **cluster, parallel=2), released("alone")
    for name in ("good", "bad"):
        found = [json.loads((each / "out" / name / "results.json").read_text()) for each in (beside, alone)]
        assert found[0]["results"] == found[1]["results"] and found[0]["looks"] == found[1]["looks"]
        assert found[0]["run"]["workers"] and found[0]["results"]["seedbench"]["stopped"].endswith("decided")
        asked = calls(beside / f"{name}.log")
        assert len(asked) == len(set(asked)) >= found[0]["results"]["seedbench"]["n"]
