"""More tiny random checkpoints: model types whose processors, caches or positions differ from those of tiny_random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import transformers as tf

from tests.models.tiny_random import (
    GRID,
    MROPE,
    QWEN_TOKENS,
    TEXT,
    VISION,
    VOCABULARY,
    _ids,
    _paligemma,
    _without_video,
    template,
    tokenizer,
)

Made = tuple[Any, Any]
MORE: dict[str, Callable[[], Made]] = {}


def _kind(make: Callable[[], Made]) -> Callable[[], Made]:
    MORE[make.__name__] = make
    return make


def _crop(size: int = 28) -> dict[str, Any]:
    return {"size": {"shortest_edge": size}, "crop_size": {"height": size, "width": size}}


def _square(size: int = 28) -> dict[str, Any]:
    return {"size": {"height": size, "width": size}}


@_kind
def vipllava() -> Made:
    made = tokenizer(image_token="<image>")
    vision = tf.CLIPVisionConfig(**{**VISION, "num_hidden_layers": 3}, projection_dim=32)
    config = tf.VipLlavaConfig(
        vision_config=vision,
        text_config=tf.LlamaConfig(**TEXT),
        vision_feature_layers=[-2, -1],
        **_ids(made, image_token_id="<image>"),
    )
    processor = tf.LlavaProcessor(
        image_processor=tf.CLIPImageProcessorPil(**_crop()),
        tokenizer=made,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template("<image>"),
    )
    return tf.VipLlavaForConditionalGeneration(config), processor


def _qwen_parts() -> tuple[Any, dict[str, int], dict[str, Any], Any]:
    made = tokenizer(*QWEN_TOKENS, bos=False, image_token="<|image_pad|>", video_token="<|video_pad|>")
    ids = _ids(
        made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>", vision_start_token_id="<|vision_start|>",
        vision_end_token_id="<|vision_end|>",
    )  # fmt: skip
    tower = {
        "depth": 3, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "intermediate_size": 64, "patch_size": 16,
        "num_position_embeddings": 64,
    }  # fmt: skip
    processor = _without_video(tf.Qwen3VLProcessor)(
        image_processor=tf.Qwen2VLImageProcessorPil(patch_size=16, min_pixels=32 * 32, max_pixels=32 * 32 * 16),
        tokenizer=made,
        chat_template=template(
            "<|vision_start|><|image_pad|><|vision_end|>", "<|vision_start|><|video_pad|><|vision_end|>"
        ),
    )
    return made, ids, tower, processor


@_kind
def qwen3_vl_moe() -> Made:
    _, ids, tower, processor = _qwen_parts()
    text = {
        **TEXT, "head_dim": TEXT["hidden_size"] // TEXT["num_attention_heads"], "num_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "decoder_sparse_step": 1, "rope_parameters": {**MROPE, "mrope_interleaved": True},
    }  # fmt: skip
    config = tf.Qwen3VLMoeConfig(text_config=text, vision_config={**tower, "deepstack_visual_indexes": [0, 1]}, **ids)
    return tf.Qwen3VLMoeForConditionalGeneration(config), processor


@_kind
def qwen3_5() -> Made:
    _, ids, tower, processor = _qwen_parts()
    rope = {**MROPE, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.25, "mrope_interleaved": True}
    text = {
        **TEXT, "head_dim": 16, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "rope_parameters": rope,
    }  # fmt: skip
    config = tf.Qwen3_5Config(text_config=text, vision_config=tower, **ids)
    return tf.Qwen3_5ForConditionalGeneration(config), processor


@_kind
def llava_next_video() -> Made:
    made = tokenizer("<video>", image_token="<image>", video_token="<video>")
    vision = tf.CLIPVisionConfig(**VISION, projection_dim=32)
    config = tf.LlavaNextVideoConfig(
        vision_config=vision,
        text_config=tf.LlamaConfig(**TEXT),
        image_grid_pinpoints=GRID,
        spatial_pool_stride=2,
        **_ids(made, image_token_id="<image>", video_token_id="<video>"),
    )
    processor = _without_video(tf.LlavaNextVideoProcessor)(
        image_processor=tf.LlavaNextImageProcessorPil(**_crop(), image_grid_pinpoints=GRID),
        tokenizer=made,
        patch_size=VISION["patch_size"],
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template("<image>\n", "<video>\n"),
    )
    return tf.LlavaNextVideoForConditionalGeneration(config), processor


@_kind
def internvl() -> Made:
    named = {
        "image_token": "<IMG_CONTEXT>", "start_image_token": "<img>", "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>", "video_token": "<video>",
    }  # fmt: skip
    made = tokenizer(**named)
    config = tf.InternVLConfig(
        vision_config={**VISION, "image_size": [28, 28], "patch_size": [7, 7]},
        text_config=tf.Qwen2Config(**TEXT),
        downsample_ratio=0.5,
        **_ids(made, image_token_id="<IMG_CONTEXT>"),
    )
    images = tf.GotOcr2ImageProcessorPil(**_square(), crop_to_patches=True, max_patches=4, min_patches=1)
    processor = _without_video(tf.InternVLProcessor)(
        image_processor=images, tokenizer=made, image_seq_length=4, chat_template=template("<IMG_CONTEXT>")
    )
    return tf.InternVLForConditionalGeneration(config), processor


@_kind
def gemma3() -> Made:
    named = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    made = tokenizer(**named)
    layers = ["sliding_attention", "full_attention"]
    config = tf.Gemma3Config(
        text_config=tf.Gemma3TextConfig(**TEXT, head_dim=16, sliding_window=16, layer_types=layers),
        vision_config=tf.SiglipVisionConfig(**{**VISION, "image_size": 56}, vision_use_head=False),
        mm_tokens_per_image=4,
        **_ids(
            made,
            image_token_id="<image_soft_token>",
            boi_token_index="<start_of_image>",
            eoi_token_index="<end_of_image>",
        ),
    )
    processor = tf.Gemma3Processor(
        image_processor=tf.Gemma3ImageProcessorPil(**_square(56)),
        tokenizer=made,
        image_seq_length=4,
        chat_template=template("<start_of_image>"),
    )
    return tf.Gemma3ForConditionalGeneration(config), processor


@_kind
def smolvlm() -> Made:
    pytest.importorskip("num2words", reason="transformers' SmolVLMProcessor needs it")
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)]
    made = tokenizer("<fake_token_around_image>", "<end_of_utterance>", "<global-img>", *tiles, image_token="<image>")
    config = tf.SmolVLMConfig(
        vision_config={**VISION, "patch_size": 7},
        text_config=tf.LlamaConfig(**TEXT),
        scale_factor=2,
        **_ids(made, image_token_id="<image>"),
    )
    images = tf.SmolVLMImageProcessorPil(size={"longest_edge": 56}, max_image_size={"longest_edge": 28})
    processor = _without_video(tf.SmolVLMProcessor)(
        image_processor=images, tokenizer=made, image_seq_len=4, chat_template=template("<image>")
    )
    return tf.SmolVLMForConditionalGeneration(config), processor


@_kind
def idefics2() -> Made:
    named = {"image_boundary_token": "<fake_token_around_image>", "end_of_utterance_token": "<end_of_utterance>"}
    made = tokenizer(image_token="<image>", **named)
    config = tf.Idefics2Config(
        vision_config={**VISION, "image_size": 56},
        text_config=tf.MistralConfig(**TEXT),
        perceiver_config={
            "hidden_size": 64, "resampler_n_latents": 4, "resampler_depth": 1, "resampler_n_heads": 4,
            "resampler_head_dim": 16, "num_key_value_heads": 2,
        },
        **_ids(made, image_token_id="<image>"),
    )  # fmt: skip
    images = tf.Idefics2ImageProcessorPil(size={"shortest_edge": 28, "longest_edge": 56}, do_image_splitting=False)
    processor = tf.Idefics2Processor(
        image_processor=images, tokenizer=made, image_seq_len=4, chat_template=template("<image>")
    )
    return tf.Idefics2ForConditionalGeneration(config), processor


def _pixtral_processor(**options: Any) -> Any:
    """PixtralProcessor; transformers' module asks for torchvision on import, and gets the Pillow class under that name."""
    import sys

    try:
        from transformers.models.pixtral.processing_pixtral import PixtralProcessor
    except ImportError:
        import transformers.models.pixtral.image_processing_pil_pixtral as pil

        sys.modules["transformers.models.pixtral.image_processing_pixtral"] = pil
        from transformers.models.pixtral.processing_pixtral import PixtralProcessor
    images = tf.PixtralImageProcessorPil(size={"longest_edge": 56}, patch_size={"height": 14, "width": 14})
    made = tokenizer("[IMG_BREAK]", "[IMG_END]", image_token="[IMG]")
    return PixtralProcessor(image_processor=images, tokenizer=made, chat_template=template("[IMG]"), **options)


