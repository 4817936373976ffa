"""Videos of Qwen2-VL and Qwen2.5-VL on versions of transformers whose positions are not those of the training."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.cli import main
from mm_eval.values.errors import ConfigError
from tests.models.hf.prompts.test_videos import asked, tiny
from tests.models.questions import instance, picture
from tests.sets import few

RUN = ["--model", "tiny-qwen2-vl", "--sample", "--limit", "2", "--tasks"]


def installed(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """transformers with another version string."""
    found = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version if name == "transformers" else found(name))


@pytest.mark.parametrize("version", ["5.0.0", "5.3.0", "5.11.0", "5.12.0.dev0"])
def test_a_run_with_videos_ends_before_the_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    installed(monkeypatch, version)
    assert main([*RUN, "egoschema_subset,nextqa_mc", "--output_path", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert f"transformers {version} gives wrong positions" in said
    assert said.count("pip install -U 'transformers>=5.12.0'") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.full
def test_pictures_and_frames_as_pictures_are_answered_on_any_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, "5.3.0")
    assert main([*RUN, "mme", "--output_path", str(tmp_path / "a")]) == 0
    frames = [*RUN, "egoschema_subset", "--model_args", "video=pictures", "--output_path", str(tmp_path / "b")]
    assert main(frames) == 0
    assert json.loads((tmp_path / "b" / "results.json").read_text())["results"]


@pytest.mark.full
@pytest.mark.parametrize(("kind", "version"), few([("qwen2_vl", "5.3.0"), ("qwen2_5_vl", "5.17.0")], at=(0,)))
def test_a_video_that_only_a_later_doc_shows_is_refused_too(
    adapter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, kind: str, version: str
) -> None:
    installed(monkeypatch, version)
    model = tiny(adapter, kind)
    row = instance("What?", [picture(56, 56)])
    model.check((), [row])
    assert len(list(model.generate([row]))) == 1
    with pytest.raises(ConfigError, match=rf"{version}.*pip install"):
        list(model.generate([asked("What?")]))


def test_other_families_keep_their_videos(adapter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "5.3.0")
    tiny(adapter, "qwen3_vl").check((), [asked("What?")])


@pytest.mark.parametrize(
    ("kind", "version"),
    [("qwen2_vl", "5.12.0"), ("qwen2_vl", "5.17.0"), ("qwen2_5_vl", "5.18.0"), ("qwen2_5_vl", "5.23.0")],
)
def test_proven_versions_are_not_refused(
    adapter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, kind: str, version: str
) -> None:
    installed(monkeypatch, version)
    tiny(adapter, kind).check((), [asked("What?")])
