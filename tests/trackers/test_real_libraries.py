"""The trackers' own libraries, without network: what they hold afterwards is read back with them."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mm_eval.cli import main

pytestmark = pytest.mark.full


def records_of(log: bytes) -> Iterator[bytes]:
    """The records of wandb's log: blocks of 32 KiB after 7 bytes, each part with a checksum, a length and its kind."""
    place, whole = 7, b""
    while place + 7 <= len(log):
        if (left := 32_768 - place % 32_768) < 7:
            place += left
            continue
        size, kind = int.from_bytes(log[place + 4 : place + 6], "little"), log[place + 6]
        whole += log[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or its last part
            yield whole
            whole = b""


def test_mlflow_has_numbers_table_and_page_and_a_second_launch_updates_them(run, tmp_path):
    pytest.importorskip("mlflow")
    pytest.importorskip("sqlalchemy")
    given = {"tracking_uri": f"sqlite:///{tmp_path}/m.db", "experiment": "evals", "tags": {"who": "me"}}
    results = run(mlflow_args=given)
    run(mlflow_args=given)
    from mlflow import MlflowClient

    client = MlflowClient(given["tracking_uri"])
    (found,) = client.search_runs([client.get_experiment_by_name("evals").experiment_id])
    expected = results["mme"]["mme_perception_score"]
    assert found.data.metrics["mme/mme_perception_score"] == expected.value
    assert found.data.metrics["mme/mme_perception_score_stderr"] == pytest.approx(expected.stderr)
    assert found.data.metrics["gsm8k/exact_match_strict-match"] == 0.0
    assert found.data.params["sample"] == "True" and found.data.tags["who"] == "me" and found.info.status == "FINISHED"
    files = {each.path for each in client.list_artifacts(found.info.run_id)}
    assert {"report.html", "results.json", "results.csv"} <= files
    held = Path(client.download_artifacts(found.info.run_id, "results.json", str(tmp_path)))
    assert json.loads(held.read_text())["results"] == results.raw["results"]


def test_wandb_offline_has_numbers_table_and_page(run, tmp_path):
    pytest.importorskip("wandb")
    results = run(wandb_args={"project": "evals", "tags": ["a"]})
    (note,) = [note for note in results.report.notes if note.startswith("wandb")]
    assert "wandb sync" in note
    (log,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    found: dict[str, Any] = {}
    from wandb.proto import wandb_internal_pb2 as pb

    for data in records_of(log.read_bytes()):
        record = pb.Record()
        record.ParseFromString(data)
        for item in record.history.item:
            found["/".join(item.nested_key) or item.key] = json.loads(item.value_json)
        if record.HasField("run"):
            found["project"] = record.run.project
        if record.HasField("artifact") and record.artifact.type == "evaluation":
            found["files"] = [entry.path for entry in record.artifact.manifest.contents]
    assert found["mme/mme_perception_score"] == results["mme"]["mme_perception_score"].value
    assert found["mme/mme_perception_score_low"] <= found["mme/mme_perception_score"]
    assert found["results/_type"] == "table-file" and found["report/_type"] == "html-file", sorted(found)
    assert found["project"] == "evals" and set(found["files"]) >= {"results.json", "report.html"}


def test_trackio_has_the_numbers_of_each_model_of_a_release(tmp_path):
    pytest.importorskip("trackio")
    release = tmp_path / "release.yaml"
    release.write_text(
        "tasks: [mme]\nlimit: 4\nsample: true\noutput_path: out\ntrackio_args: {project: evals}\n"
        "models:\n  - {name: one, model: dummy}\n  - {name: two, model: dummy, seed: 1}\n"
    )
    assert main(["run", "--config", str(release), "--offline"]) == 0
    with sqlite3.connect(tmp_path / "trackio" / "evals.db") as database:
        rows = database.execute("select run_name, metrics from metrics").fetchall()
    logged = {name.rpartition("-")[0]: json.loads(metrics) for name, metrics in rows}
    assert logged.keys() == {"one", "two"}
    written = json.loads((tmp_path / "out" / "one" / "results.json").read_text())["results"]["mme"]
    assert logged["one"]["mme/mme_perception_score"] == written["mme_perception_score,none"]
    assert "mme/mme_perception_score_high" in logged["one"] and logged["one"]["results"]
    assert list((tmp_path / "trackio" / "artifacts").rglob("*"))