@_kind
def mistral3() -> Made:
    processor = _pixtral_processor(patch_size=7, spatial_merge_size=2)
    config = tf.Mistral3Config(
        vision_config=tf.PixtralVisionConfig(**{**VISION, "image_size": 56, "patch_size": 7}),
        text_config=tf.MistralConfig(**TEXT, head_dim=16),
        spatial_merge_size=2,
        **_ids(processor.tokenizer, image_token_id="[IMG]"),
    )
    return tf.Mistral3ForConditionalGeneration(config), processor


@_kind
def pixtral_llava() -> Made:
    processor = _pixtral_processor(patch_size=14)
    config = tf.LlavaConfig(
        vision_config=tf.PixtralVisionConfig(**{**VISION, "image_size": 56}),
        text_config=tf.MistralConfig(**TEXT, head_dim=16),
        vision_feature_layer=-1,
        vision_feature_select_strategy="full",
        **_ids(processor.tokenizer, image_token_id="[IMG]"),
    )
    return tf.LlavaForConditionalGeneration(config), processor


@_kind
def mllama() -> Made:
    made = tokenizer(image_token="<|image|>")
    ratios = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]
    rope = {"rope_type": "default", "rope_theta": 10000.0}
    config = tf.MllamaConfig(
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_global_layers": 1,
            "attention_heads": 4, "image_size": 28, "patch_size": 14, "max_num_tiles": 4,
            "intermediate_layers_indices": [0], "vision_output_dim": 64, "supported_aspect_ratios": ratios,
        },
        text_config={**TEXT, "num_hidden_layers": 3, "cross_attention_layers": [1], "rope_parameters": rope},
        **_ids(made, image_token_index="<|image|>"),
    )  # fmt: skip
    images = tf.MllamaImageProcessorPil(**_square(), max_image_tiles=4)
    processor = tf.MllamaProcessor(image_processor=images, tokenizer=made, chat_template=template("<|image|>"))
    return tf.MllamaForConditionalGeneration(config), processor


