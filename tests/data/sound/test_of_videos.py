"""The sound of a video in a question: asked for by a task or by a model, the video's own, not of silent ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from mm_eval import Audio, Video
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.types import Clip, Instance
from tests.data.video.movies import drawn, write


def with_sound(path: Path, pitch: int = 440, count: int = 25) -> Path:
    """A video of a second with a tone."""
    with av.open(str(path), "w") as file:
        shown: Any = file.add_stream("libx264", rate=25)
        shown.width, shown.height, shown.pix_fmt = 160, 64, "yuv420p"
        heard: Any = file.add_stream("aac", rate=16_000, layout="mono")
        for number in range(count):
            file.mux(shown.encode(av.VideoFrame.from_ndarray(drawn(number), format="rgb24")))
        file.mux(shown.encode())
        tone = (0.3 * np.sin(2 * np.pi * pitch * np.arange(640 * count) / 16_000)).astype(np.float32)
        frame = av.AudioFrame.from_ndarray(tone[None], format="fltp", layout="mono")
        frame.sample_rate = 16_000
        file.mux(heard.encode(frame))
        file.mux(heard.encode())
    return path


def asked(folder: Path, video_sound: bool = False, doc: int = 0, **keys: Any) -> Instance:
    if not (folder / "silent.mp4").exists():  # once a test: two encodings need not have the same bytes
        with_sound(folder / "a.mp4")
        with_sound(folder / "b.mp4", 880)
        write(folder / "silent.mp4", count=25)
    (folder / "rows.jsonl").write_text('{"q": "what?", "a": "red"}\n')
    config = {"task": "clips", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(folder / "rows.jsonl")}},
              "test_split": "test", "doc_to_text": "q", "doc_to_target": "a", **keys}  # fmt: skip
    task = Task.load(TaskConfig.from_mapping(config).resolved(FOREIGN_CODE), DataSource())
    style = PromptStyle(PromptBlock(frames="frames=3,ends", video_sound=video_sound), chat=True)
    [instance] = task.instances([doc], style)
    return instance


def names(found: Instance) -> list[str]:
    return [each.name for each in found.heard]


def test_a_sound_of_the_same_file_and_part_is_the_videos_own(tmp_path: Path) -> None:
    videos = [Video("a.mp4"), Video("b.mp4", 0.2, 0.8)]
    sounds = ["a.mp4", Audio("b.mp4", 0.2, 0.8), Audio("b.mp4", 0.5)]
    found = asked(tmp_path, doc_to_visual=lambda doc: videos, doc_to_audio=lambda doc: sounds)
    assert found.error is None and found.turn_shown == ("iiiiiiaaa",)
    assert [clip.sound for clip in found.clips] == [0, 1]
    assert found.heard[1].seconds == pytest.approx(0.6, abs=1e-4)
    [first, _] = found.clips
    assert "sound" not in first.to_json() and Clip.of_json(first.to_json()).sound is None
    other = asked(tmp_path, doc_to_visual=lambda doc: ["a.mp4"], doc_to_audio=lambda doc: ["b.mp4"])
    assert [clip.sound for clip in other.clips] == [None] and names(other) == ["b.mp4"]


def test_a_model_that_asks_for_it_hears_each_video_right_behind_it(tmp_path: Path) -> None:
    videos = [Video("a.mp4"), Video("b.mp4", 0.2, 0.8)]
    plain = asked(tmp_path, doc_to_visual=lambda doc: videos)
    assert not plain.heard and [clip.sound for clip in plain.clips] == [None, None]
    found = asked(tmp_path, video_sound=True, doc_to_visual=lambda doc: videos)
    assert found.turn_shown == ("iiiaiiia",) and [clip.sound for clip in found.clips] == [0, 1]
    assert [part["type"][0] for part in found.context[0]["content"]] == [*"iiiaiiiat"]  # type: ignore[index, call-overload]
    both = asked(tmp_path, video_sound=True, doc_to_visual=lambda doc: videos, doc_to_audio=lambda doc: ["a.mp4"])
    assert both.turn_shown == found.turn_shown and both.sound_digests == found.sound_digests, "heard once"
    turns = [{"role": "user", "content": [{"type": "video", "url": "a.mp4"}, {"type": "audio", "url": "a.mp4"}]}]
    chat = asked(tmp_path, video_sound=True, doc_to_messages=lambda doc: turns)
    assert chat.turn_shown == ("iiia",) and [clip.sound for clip in chat.clips] == [0]


@pytest.mark.parametrize("video_sound", [False, True])
def test_a_silent_video_is_asked_about_without_sound_and_that_is_said(
    tmp_path: Path, video_sound: bool, caplog: pytest.LogCaptureFixture
) -> None:
    from mm_eval.prompt.visuals import _say_silent

    _say_silent.cache_clear()
    shown = ["silent.mp4", "a.mp4"]
    audio = {} if video_sound else {"doc_to_audio": lambda doc: shown}
    found = asked(tmp_path, video_sound, doc_to_visual=lambda doc: shown, **audio)
    assert found.error is None and names(found) == ["a.mp4"] and found.sounds is not None
    assert [each.name for each in found.sounds()] == ["a.mp4"] and [clip.sound for clip in found.clips] == [None, 0]
    assert [clip.silent for clip in found.clips] == [True, False]
    [said] = [record.getMessage() for record in caplog.records]
    assert (
        said
        == "clips doc 0: the video 'silent.mp4' has no sound and is asked about without. Others are counted in the results."
    )
    stated = [clip.to_json() for clip in found.clips]
    assert stated[0]["silent"] is True and "silent" not in stated[1], "a record says it, and of no other"
    assert [Clip.of_json(each).silent for each in stated] == [True, False]
    unheard = asked(tmp_path, doc_to_visual=lambda doc: shown)
    assert not unheard.clips[0].silent, "its sound was not asked for, though the same file's was before"
    turns = [
        {"role": "user", "content": [{"type": "video", "url": "silent.mp4"}, {"type": "audio", "url": "silent.mp4"}]}
    ]
    chat = asked(tmp_path, doc_to_messages=lambda doc: turns)
    assert chat.turn_shown == () and chat.clips[0].silent and len(chat.image_digests) == 3
    alone = asked(tmp_path, doc_to_audio=lambda doc: ["silent.mp4"])
    assert alone.error is not None and "it has no sound" in alone.error.what, "nothing else is asked about"
