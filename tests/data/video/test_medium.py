"""The core knows a medium with frames, which a feature brings; it works without the feature."""

from pathlib import Path
from typing import Any

import pytest

from mm_eval.data import frames as media
from mm_eval.data.video import medium, rule
from mm_eval.request import RULES
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Clip, clips_of_json, clips_to_json

ROOT = Path(__file__).parents[3]


def test_the_core_and_the_feature_have_one_default() -> None:
    assert str(rule.DEFAULT) == media.DEFAULT_RULE == medium.full_rule("frames=8")


def test_a_rule_is_read_by_the_feature_that_brings_the_medium() -> None:
    assert RULES["video"].needed == rule.NEEDED
    assert RULES["video"].fits("fps=2") and not RULES["video"].fits("fps=soon")
    with pytest.raises(ConfigError, match="fps=soon"):
        medium.full_rule("fps=soon", "a.yaml")


def test_a_clip_is_recorded_under_videos_without_the_folders_of_its_path() -> None:
    clip = Clip(1, (0.0, 0.5), (0, 12), 25, 1.0, 25.0, "/a/b.mp4", end=1.0, rule="frames=2,ends")
    record: Any = clips_to_json([clip])
    assert list(record["videos"][0]) == [
        "first", "seconds", "numbers", "total", "duration", "fps", "start", "end", "rule", "path"
    ]  # fmt: skip
    [again] = clips_of_json(record)
    assert again.path == "b.mp4" and again.labels() == clip.labels()
    assert clips_to_json([]) == {} and clips_of_json({}) == ()