@_kind
def aya_vision() -> Made:
    tiles = ["TILE_GLOBAL", "TILE", *(f"TILE_{number}" for number in range(1, 13))]
    marks = ("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "<|IMG_LINE_BREAK|>")
    made = tokenizer(*marks, *tiles, image_token="<image>")
    config = tf.AyaVisionConfig(
        vision_config=tf.SiglipVisionConfig(**{**VISION, "patch_size": 7}, vision_use_head=False),
        text_config=tf.Cohere2Config(**{**TEXT, "sliding_window": 16, "num_hidden_layers": 4}),
        downsample_factor=2,
        adapter_layer_norm_eps=1e-6,
        **_ids(made, image_token_id="<|IMG_PATCH|>"),
    )
    processor = tf.AyaVisionProcessor(
        image_processor=tf.GotOcr2ImageProcessorPil(**_square(), crop_to_patches=True, max_patches=4),
        tokenizer=made,
        patch_size=7,
        img_size=28,
        downsample_factor=2,
        chat_template=template("<image>"),
    )
    return tf.AyaVisionForConditionalGeneration(config), processor


@_kind
def glm4v() -> Made:
    marks = ("<|begin_of_image|>", "<|end_of_image|>", "<|begin_of_video|>", "<|end_of_video|>")
    made = tokenizer(*marks, bos=False, image_token="<|image|>", video_token="<|video|>")
    ids = _ids(
        made, image_token_id="<|image|>", video_token_id="<|video|>", image_start_token_id="<|begin_of_image|>",
        image_end_token_id="<|end_of_image|>", video_start_token_id="<|begin_of_video|>",
        video_end_token_id="<|end_of_video|>",
    )  # fmt: skip
    rope = {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    tower = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "intermediate_size": 64, "patch_size": 14,
        "image_size": 112,
    }  # fmt: skip
    config = tf.Glm4vConfig(text_config={**TEXT, "rope_parameters": rope}, vision_config=tower, **ids)
    images = tf.Glm4vImageProcessorPil(size={"shortest_edge": 28 * 28 * 2, "longest_edge": 28 * 28 * 32})
    processor = _without_video(tf.Glm4vProcessor)(
        image_processor=images,
        tokenizer=made,
        chat_template=template("<|begin_of_image|><|image|><|end_of_image|>"),
    )
    return tf.Glm4vForConditionalGeneration(config), processor


@_kind
def janus() -> Made:
    named = {"image_token": "<image_placeholder>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"}
    made = tokenizer(**named)
    tower = {**VISION, "projection_dim": 64, "mlp_ratio": 2, "num_image_tokens": 4, "depth": 2}
    codes = {
        "embed_dim": 8, "num_embeddings": 16, "latent_channels": 8, "base_channels": 32, "channel_multiplier": [1, 1],
        "num_res_blocks": 1, "num_patches": 2, "projection_dim": 64, "image_token_embed_dim": 64,
    }  # fmt: skip
    config = tf.JanusConfig(
        text_config=tf.LlamaConfig(**TEXT),
        vision_config=tower,
        vq_config=codes,
        **_ids(made, image_token_id="<image_placeholder>"),
    )
    processor = tf.JanusProcessor(
        image_processor=tf.JanusImageProcessorPil(**_square(), min_size=14),
        tokenizer=made,
        num_image_tokens=4,
        chat_template=template("<image_placeholder>"),
    )
    return tf.JanusForConditionalGeneration(config), processor


QFORMER = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "encoder_hidden_size": 32, "max_position_embeddings": 512,
}  # fmt: skip


