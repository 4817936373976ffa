"""Tiny random checkpoints that vLLM runs: with heads of a size that its CPU kernels have, and the tensors' names of the hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.models import tiny_random


def save(kind: str, folder: Path) -> Path:
    """Writes a checkpoint with heads of 32 values and the file of its video processor. Returns the folder."""
    from safetensors.torch import load_file, save_file

    from tests.models.hf.prompts.test_video_processors import FILES, MEAN

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tiny_random.TEXT, "num_attention_heads", 2)
        patch.setitem(tiny_random.TEXT, "num_key_value_heads", 1)
        patch.setitem(tiny_random.MROPE, "mrope_section", [4, 6, 6])
        if kind == "llava_next_video":  # vLLM divides by the side of a picture over the square of a patch's
            patch.setitem(tiny_random.VISION, "patch_size", 2)
        tiny_random.save(kind, folder)
    name, stated = FILES[kind]
    settings = {"video_processor_type": f"{name}VideoProcessor", **MEAN, **stated}
    (folder / "video_preprocessor_config.json").write_text(json.dumps(settings))
    weights = load_file(folder / "model.safetensors")
    named = {name.replace("vision_tower.", "vision_tower.vision_model."): tensor for name, tensor in weights.items()}
    save_file(named, folder / "model.safetensors", {"format": "pt"})
    return folder
