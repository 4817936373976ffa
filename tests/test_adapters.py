"""Which processes answer: the options that belong together, and what needs no cluster."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.adapters import make_model
from mm_eval.engine.model import ModelSettings
from mm_eval.judge.judges import Judge, make_judges
from mm_eval.ray.fleet import Fleet
from mm_eval.request import RunRequest
from mm_eval.results.findings import as_command
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance
from tests.folders import edited

RAY = RunRequest.of_options(("mme",), model="dummy", executor="ray", workers=3)


def test_a_fleet_is_made_without_a_cluster_and_replay_stays_here(tmp_path) -> None:
    model = make_model(RAY)
    assert isinstance(model, Fleet) and model.size == 3
    assert model.describe() == {"adapter": "dummy", "seed": 0}, "a model without weights is known here"
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"task": "mme", "doc_id": 0, "resps": ["Yes"]}\n')
    replay = make_model(replace(RAY, model="replay", model_args={"path": str(answers)}))
    assert not isinstance(replay, Fleet)


@pytest.mark.parametrize("name", ["llava-hf/llava-1.5-7b-hf", "./checkpoint-500", "out"])
def test_a_checkpoint_in_place_of_an_adapter_is_told_where_it_belongs(cli, tmp_path, monkeypatch, name) -> None:
    """The answer was a list of the adapters' names."""
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    done = cli("--tasks", "mme", "--sample", "--model", name)
    assert done.code == 2 and f"--model hf --model_args pretrained={name}" in done.err


def test_options_of_ray_without_it_are_refused(cli) -> None:
    for option in ("workers", "worker_gpus", "worker_cpus", "worker_timeout"):
        done = cli("--tasks", "mme", "--sample", "--model", "dummy", f"--{option}", "2")
        assert done.code == 2 and f"--{option} is an option of --executor ray" in done.err
    for option, value in (("workers", "0"), ("worker_gpus", "-1"), ("worker_cpus", "0"), ("executor", "dask")):
        done = cli("--tasks", "mme", f"--{option}", value)
        assert done.code == 2 and f"--{option} is" in done.err


def test_torchrun_and_ray_exclude_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="torchrun and --executor ray can't be combined"):
        make_model(RAY)


def test_without_ray_the_command_says_how_to_install_it(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = cli("--tasks", "mme", "--sample", "--limit", "2", "--model", "dummy", "--executor", "ray")
    assert done.code == 2 and "pip install 'mm-eval[ray]'" in done.err
    assert not done.folder.exists()


def test_a_finished_run_of_a_checkpoint_needs_no_ray(cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its run.json says what decided the answers; without it a worker would have to be asked."""
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("--tasks", "mme", "--limit", "2", "--model", "tiny-llava")
    first = cli(*words)
    recorded = json.loads((first.folder / "run.json").read_text())
    assert first.code == 0 and recorded["constants"]["dtype"] == "float32"
    again = cli(*words, "--executor", "ray", "--workers", "2")
    assert again.code == 0 and "nothing was requested" in again.out and again.results["run"]["workers"] == {}
    more = cli(*words[:3], "4", *words[4:], "--executor", "ray")
    assert more.code == 2, "another spec"
    with edited(first.folder / "run.json") as recorded:
        del recorded["constants"]
    assert "pip install 'mm-eval[ray]'" in cli(*words, "--executor", "ray").err


def test_a_local_judge_of_a_recorded_run_is_described_without_a_worker(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    here = RunRequest.of_options(("mmvet",), judge="tiny-llava", output_path=str(tmp_path))
    [recorded] = make_judges(here)
    entry = json.loads(json.dumps(recorded.to_json()))
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "judges": [entry]}))
    [judge] = make_judges(here.with_options(executor="ray"))
    assert isinstance(judge.model, Fleet) and judge.to_json() == recorded.to_json()
    assert judge.is_same(Judge.from_json(entry))
    (tmp_path / "run.json").unlink()
    with pytest.raises(ConfigError, match="needs the package ray"):
        make_judges(here.with_options(executor="ray"))


def test_a_release_file_is_used_with_and_without_a_cluster(
    cli, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models = [
        {"model": "dummy", "name": "A", "workers": 16, "worker_gpus": 0.5},
        {"model": "dummy", "name": "B", "seed": 1},
    ]
    content = {"tasks": ["mme"], "sample": True, "limit": 2, "worker_cpus": 2, "output_path": str(tmp_path / "out")}
    (tmp_path / "release.yaml").write_text(json.dumps({**content, "models": models}))
    done = cli("run", "--config", tmp_path / "release.yaml")
    assert done.code == 0 and "| benchmark | A | B |" in done.out
    assert caplog.text.count("ignored") == 1
    assert (
        "`workers`, `worker_gpus`, `worker_cpus`: ignored, because the models run without `executor: ray`"
        in caplog.text
    )
    assert json.loads((tmp_path / "out" / "A" / "run.json").read_text())["request"]["workers"] is None
    refused = cli("run", "--config", tmp_path / "release.yaml", "--workers", "2")
    assert refused.code == 2 and "--workers is an option of --executor ray" in refused.err


def test_prompts_are_compared_on_workers(cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ("prompts", "--tasks", "mme", "--sample", "--limit", "2", "--model", "dummy", "--keys", "default,qwen_vl")
    done = cli(*words, "--output_path", tmp_path / "prompts", "--executor", "ray", "--workers", "2")
    assert done.code == 2 and "pip install 'mm-eval[ray]'" in done.err


def test_a_command_to_try_names_workers_only_where_they_can_be_named() -> None:
    assert "--executor ray --workers 3" in as_command(RAY) and "ray" not in as_command(RAY, "show")
    assert RAY.of_record() == RAY.with_options(executor=None, workers=None)


def test_a_checkpoint_without_its_weights_is_described_by_what_a_worker_says(tmp_path) -> None:
    from importlib.resources import files

    from mm_eval.models.hf.adapter import HuggingFace

    whole, bare = Path(str(files("mm_eval.assets") / "models" / "tiny-llava")), tmp_path / "bare"
    shutil.copytree(whole, bare, ignore=shutil.ignore_patterns("*.safetensors"))
    said = {"adapter": "hf", "files": {"weights": "ab" * 32}, "dtype": "bfloat16", "adapter_version": 2}
    models = [HuggingFace({"pretrained": str(folder)}, ModelSettings()) for folder in (bare, whole)]
    for model in models:
        model.facts = replace(model.facts, constants=said)
    one, other = (model.describe() for model in models)
    assert one["dtype"] == "bfloat16" and one["fingerprint"] == other["fingerprint"]
    question = Instance("generate_until", "t", 0, {}, context="q")
    assert models[0].identity(question) == models[1].identity(question)
    with pytest.raises(ConfigError, match="no complete weights"):
        models[0].prepare()
