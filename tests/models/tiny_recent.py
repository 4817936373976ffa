"""Tiny random checkpoints of model types that were released in 2025 and 2026."""

from __future__ import annotations

from typing import Any

import pytest
import transformers as tf

from tests.models.tiny_more import Made, _kind, _pixtral_processor, _qwen_parts, _square
from tests.models.tiny_random import (
    MROPE,
    QWEN_TOKENS,
    TEXT,
    VISION,
    VOCABULARY,
    _ids,
    _without_video,
    template,
    tokenizer,
)

GLM_MARKS = ("<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>")
HEAD = {"head_dim": TEXT["hidden_size"] // TEXT["num_attention_heads"]}
NO_TORCHVISION = "transformers' only image processor for this type needs it"


@_kind
def qwen3_5_moe() -> Made:
    _, ids, tower, processor = _qwen_parts()
    rope = {**MROPE, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.25, "mrope_interleaved": True}
    text = {
        **TEXT, "head_dim": 16, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "rope_parameters": rope,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
    }  # fmt: skip
    config = tf.Qwen3_5MoeConfig(text_config=text, vision_config=tower, **ids)
    return tf.Qwen3_5MoeForConditionalGeneration(config), processor


def _glm(processor: Any, images: Any) -> tuple[Any, dict[str, int], dict[str, Any], Any]:
    """Tokenizer, ids of special tokens, vision tower and processor of the GLM-V line."""
    made = tokenizer(*GLM_MARKS, bos=False, image_token="<|image|>", video_token="<|video|>")
    ids = _ids(
        made, image_token_id="<|image|>", video_token_id="<|video|>", image_start_token_id="<|begin_of_image|>",
        image_end_token_id="<|end_of_image|>", video_start_token_id="<|begin_of_video|>",
        video_end_token_id="<|end_of_video|>",
    )  # fmt: skip
    tower = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "intermediate_size": 64, "patch_size": 14,
        "image_size": 112,
    }  # fmt: skip
    chosen = images(size={"shortest_edge": 28 * 28 * 2, "longest_edge": 28 * 28 * 32})
    shown = template("<|begin_of_image|><|image|><|end_of_image|>")
    return made, ids, tower, _without_video(processor)(image_processor=chosen, tokenizer=made, chat_template=shown)


GLM_ROPE = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0, "partial_rotary_factor": 0.5}


@_kind
def glm46v() -> Made:
    _, ids, tower, processor = _glm(tf.Glm46VProcessor, tf.Glm46VImageProcessorPil)
    config = tf.Glm46VConfig(
        text_config={"model_type": "glm4v_text", **TEXT, "rope_parameters": GLM_ROPE},
        vision_config={"model_type": "glm4v_vision", **tower},
        **ids,
    )
    return tf.Glm46VForConditionalGeneration(config), processor


@_kind
def glm4v_moe() -> Made:
    _, ids, tower, processor = _glm(tf.Glm4vProcessor, tf.Glm4vImageProcessorPil)
    text = {
        **TEXT, "rope_parameters": GLM_ROPE, "moe_intermediate_size": 32, "num_experts_per_tok": 2, "n_routed_experts": 4,
        "n_shared_experts": 1, "first_k_dense_replace": 1,
    }  # fmt: skip
    config = tf.Glm4vMoeConfig(text_config=text, vision_config=tower, **ids)
    return tf.Glm4vMoeForConditionalGeneration(config), processor


def _gemma4_processor(**named: str) -> Any:
    made = tokenizer(**named)
    images = tf.Gemma4ImageProcessorPil(patch_size=4, max_soft_tokens=70, pooling_kernel_size=2)
    return _without_video(tf.Gemma4Processor)(
        feature_extractor=tf.Gemma4AudioFeatureExtractor(),
        image_processor=images,
        tokenizer=made,
        image_seq_length=70,
        chat_template=template("<image_soft_token>", sound="<audio_soft_token>"),
    )