@_kind
def blip2() -> Made:
    made = tokenizer("<image>")
    text = tf.OPTConfig(
        vocab_size=VOCABULARY, hidden_size=64, ffn_dim=128, num_hidden_layers=2, num_attention_heads=4,
        word_embed_proj_dim=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, max_position_embeddings=512,
    )  # fmt: skip
    config = tf.Blip2Config(
        vision_config=VISION,
        qformer_config=QFORMER,
        text_config=text,
        num_query_tokens=4,
        **_ids(made, image_token_index="<image>"),
    )
    images = tf.BlipImageProcessorPil(**_square())
    return tf.Blip2ForConditionalGeneration(config), tf.Blip2Processor(
        image_processor=images, tokenizer=made, num_query_tokens=4
    )


@_kind
def instructblip() -> Made:
    made = tokenizer("<image>")
    config = tf.InstructBlipConfig(
        vision_config=VISION,
        qformer_config=QFORMER,
        text_config=tf.LlamaConfig(**TEXT),
        num_query_tokens=4,
        **_ids(made, image_token_index="<image>"),
    )
    processor = tf.InstructBlipProcessor(
        image_processor=tf.BlipImageProcessorPil(**_square()),
        tokenizer=made,
        qformer_tokenizer=tokenizer(),
        num_query_tokens=4,
    )
    return tf.InstructBlipForConditionalGeneration(config), processor


@_kind
def kosmos2() -> Made:
    marks = (
        "<image>", "</image>", "<phrase>", "</phrase>", "<object>", "</object>", "</delimiter_of_multi_objects/>",
        "<grounding>",
    )  # fmt: skip
    made = tokenizer(*marks)
    text = {
        "vocab_size": VOCABULARY, "embed_dim": 64, "layers": 2, "ffn_dim": 128, "attention_heads": 4,
        "max_position_embeddings": 2048, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    config = tf.Kosmos2Config(text_config=text, vision_config=VISION, latent_query_num=64)
    processor = tf.Kosmos2Processor(
        image_processor=tf.CLIPImageProcessorPil(**_crop()), tokenizer=made, num_patch_index_tokens=16
    )
    return tf.Kosmos2ForConditionalGeneration(config), processor


@_kind
def paligemma2() -> Made:
    """PaliGemma 2: the same type on a Gemma 2, with sliding windows and a softcap."""
    layers = ["sliding_attention", "full_attention"]
    text = tf.Gemma2Config(**TEXT, head_dim=16, sliding_window=8, layer_types=layers, tie_word_embeddings=False)
    return _paligemma(text)[:2]


@_kind
def ovis2() -> Made:
    marks = ("<IMG_ATOM>", "<IMG_START>", "<IMG_END>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>")
    made = tokenizer(*marks, image_token="<image>")
    tower = {**VISION, "patch_size": 7, "vocab_size": 32, "hidden_stride": 1, "num_visual_indicator_tokens": 5}
    config = tf.Ovis2Config(
        vision_config=tower,
        text_config=tf.Qwen2Config(**TEXT),
        visual_indicator_token_ids=[made.convert_tokens_to_ids(mark) for mark in marks[1:]],
        vocab_size=VOCABULARY,
        hidden_size=64,
        **_ids(made, image_token_id="<IMG_ATOM>"),
    )
    processor = tf.Ovis2Processor(
        image_processor=tf.Ovis2ImageProcessorPil(**_square(), crop_to_patches=True, max_patches=4),
        tokenizer=made,
        image_token="<image>",
        image_seq_length=16,
        chat_template=template("<image>"),
    )
    return tf.Ovis2ForConditionalGeneration(config), processor


@_kind
def video_llama_3() -> Made:
    made = tokenizer(bos=False, image_token="<image>", video_token="<video>")
    config = tf.VideoLlama3Config(
        text_config=tf.Qwen2Config(**TEXT),
        vision_config=VISION,
        **_ids(made, image_token_id="<image>", video_token_id="<video>"),
    )
    images = tf.VideoLlama3ImageProcessorPil(min_pixels=28 * 28, max_pixels=28 * 28 * 16)
    processor = _without_video(tf.VideoLlama3Processor)(
        image_processor=images, tokenizer=made, chat_template=template("<image>")
    )
    return tf.VideoLlama3ForConditionalGeneration(config), processor
