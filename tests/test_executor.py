"""Which processes answer: the options that belong together, and what needs no cluster."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.command_line import as_command
from mm_eval.engine.fleet import Fleet
from mm_eval.engine.model import ModelSettings
from mm_eval.errors import ConfigError
from mm_eval.prepare import make_model
from mm_eval.request import RunRequest
from mm_eval.types import Instance

RAY = RunRequest(("mme",), model="dummy", executor="ray", workers=3)


def test_a_fleet_is_made_without_a_cluster_and_replay_stays_here(tmp_path) -> None:
    model = make_model(RAY)
    assert isinstance(model, Fleet) and model.size == 3
    assert model.describe() == {"adapter": "dummy", "seed": 0}, "a model without weights is known here"
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"task": "mme", "doc_id": 0, "resps": ["Yes"]}\n')
    replay = make_model(replace(RAY, model="replay", model_args={"path": str(answers)}))
    assert not isinstance(replay, Fleet)


def test_options_of_ray_without_it_are_refused(cli) -> None:
    for option in ("workers", "worker_gpus", "worker_cpus", "worker_timeout"):
        done = cli("--tasks", "mme", "--sample", "--model", "dummy", f"--{option}", "2")
        assert done.code == 2 and f"--{option} is an option of --executor ray" in done.err
    for option, value in (("workers", "0"), ("worker_gpus", "-1"), ("worker_cpus", "0"), ("executor", "dask")):
        done = cli("--tasks", "mme", f"--{option}", value)
        assert done.code == 2 and f"--{option} is" in done.err


def test_torchrun_and_ray_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="torchrun and --executor ray exclude each other"):
        make_model(RAY)


def test_without_ray_the_command_says_how_to_install_it(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = cli("--tasks", "mme", "--sample", "--limit", "2", "--model", "dummy", "--executor", "ray")
    assert done.code == 2 and "pip install 'mm-eval[ray]'" in done.err
    assert not done.folder.exists()


def test_a_command_to_try_names_workers_only_where_they_can_be_named() -> None:
    assert "--executor ray --workers 3" in as_command(RAY) and "ray" not in as_command(RAY, "show")
    assert RAY.without_workers() == replace(RAY, executor=None, workers=None)


def test_a_checkpoint_without_its_weights_is_described_by_what_a_worker_says(tmp_path) -> None:
    from importlib.resources import files

    from mm_eval.models.hf.adapter import HuggingFace

    whole, bare = Path(str(files("mm_eval.assets") / "models" / "tiny-llava")), tmp_path / "bare"
    shutil.copytree(whole, bare, ignore=shutil.ignore_patterns("*.safetensors"))
    said = {"adapter": "hf", "files": {"weights": "ab" * 32}, "dtype": "bfloat16", "adapter_version": 2}
    models = [HuggingFace.create({"pretrained": str(folder)}, ModelSettings()) for folder in (bare, whole)]
    for model in models:
        model.adopt(said)
    one, other = (model.describe() for model in models)
    assert one["dtype"] == "bfloat16" and one["fingerprint"] == other["fingerprint"]
    question = Instance("generate_until", "t", 0, {}, context="q")
    assert models[0].identity(question) == models[1].identity(question)
    with pytest.raises(ConfigError, match="no complete weights"):
        models[0].prepare()