def _gemma4(sound: dict[str, Any] | None = None, **differs: Any) -> Made:
    named = {
        "image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>",
        "audio_token": "<audio_soft_token>", "boa_token": "<start_of_audio>", "eoa_token": "<end_of_audio>",
        "video_token": "<video_soft_token>",
    }  # fmt: skip
    processor = _gemma4_processor(**named)
    text = {
        **TEXT, **HEAD, "num_hidden_layers": 4, "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"] * 2, "vocab_size_per_layer_input": VOCABULARY,
        "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 2, "global_head_dim": 32, "num_global_key_value_heads": 2,
        **differs,
    }  # fmt: skip
    tower = {
        **VISION, "num_key_value_heads": 4, "head_dim": 8, "patch_size": 4, "pooling_kernel_size": 2,
        "position_embedding_size": 1024,
    }  # fmt: skip
    config = tf.Gemma4Config(
        text_config=text,
        vision_config=tower,
        audio_config=sound,
        **_ids(
            processor.tokenizer, image_token_id="<image_soft_token>", boi_token_id="<start_of_image>",
            eoi_token_id="<end_of_image>", video_token_id="<video_soft_token>", audio_token_id="<audio_soft_token>",
            boa_token_id="<start_of_audio>", eoa_token_index="<end_of_audio>",
        ),
    )  # fmt: skip
    return tf.Gemma4ForConditionalGeneration(config), processor


@_kind
def gemma4() -> Made:
    return _gemma4()


@_kind
def gemma4_large() -> Made:
    """Its pictures' tokens see each other, its keys are its values, and no layer shares those of another."""
    return _gemma4(
        use_bidirectional_attention="vision",
        num_kv_shared_layers=0,
        attention_k_eq_v=True,
        hidden_size_per_layer_input=0,
    )


