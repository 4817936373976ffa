"""A run as it is asked for, there and back through run.json."""

from pathlib import Path

import pytest

from mm_eval.foreign import recorded_request
from mm_eval.request import RunRequest
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
    first = RunRequest(("mme",), limit=8, executor="ray", workers=2, linked={"name": "A"}, **ends)
    assert recorded_request(first.to_json(), "run.json") == RunRequest(("mme",), limit=8)


def test_fault_an_option_of_another_version_ended_in_a_type_error():
    stored = {**RunRequest(("mme",)).to_json(), "crop_pictures": True}
    with pytest.raises(ConfigError, match="crop_pictures.*does not know"):
        RunRequest.from_json(stored)
