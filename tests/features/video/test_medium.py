"""The core knows a medium with frames, which a feature brings; it works without the feature."""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from mm_eval.data import frames as media
from mm_eval.data.places import Places
from mm_eval.features.video import rule
from mm_eval.prompt.blocks import choose_block
from mm_eval.request import RULES
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Clip, Instance, clips_of_json, clips_to_json

ROOT = Path(__file__).parents[3]


def test_the_core_and_the_feature_have_one_default() -> None:
    assert str(rule.DEFAULT) == media.DEFAULT_RULE == media.medium().full_rule("frames=8")


def test_a_rule_is_read_by_the_feature_that_brings_the_medium() -> None:
    assert RULES["video"].needed == rule.NEEDED
    assert RULES["video"].fits("fps=2") and not RULES["video"].fits("fps=soon")
    with pytest.raises(ConfigError, match="fps=soon"):
        media.medium().full_rule("fps=soon", "a.yaml")


def test_a_clip_is_recorded_under_videos_without_the_folders_of_its_path() -> None:
    clip = Clip(1, (0.0, 0.5), (0, 12), 25, 1.0, 25.0, "/a/b.mp4", end=1.0, rule="frames=2,ends")
    record: Any = clips_to_json([clip])
    assert list(record["videos"][0]) == [
        "first", "seconds", "numbers", "total", "duration", "fps", "start", "end", "rule", "path"
    ]  # fmt: skip
    [again] = clips_of_json(record)
    assert again.path == "b.mp4" and again.labels() == clip.labels()
    assert clips_to_json([]) == {} and clips_of_json({}) == ()


def test_adapters_from_outside_read_the_clips_by_their_former_name() -> None:
    clip = Clip(0, (0.0,), (0,), 1, 0.0, 0.0, "a.mp4")
    assert Instance("generate_until", "t", 0, {}, clips=(clip,)).videos == (clip,)
    assert Answer("a", clips=(clip,)).videos == (clip,)


def test_without_a_medium_pictures_are_shown_and_a_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "_brought", lambda: None)
    assert media.frames_of(Image.new("RGB", (2, 2)), media.DEFAULT_RULE, Places()) is None
    config: Any = SimpleNamespace(prompt_kwargs={}, target_kwargs={}, where=lambda key: key)
    assert choose_block(config, ()).frames == media.DEFAULT_RULE
    with pytest.raises(ConfigError, match="no feature"):
        choose_block(config, (), frames="frames=4")


@pytest.mark.full
def test_the_suite_runs_pictures_in_a_copy_without_the_feature(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "mm_eval", tmp_path / "mm_eval", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "mm_eval" / "features" / "video")
    for name in ("models", "tasks", "assets"):
        (tmp_path / name).symlink_to(ROOT / name)
    command = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "3", "--output_path", "run"]
    code = f"import sys; sys.path.insert(0, '.'); from mm_eval.cli import main; sys.exit(main({command!r}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "mm_eval" / "features" / "video").exists()
    refused = code.replace("'run']", "'other', '--video', 'frames=4']")
    ran = subprocess.run([sys.executable, "-c", refused], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 2 and "--video" in ran.stderr and "Traceback" not in ran.stderr
