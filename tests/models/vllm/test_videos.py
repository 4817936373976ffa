"""What vLLM's engine gets of a video: one array in its final size, its true times, and no sampling."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.vllm.prompt import written

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ConfigError, ModelError
from tests.models.hf.prompts.test_mixed import FILM, OTHER, SECOND, STILL, shows
from tests.models.hf.prompts.test_videos import TIMES, asked

FOLDER = Path(__file__).parents[3] / "assets" / "models"


def model(name: str, **args: Any) -> Any:
    return MODELS.get("vllm")({"pretrained": str(FOLDER / name), **args}, ModelSettings())


def test_a_video_is_one_token_and_an_array_with_its_times() -> None:
    adapter, row = model("tiny-qwen2-vl"), asked("What?", size=(160, 64))
    assert adapter.facts.frames_as == "video" and adapter.identity(row)["videos"] == [[0, list(TIMES)]]
    question = written(adapter.writer, row)
    request = question.request(question.prompt.ids)
    [(frames, metadata)] = request["multi_modal_data"]["video"]
    assert frames.shape == (6, 48, 144, 3), "the size that hf gives them"
    assert [number / metadata["fps"] for number in metadata["frames_indices"]] == pytest.approx(TIMES)
    assert metadata["do_sample_frames"] is False and len(question.prompt.image_places) == 1
    assert request["mm_processor_kwargs"] == {"videos_kwargs": {"do_resize": False, "do_center_crop": False}}
    later = written(adapter.writer, asked("What?", size=(160, 64), times=(0.0, 0.5, 0.9, 1.0, 3.04, 4.4)))
    assert later.request([])["multi_modal_uuids"] != request["multi_modal_uuids"], "a uuid is believed by vLLM"


@pytest.mark.parametrize(("name", "args"), [("tiny-llava", {}), ("tiny-qwen2-vl", {"video": "pictures"})])
def test_other_families_get_the_frames_as_pictures(name: str, args: dict[str, Any]) -> None:
    adapter, row = model(name, **args), asked("What?")
    assert adapter.facts.frames_as == "pictures" and "videos" not in adapter.identity(row)
    request = written(adapter.writer, row).request([1])
    assert list(request["multi_modal_data"]) == ["image"] and len(request["multi_modal_data"]["image"]) == 6
    assert request["multi_modal_uuids"] == {"image": list(row.image_digests)}


@pytest.mark.parametrize("kind", ["llava_onevision", "llava_next_video"])
def test_frames_of_a_fixed_size_reach_the_engine_in_that_size(checkpoint: Callable[[str], Path], kind: str) -> None:
    adapter = MODELS.get("vllm")({"pretrained": str(checkpoint(kind))}, ModelSettings())
    request = written(adapter.writer, asked("What?", size=(160, 64))).request([1])
    [(frames, metadata)] = request["multi_modal_data"]["video"]
    assert frames.shape == (6, 28, 28, 3) and metadata["do_sample_frames"] is False
    [prompt] = [written(adapter.writer, shows([STILL, "One. ", FILM, "Two. ", SECOND, "What?"]))]
    data = prompt.request(prompt.prompt.ids)["multi_modal_data"]
    assert [len(data["image"]), len(data["video"])] == [1, 2] and len(prompt.prompt.image_places) == 3


def test_numbers_of_its_own_for_videos_turn_vllms_normalising_off(
    checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    """On the device vLLM normalises videos with the numbers of pictures."""
    folder = tmp_path / "qwen3_vl"
    shutil.copytree(checkpoint("qwen3_vl"), folder)
    settings = {"size": {"shortest_edge": 800, "longest_edge": 30_000}, "image_std": [0.3, 0.3, 0.3]}
    prints = set()
    for others in ({}, {"image_mean": [0.4, 0.4, 0.4]}):
        (folder / "video_preprocessor_config.json").write_text(json.dumps({**settings, **others} if others else {}))
        adapter = MODELS.get("vllm")({"pretrained": str(folder)}, ModelSettings())
        off = {"mm_device_do_normalize": False}
        assert adapter.facts.frames_as == "video"
        assert (
            off.items() <= adapter._engine_options().items()
            if others
            else off.keys().isdisjoint(adapter._engine_options())
        )
        prints.add(adapter.fingerprint)
    assert len(prints) == 2


def test_several_pictures_beside_a_video_that_vllm_would_divide_into_tiles_are_refused(
    checkpoint: Callable[[str], Path],
) -> None:
    adapter = MODELS.get("vllm")({"pretrained": str(checkpoint("llava_onevision"))}, ModelSettings())
    with pytest.raises(ModelError, match=r"several pictures.*into tiles.*--model hf"):
        written(adapter.writer, shows([STILL, FILM, OTHER, "What?"]))


def test_times_that_merge_with_the_text_before_them_are_refused(checkpoint: Callable[[str], Path]) -> None:
    """vLLM tokenises the times of Qwen3-VL on their own; its processor tokenises them with the text around them."""
    folder = str(checkpoint("qwen3_vl"))
    line = shows(["Look.\n", FILM, "\n", SECOND, "What?"])
    for pair in ("drop", "keep"):
        args = {"pretrained": folder, "video_pair": pair}
        adapter = MODELS.get("vllm")(args, ModelSettings())
        assert adapter.facts.frames_as == "video"
        question = written(adapter.writer, line)
        pairs = question.prompt.ids.count(adapter.writer.tokenizer.convert_tokens_to_ids("<|vision_start|>"))
        assert len(question.prompt.image_places) == 2 and pairs == (2 if pair == "keep" else 0)
        adapter.writer.tokenizer.add_tokens([": <"])
        if pair == "keep":  # a special token stands between them
            written(adapter.writer, shows(["Look: ", FILM, "What?"]))
        else:
            with pytest.raises(ModelError, match="merges the times of a video with the text before it"):
                written(adapter.writer, shows(["Look: ", FILM, "What?"]))


def test_a_family_that_was_not_compared_says_so() -> None:
    with pytest.raises(ConfigError, match="video=video needs a video input: there is none here for llava"):
        model("tiny-llava", video="video")
