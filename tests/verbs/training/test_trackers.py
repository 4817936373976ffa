"""The trackers of the Trainer hold the numbers of each evaluation with their intervals; their own libraries, offline."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from mm_eval.training import EvalCallback
from tests.trackers.test_real_libraries import records_of
from tests.verbs.training.trainings import EVALUATED, processor, trainer

pytestmark = pytest.mark.full
NUMBER = "eval/mme/mme_perception_score"


def trained(tmp_path: Path, tracker: str) -> dict[int, dict[str, float]]:
    """{step: the numbers as the Trainer's log has them}. The last step is evaluated when the training ends."""
    callback = EvalCallback("mme", processor(), every=2, output_path=tmp_path / "study", **EVALUATED)
    made = trainer(tmp_path / "out", callback, steps=3, save=100, report_to=tracker)
    made.train()
    names = [f"{NUMBER}{end}" for end in ("", "_low", "_high")]
    logged = {e["step"]: {name: e[name] for name in names} for e in made.state.log_history if NUMBER in e}
    assert list(logged) == [2, 3] and all(
        e[f"{NUMBER}_low"] < e[NUMBER] <= e[f"{NUMBER}_high"] for e in logged.values()
    )
    return logged


def test_wandb_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    for name, value in {"WANDB_MODE": "offline", "WANDB_DIR": str(tmp_path), "WANDB_SILENT": "true"}.items():
        monkeypatch.setenv(name, value)
    logged = trained(tmp_path, "wandb")
    wandb.teardown()  # the log is whole when its writer has ended
    from wandb.proto import wandb_internal_pb2 as pb

    (log,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    found: dict[int, dict[str, Any]] = {}
    for data in records_of(log.read_bytes()):
        record = pb.Record()
        record.ParseFromString(data)
        row = {"/".join(each.nested_key) or each.key: json.loads(each.value_json) for each in record.history.item}
        if NUMBER in row:
            found[row["train/global_step"]] = {name: row[name] for name in logged[2]}
            assert not any(name.startswith("train/eval") for name in row)
    assert found == {step: pytest.approx(numbers) for step, numbers in logged.items()}


def test_trackio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read when it is imported
    pytest.importorskip("trackio")
    logged = trained(tmp_path, "trackio")
    (file,) = (tmp_path / "trackio").glob("*.db")
    with sqlite3.connect(file) as database:
        rows = database.execute("select run_name, metrics from metrics").fetchall()
    metrics = [json.loads(row) for _, row in rows]
    found = {row["train/global_step"]: {name: row[name] for name in logged[2]} for row in metrics if NUMBER in row}
    assert found == logged and len({name for name, _ in rows}) == 1, "one run"
