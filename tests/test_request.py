"""A run as it is asked for, there and back through run.json."""

from dataclasses import fields
from pathlib import Path

import pytest

from mm_eval.request import FLAT_NAMES, PARTS, RunRequest
from mm_eval.trust import recorded_request
from mm_eval.values.errors import ConfigError


def test_a_request_comes_back_from_run_json_with_its_folders_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = RunRequest(("mme",), model="replay", limit=0.5, data_root="data", gen_kwargs={"max_new_tokens": 3})
    again = RunRequest.from_json(asked.to_json())
    assert Path(again.data_root) == tmp_path / "data"
    assert (again.tasks, again.limit, dict(again.gen_kwargs)) == (("mme",), 0.5, {"max_new_tokens": 3})


def test_a_recorded_request_ends_nowhere_and_has_no_workers():
    """Each launch says when it ends; run.json has what the first one said."""
    ends = {"stop_when": "decided", "looks": 3, "alpha": 0.01, "margin": 1.0, "pairs": "all", "until_interval": 2.0}
    first = RunRequest.of_options(("mme",), limit=8, executor="ray", workers=2, linked={"name": "A"}, **ends)
    assert recorded_request(first.to_json(), "run.json") == RunRequest(("mme",), limit=8)


def test_fault_an_option_of_another_version_ended_in_a_type_error():
    stored = {**RunRequest(("mme",)).to_json(), "crop_pictures": True}
    with pytest.raises(ConfigError, match="crop_pictures.*does not know"):
        RunRequest.from_json(stored)


def test_every_flat_name_is_a_field_of_a_part_of_the_request_and_every_field_has_one():
    request = RunRequest(())
    places = {(part, each.name) for part in PARTS for each in fields(getattr(request, part))}
    assert len(FLAT_NAMES) == len(places) and set(FLAT_NAMES.values()) == places


def test_options_go_into_the_parts_of_a_request_and_come_back_flat():
    options = {
        "judge": ("openai",),
        "judge_budget": 2.5,
        "executor": "ray",
        "workers": 4,
        "protocol": "llava-1.5",
        "video": "fps=1",
    }
    made = RunRequest.of_options(("mme",), **options)
    assert (made.judge.models, made.judge.budget, made.ray.workers, made.protocol.name) == (
        ("openai",),
        2.5,
        4,
        "llava-1.5",
    )
    assert {name: made.options()[name] for name in options} == options
    assert RunRequest.of_options(judge="openai", judge_args={"model": "m"}).judge.args == ({"model": "m"},), (
        "as Python states it"
    )
    for wrong in ({"judgge_budgett": 1}, {"ray": 3}):
        with pytest.raises(TypeError):
            RunRequest.of_options(**wrong)
