"""Random checkpoints in bfloat16 at the sizes of LLaVA-1.5-7B and Qwen2.5-VL-7B, and small ones of the same form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measure import SCRATCH
from mm_eval.models.hf.processor import _without_video
from reference_model import SEED, TEMPLATE, for_vllm, llava, tokenizer


def llava_7b(tiny: bool) -> tuple[Any, Any]:
    vision = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    text = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}
    if tiny:
        vision |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 2}
        text |= {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2}
    return llava({**vision, "projection_dim": 768}, {**text, "vocab_size": 32064})


def qwen_7b(tiny: bool) -> tuple[Any, Any]:
    import transformers as tf

    made = tokenizer("<|vision_start|>", "<|vision_end|>", image_token="<|image_pad|>", video_token="<|video_pad|>")
    names = {"image": "<|image_pad|>", "video": "<|video_pad|>", "vision_start": "<|vision_start|>"}
    ids = {f"{name}_token_id": made.convert_tokens_to_ids(token) for name, token in names.items()}
    text: dict[str, Any] = {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "vocab_size": 152064,
    }
    text |= {"num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 32768}
    text |= {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    tower: dict[str, Any] = {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 3584,
    }
    sections = [16, 24, 24]
    if tiny:
        text |= {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "vocab_size": 1000}
        text |= {"num_attention_heads": 2, "num_key_value_heads": 1}
        tower = {"depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "out_hidden_size": 128}
        tower |= {"fullatt_block_indexes": [1]}
        sections = [8, 12, 12]
    text["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    config = tf.Qwen2_5_VLConfig(text_config=text, vision_config=tower, **ids)
    processor = _without_video(tf.Qwen2_5_VLProcessor)(
        image_processor=tf.Qwen2VLImageProcessorPil(patch_size=14, min_pixels=56 * 56, max_pixels=1280 * 28 * 28),
        tokenizer=made,
        chat_template=TEMPLATE.replace("<image>\n", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return config, processor


MODELS_BUILT: dict[str, Callable[[bool], tuple[Any, Any]]] = {"llava-1.5-7b": llava_7b, "qwen2.5-vl-7b": qwen_7b}


def checkpoint(name: str, tiny: bool, made_on: str | None = None) -> Path:
    """The folder of a random checkpoint, written once. made_on: the device on which it is made."""
    folder = SCRATCH / f"{name}{'-tiny' if tiny else ''}"
    if (folder / "complete").exists():
        return folder
    from transformers import AutoModelForImageTextToText, GenerationConfig

    config, processor = MODELS_BUILT[name](tiny)
    torch.manual_seed(SEED)
    with torch.device(made_on or device()):
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    for_vllm(folder)
    (folder / "complete").touch()
    return folder


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"
