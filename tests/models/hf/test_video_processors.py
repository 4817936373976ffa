"""Our tensors and text of a video against the checkpoint's own processor, which needs torchvision (skipped without it)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.models.hf.test_videos import TIMES, asked, by_hand

pytest.importorskip("torchvision", reason="the video processors of transformers need it")

MEAN = {"image_mean": [0.48, 0.46, 0.41], "image_std": [0.27, 0.26, 0.28]}
PATCHES = {
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "size": {"shortest_edge": 800, "longest_edge": 30_000},
}
FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "llava_onevision": ("LlavaOnevision", {"size": {"height": 28, "width": 28}}),
    "llava_next_video": ("LlavaNextVideo", {"size": {"shortest_edge": 28}, "do_center_crop": True,
                                            "crop_size": {"height": 28, "width": 28}}),
    "qwen2_vl": ("Qwen2VL", PATCHES),
    "qwen2_5_vl": ("Qwen2VL", PATCHES),
    "qwen3_vl": ("Qwen3VL", {**PATCHES, "patch_size": 16}),
    "internvl": ("InternVL", {"size": {"height": 28, "width": 28}}),
    "smolvlm": ("SmolVLM", {"size": {"longest_edge": 56}, "max_image_size": {"longest_edge": 28}, "resample": 1}),
    "video_llama_3": ("VideoLlama3", {**PATCHES, "temporal_patch_size": 1, "use_token_compression": True}),
}  # fmt: skip


@pytest.mark.parametrize("size", [(70, 42), (42, 84)])
@pytest.mark.parametrize("kind", FILES)
def test_own_tensors_are_those_of_the_processor(
    checkpoint: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, size: tuple[int, int]
) -> None:
    import torch
    from mm_eval.models.hf import video_prompt
    from transformers.video_utils import VideoMetadata

    from mm_eval.engine.model import MODELS, ModelSettings

    folder = tmp_path / kind
    shutil.copytree(checkpoint(kind), folder)
    name, stated = FILES[kind]
    content = {"video_processor_type": f"{name}VideoProcessor", **MEAN, **stated}
    (folder / "video_preprocessor_config.json").write_text(json.dumps(content))

    def model() -> Any:
        args = {"pretrained": str(folder), **({"video_pair": "keep"} if kind == "qwen3_vl" else {})}
        return MODELS.get("hf").create(args, ModelSettings(device="cpu"))

    row = asked("What?", size=size, continuation=" A")
    theirs = model()
    assert callable(theirs.writer.processor.video_processor)
    written = theirs.writer.write(row)
    frames = numpy.stack([numpy.asarray(frame) for frame in row.images() or []]) if row.images else None
    numbers = [round(1000 * time) for time in TIMES]
    metadata = VideoMetadata(total_num_frames=5000, fps=1000.0, duration=5.0, frames_indices=numbers)
    whole = theirs.writer.processor(
        text=[written.text], videos=[frames], video_metadata=[metadata], do_sample_frames=False, return_tensors="pt"
    )
    assert written.ids == whole["input_ids"][0].tolist()
    shown = written.pictures[0].tensors
    for tensor, value in shown.items():
        assert torch.allclose(torch.as_tensor(whole[tensor]).float(), value.float(), atol=1e-6), tensor

    monkeypatch.setattr(video_prompt, "callable", lambda processor: False, raising=False)
    ours = model()
    own = ours.writer.write(row)
    assert own.ids == written.ids
    for tensor, value in own.pictures[0].tensors.items():
        assert value.shape == shown[tensor].shape and value.dtype == shown[tensor].dtype, tensor
        apart = (value.float() - shown[tensor].float()).abs()
        if tensor.startswith(
            "pixel_values"
        ):  # Pillow rounds and clips between its two passes; 0.015 is a step of 8 bits
            assert apart.max() < 0.1 and apart.mean() < 0.006, (float(apart.max()), float(apart.mean()))
            pixels = float(apart.max())
        else:
            assert apart.max() == 0, tensor
    logits = abs(by_hand(ours, row) - by_hand(theirs, row))
    print(f"{kind} {size}: pixels {pixels:.4f}, log-likelihood {logits:.5f}")
    assert logits < 0.05