@_kind
def minicpmv4_6() -> Made:
    named = {
        "image_token": "<|image_pad|>", "video_token": "<|video_pad|>", "image_start_token": "<image>",
        "image_end_token": "</image>", "slice_start_token": "<slice>", "slice_end_token": "</slice>",
        "image_id_start_token": "<image_id>", "image_id_end_token": "</image_id>",
    }  # fmt: skip
    made = tokenizer(bos=False, **named)
    tower = {**VISION, "num_hidden_layers": 3, "image_size": 56, "patch_size": 14, "insert_layer_id": 0}
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25}
    text = {
        "model_type": "qwen3_5_text", **TEXT, "head_dim": 16, "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
        "rope_parameters": rope,
    }  # fmt: skip
    config = tf.MiniCPMV4_6Config(
        text_config=text,
        vision_config=tower,
        insert_layer_id=0,
        image_size=56,
        **_ids(made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>"),
    )
    images = tf.MiniCPMV4_6ImageProcessorPil(scale_resolution=56, max_slice_nums=2, patch_size=14)
    processor = _without_video(tf.MiniCPMV4_6Processor)(
        image_processor=images, tokenizer=made, chat_template=template("<|image_pad|>")
    )
    return tf.MiniCPMV4_6ForConditionalGeneration(config), processor


@_kind
def exaone4_5() -> Made:
    made = tokenizer(*QWEN_TOKENS, bos=False, image_token="<|image_pad|>", video_token="<|video_pad|>")
    tower = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "num_key_value_heads": 2,
        "intermediate_size": 64, "patch_size": 14, "window_size": 56, "fullatt_block_indexes": [1],
    }  # fmt: skip
    text = {
        "model_type": "exaone4",
        **TEXT,
        "sliding_window": 16,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    config = tf.Exaone4_5_Config(
        text_config=text,
        vision_config=tower,
        **_ids(made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>"),
    )
    unit = 28 * 28
    processor = _without_video(tf.Exaone4_5_Processor)(
        image_processor=tf.Qwen2VLImageProcessorPil(patch_size=14, min_pixels=unit, max_pixels=16 * unit),
        tokenizer=made,
        chat_template=template("<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return tf.Exaone4_5_ForConditionalGeneration(config), processor


@_kind
def lighton_ocr() -> Made:
    pixtral = _pixtral_processor(patch_size=7, spatial_merge_size=2)
    config = tf.LightOnOcrConfig(
        vision_config=tf.PixtralVisionConfig(**{**VISION, "image_size": 56, "patch_size": 7}),
        text_config=tf.Qwen3Config(**TEXT, **HEAD),
        spatial_merge_size=2,
        **_ids(pixtral.tokenizer, image_token_id="[IMG]"),
    )
    return tf.LightOnOcrForConditionalGeneration(config), pixtral


@_kind
def cohere2_vision() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    named = {
        "image_token": "<|IMG_PATCH|>", "boi_token": "<|START_OF_IMG|>", "eoi_token": "<|END_OF_IMG|>",
        "img_line_break_token": "<|IMG_LINE_BREAK|>",
    }  # fmt: skip
    made = tokenizer(**named)
    layers = ["sliding_attention", "full_attention"] * 2
    config = tf.Cohere2VisionConfig(
        vision_config=tf.SiglipVisionConfig(**{**VISION, "patch_size": 7}, vision_use_head=False),
        text_config=tf.Cohere2Config(**{**TEXT, "sliding_window": 16, "num_hidden_layers": 4, "layer_types": layers}),
        downsample_factor=2,
        alignment_intermediate_size=64,
        **_ids(made, image_token_id="<|IMG_PATCH|>"),
    )
    images = tf.Cohere2VisionImageProcessor(**_square(), crop_to_patches=True, max_patches=4, patch_size=2)
    processor = tf.Cohere2VisionProcessor(
        image_processor=images, tokenizer=made, chat_template=template("<|IMG_PATCH|>")
    )
    return tf.Cohere2VisionForConditionalGeneration(config), processor


@_kind
def lfm2_vl() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    tiles = [f"<|img_row_{row}_col_{column}|>" for row in range(1, 4) for column in range(1, 4)]
    made = tokenizer("<|image_start|>", "<|image_end|>", "<|img_thumbnail|>", *tiles, image_token="<image>")
    config = tf.Lfm2VlConfig(
        vision_config=tf.Siglip2VisionConfig(
            **{**VISION, "image_size": 56}, num_patches=64, vision_use_head=False
        ),
        text_config=tf.Lfm2Config(**TEXT, layer_types=["conv", "full_attention"], conv_L_cache=3),
        projector_hidden_size=64,
        downsample_factor=2,
        **_ids(made, image_token_id="<image>"),
    )  # fmt: skip
    images = tf.Lfm2VlImageProcessor(
        encoder_patch_size=14, downsample_factor=2, tile_size=56, min_image_tokens=1, max_image_tokens=4, min_tiles=2,
        max_tiles=4, max_num_patches=256,
    )  # fmt: skip
    shown = "<s>" + template("<image>")  # its processor adds no BOS
    processor = tf.Lfm2VlProcessor(image_processor=images, tokenizer=made, chat_template=shown)
    return tf.Lfm2VlForConditionalGeneration(config), processor


@_kind
def llama4() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    marks = ("<|image_start|>", "<|image_end|>", "<|patch|>", "<|tile_x_separator|>", "<|tile_y_separator|>")
    made = tokenizer(*marks, image_token="<|image|>")
    text = {
        **TEXT, **HEAD, "intermediate_size_mlp": 128, "num_local_experts": 4, "num_hidden_layers": 4, "attention_chunk_size": 16,
        "floor_scale": 16,
        "no_rope_layers": [1, 0, 1, 0], "moe_layers": [1, 3],
        "layer_types": ["chunked_attention", "full_attention"] * 2,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    }  # fmt: skip
    tower = {
        **VISION, "image_size": 56, "vision_output_dim": 64, "projector_input_dim": 64, "projector_output_dim": 64,
        "intermediate_size": 128,
    }  # fmt: skip
    config = tf.Llama4Config(
        text_config=text,
        vision_config=tower,
        **_ids(made, image_token_index="<|patch|>", boi_token_index="<|image_start|>", eoi_token_index="<|image_end|>"),
    )
    processor = tf.Llama4Processor(
        image_processor=tf.Llama4ImageProcessor(**_square(56), max_patches=2),
        tokenizer=made,
        patch_size=14,
        chat_template=template("<|image|>"),
    )
    return tf.Llama4ForConditionalGeneration(config), processor


RECENT = (
    "qwen3_5_moe", "glm46v", "glm4v_moe", "gemma4", "gemma4_large", "minicpmv4_6", "exaone4_5", "lighton_ocr",
    "cohere2_vision", "lfm2_vl", "llama4",
)  # fmt: skip
