"""What vLLM's engine gets of a video: one array in its final size, its true times, and no sampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.vllm.prompt import written

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.errors import ConfigError
from tests.models.hf.prompts.test_videos import TIMES, asked

FOLDER = Path(__file__).parents[3] / "assets" / "models"


def model(name: str, **args: Any) -> Any:
    return MODELS.get("vllm").create({"pretrained": str(FOLDER / name), **args}, ModelSettings())


def test_a_video_is_one_token_and_an_array_with_its_times() -> None:
    adapter, row = model("tiny-qwen2-vl"), asked("What?", size=(160, 64))
    assert adapter.video_input == "video" and adapter.identity(row)["videos"] == [[0, list(TIMES)]]
    question = written(adapter.writer, row)
    request = question.request(question.prompt.ids)
    [(frames, metadata)] = request["multi_modal_data"]["video"]
    assert frames.shape == (6, 48, 144, 3), "the size that hf gives them"
    assert [number / metadata["fps"] for number in metadata["frames_indices"]] == pytest.approx(TIMES)
    assert metadata["do_sample_frames"] is False and len(question.prompt.image_places) == 1
    assert request["mm_processor_kwargs"] == {"videos_kwargs": {"do_resize": False}}
    later = written(adapter.writer, asked("What?", size=(160, 64), times=(0.0, 0.5, 0.9, 1.0, 3.04, 4.4)))
    assert later.request([])["multi_modal_uuids"] != request["multi_modal_uuids"], "a uuid is believed by vLLM"


@pytest.mark.parametrize(("name", "args"), [("tiny-llava", {}), ("tiny-qwen2-vl", {"video": "pictures"})])
def test_other_families_get_the_frames_as_pictures(name: str, args: dict[str, Any]) -> None:
    adapter, row = model(name, **args), asked("What?")
    assert adapter.video_input == "pictures" and "videos" not in adapter.identity(row)
    request = written(adapter.writer, row).request([1])
    assert list(request["multi_modal_data"]) == ["image"] and len(request["multi_modal_data"]["image"]) == 6
    assert request["multi_modal_uuids"] == {"image": list(row.image_digests)}


def test_a_family_that_was_not_compared_says_so() -> None:
    with pytest.raises(ConfigError, match="video=video needs a video input: there is none here for llava"):
        model("tiny-llava", video="video")
