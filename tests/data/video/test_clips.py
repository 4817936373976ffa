"""An instance says which of its pictures are the frames of which video, with their times; a model's own rule is used last."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mm_eval import Video
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.source import DataSource
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock, choose_block
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.types import Instance
from tests.data.video.movies import write


def asked(folder: Path, visual: Any, shots: int = 0, **keys: Any) -> Instance:
    write(folder / "a.mp4", count=50)
    write(folder / "b.mp4", count=21, ticks=[40 * n if n < 10 else 400 + 100 * (n - 10) for n in range(21)])
    (folder / "rows.jsonl").write_text('{"q": "what?", "a": "red"}\n{"q": "who?", "a": "blue"}\n')
    config = {"task": "clips", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(folder / "rows.jsonl")}},
              "test_split": "test", "doc_to_visual": visual, "doc_to_text": "q", "doc_to_target": "a", "num_fewshot": shots,
              **keys}  # fmt: skip
    task = Task.load(TaskConfig.from_mapping(config).resolved(FOREIGN_CODE), DataSource())
    [instance] = task.instances([0], PromptStyle(PromptBlock(frames="frames=3,ends"), chat=True))
    assert instance.error is None, instance.error
    return instance


def red() -> Any:
    from PIL import Image

    return Image.new("RGB", (8, 8), "red")


def test_videos_between_pictures_say_where_their_frames_stand_and_when(tmp_path: Path) -> None:
    shown = [red(), Video("a.mp4", 0.4, 1.2), red(), str(tmp_path / "b.mp4")]
    found = asked(tmp_path, lambda doc: shown)
    assert len(found.image_digests) == len(found.images()) == 8  # type: ignore[misc]
    part, whole = found.clips
    assert (part.first, part.last, part.start, part.end, part.rule) == (1, 4, 0.4, 1.2, "frames=3,ends")
    assert part.numbers == (10, 20, 30) and part.seconds == (0.4, 0.8, 1.2)
    assert (part.total, part.duration, part.fps) == (50, 2.0, 25.0)
    assert (whole.first, whole.numbers, whole.seconds) == (5, (0, 10, 20), (0.0, 0.4, 1.4))
    assert whole.fps == pytest.approx(20 / 1.4) and whole.duration == pytest.approx(21 * 1.4 / 20)
    assert whole.labels()[6] == "frame 10 at 0.400 s of b.mp4"


def test_the_videos_of_examples_come_before_those_of_the_question(tmp_path: Path) -> None:
    found = asked(tmp_path, lambda doc: [red(), Video("a.mp4" if doc["q"] == "who?" else "b.mp4")], shots=1)
    assert [(clip.first, Path(clip.path).name) for clip in found.clips] == [(1, "a.mp4"), (5, "b.mp4")]


def test_the_videos_of_a_chat_that_the_task_writes(tmp_path: Path) -> None:
    parts = [{"type": "image", "url": red()}, {"type": "video", "url": "a.mp4"}, {"type": "video", "video": "b.mp4"}]
    found = asked(tmp_path, None, doc_to_messages=lambda doc: [{"role": "user", "content": parts}])
    assert [clip.first for clip in found.clips] == [1, 4]
    assert found.context[0]["content"] == [{"type": "image"}] * 7  # type: ignore[index]


def test_pictures_alone_make_no_video(tmp_path: Path) -> None:
    assert asked(tmp_path, lambda doc: [red()]).clips == ()


@pytest.mark.parametrize(
    ("typed", "stated", "rule"),
    [
        (None, None, "frames=32,ends"),
        (None, "fps=2", "fps=2,min=1,max=768,ends"),
        ("frames=4", "fps=2", "frames=4,ends"),
    ],
)
def test_the_rule_of_a_model_is_used_where_nothing_else_says_it(typed: Any, stated: Any, rule: str) -> None:
    blocks = {"default": {"video": stated} if stated else {}}
    config: Any = SimpleNamespace(prompt_kwargs=blocks, target_kwargs={}, where=lambda key: key)
    block = choose_block(config, (), frames=typed, of_model=("frames=32,ends", "video"))
    assert block.frames == rule
    assert PromptBlock.recorded(config, block.to_json()) == block
    assert block.shown_as == f"video: the frames are shown as a video ({rule})"
