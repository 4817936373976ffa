"""Tiny random checkpoints of further model types of 2025 and 2026."""

from __future__ import annotations

from typing import Any

import pytest
import transformers as tf

from tests.models.tiny_more import Made, _kind, _qwen_parts, _square
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
from tests.models.tiny_recent import GLM_ROPE, HEAD, NO_TORCHVISION, _glm

WINDOWS = ["sliding_attention", "full_attention"] * 2
NO_TIMM = "transformers' vision tower for this type is timm's"
QWEN_PAD = "<|vision_start|><|image_pad|><|vision_end|>"


def _qwen_tokenizer() -> Any:
    return tokenizer(*QWEN_TOKENS, bos=False, image_token="<|image_pad|>", video_token="<|video_pad|>")


@_kind
def deepseek_vl() -> Made:
    made = tokenizer(image_token="<image_placeholder>")
    config = tf.DeepseekVLConfig(
        text_config=tf.LlamaConfig(**TEXT),
        vision_config=tf.SiglipVisionConfig(**VISION, vision_use_head=False),
        **_ids(made, image_token_id="<image_placeholder>"),
    )
    processor = tf.DeepseekVLProcessor(
        image_processor=tf.DeepseekVLImageProcessorPil(**_square(), min_size=14),
        tokenizer=made,
        num_image_tokens=4,
        chat_template=template("<image_placeholder>"),
    )
    return tf.DeepseekVLForConditionalGeneration(config), processor


@_kind
def deepseek_vl_hybrid() -> Made:
    made = tokenizer(image_token="<image_placeholder>")
    high = {
        "hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
        "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "mlp_dim": 64,
    }  # fmt: skip
    config = tf.DeepseekVLHybridConfig(
        text_config=tf.LlamaConfig(**TEXT),
        vision_config=tf.SiglipVisionConfig(**VISION, vision_use_head=False),
        high_res_vision_config={"model_type": "sam_vision_model", **high},
        **_ids(made, image_token_id="<image_placeholder>"),
    )
    images = tf.DeepseekVLHybridImageProcessorPil(**_square(), min_size=14, high_res_size={"height": 64, "width": 64})
    processor = tf.DeepseekVLHybridProcessor(
        image_processor=images, tokenizer=made, num_image_tokens=4, chat_template=template("<image_placeholder>")
    )
    return tf.DeepseekVLHybridForConditionalGeneration(config), processor


@_kind
def glm_ocr() -> Made:
    _, ids, tower, processor = _glm(tf.Glm46VProcessor, tf.Glm46VImageProcessorPil)
    tower = {name: value for name, value in tower.items() if name != "image_size"}
    config = tf.GlmOcrConfig(text_config={**TEXT, "rope_parameters": GLM_ROPE}, vision_config=tower, **ids)
    return tf.GlmOcrForConditionalGeneration(config), processor


@_kind
def granite4_vision() -> Made:
    made = tokenizer(image_token="<image>")
    tower = {**VISION, "hidden_size": 64, "num_hidden_layers": 3, "image_size": 56}
    config = tf.Granite4VisionConfig(
        text_config={**TEXT, "num_hidden_layers": 4},
        vision_config=tf.SiglipVisionConfig(**tower, vision_use_head=False),
        qformer_config={"num_hidden_layers": 1, "intermediate_size": 64},
        vision_feature_select_strategy="full",
        downsample_rate="1/2",
        deepstack_layer_map=[[-2, 0], [-1, 1]],
        spatial_target_layers=[0, 1, 2, 3],
        image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]],
        **_ids(made, image_token_index="<image>"),
    )
    processor = tf.Granite4VisionProcessor(
        image_processor=tf.LlavaNextImageProcessorPil(
            size={"shortest_edge": 56}, crop_size={"height": 56, "width": 56},
            image_grid_pinpoints=[[56, 112], [112, 56], [112, 112]],
        ),
        tokenizer=made, patch_size=14, vision_feature_select_strategy="full", downsample_rate="1/2",
        chat_template=template("<image>"),
    )  # fmt: skip
    return tf.Granite4VisionForConditionalGeneration(config), processor


@_kind
def minicpmv4_7() -> Made:
    named = {
        "image_token": "<|image_pad|>", "video_token": "<|video_pad|>", "image_start_token": "<image>",
        "image_end_token": "</image>", "slice_start_token": "<slice>", "slice_end_token": "</slice>",
        "image_id_start_token": "<image_id>", "image_id_end_token": "</image_id>",
    }  # fmt: skip
    made = tokenizer(bos=False, **named)
    tower = {**VISION, "num_hidden_layers": 3, "image_size": 56, "patch_size": 14, "insert_layer_id": 0}
    rope = {**MROPE, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.25, "mrope_interleaved": True}
    text = {
        "model_type": "qwen3_5_text", **TEXT, "head_dim": 16, "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
        "rope_parameters": rope,
    }  # fmt: skip
    config = tf.MiniCPMV4_7Config(
        text_config=text,
        vision_config=tower,
        insert_layer_id=0,
        image_size=56,
        **_ids(
            made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>", image_start_id="<image>",
            image_end_id="</image>", slice_start_id="<slice>", slice_end_id="</slice>",
        ),
    )  # fmt: skip
    images = tf.MiniCPMV4_6ImageProcessorPil(scale_resolution=56, max_slice_nums=2, patch_size=14)
    processor = _without_video(tf.MiniCPMV4_7Processor)(
        image_processor=images, tokenizer=made, chat_template=template("<|image_pad|>")
    )
    return tf.MiniCPMV4_7ForConditionalGeneration(config), processor


@_kind
def lfm3_vl() -> Made:
    made = _qwen_tokenizer()
    tower = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "patch_size": 14, "layer_types": ["conv", "full_attention"],
    }  # fmt: skip
    config = tf.Lfm3VlConfig(
        text_config={"model_type": "lfm3", **TEXT, "layer_types": ["conv", "full_attention"], "conv_L_cache": 3},
        vision_config=tower,
        projector_hidden_size=64,
        **_ids(
            made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>", vision_start_token_id="<|vision_start|>",
            vision_end_token_id="<|vision_end|>",
        ),
    )  # fmt: skip
    processor = _without_video(tf.Lfm3VlProcessor)(
        image_processor=tf.Qwen2VLImageProcessorPil(patch_size=14, min_pixels=28 * 28, max_pixels=28 * 28 * 16),
        tokenizer=made,
        chat_template=template(QWEN_PAD),
    )
    return tf.Lfm3VlForConditionalGeneration(config), processor


@_kind
def ernie4_5_vl_moe() -> Made:
    named = {
        "image_token": "<|IMAGE_PLACEHOLDER|>", "image_start_token": "<|IMAGE_START|>", "image_end_token": "<|IMAGE_END|>",
        "video_token": "<|VIDEO_PLACEHOLDER|>", "video_start_token": "<|VIDEO_START|>", "video_end_token": "<|VIDEO_END|>",
    }  # fmt: skip
    made = tokenizer(bos=False, **named)
    ids = _ids(made, **{f"{name}_id": token for name, token in named.items()})
    tower = {
        "depth": 2, "hidden_size": 32, "num_heads": 4, "intermediate_size": 64, "patch_size": 14, "spatial_merge_size": 2,
        "temporal_merge_size": 2,
    }  # fmt: skip
    text = {
        **TEXT, "moe_intermediate_size": [32, 16], "moe_k": 2, "moe_num_experts": 4, "moe_num_shared_experts": 1,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [3, 3, 2]},
        "mlp_layer_types": ["dense", "sparse"],
    }  # fmt: skip
    config = tf.Ernie4_5_VLMoeConfig(text_config=text, vision_config=tower, **ids)
    images = tf.Ernie4_5_VLMoeImageProcessorPil(size={"shortest_edge": 28 * 28 * 2, "longest_edge": 28 * 28 * 16})
    processor = _without_video(tf.Ernie4_5_VLMoeProcessor)(
        image_processor=images,
        tokenizer=made,
        chat_template=template("<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>"),
    )
    return tf.Ernie4_5_VLMoeForConditionalGeneration(config), processor


GEMMA_TOKENS = {
    "image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>",
    "audio_token": "<audio_soft_token>", "boa_token": "<start_of_audio>", "eoa_token": "<end_of_audio>",
}  # fmt: skip


@_kind
def gemma3n() -> Made:
    pytest.importorskip("timm", reason=NO_TIMM)
    made = tokenizer(**GEMMA_TOKENS)
    text = {
        **TEXT, **HEAD, "num_hidden_layers": 4, "sliding_window": 16, "layer_types": WINDOWS,
        "vocab_size_per_layer_input": VOCABULARY - 16, "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 2,
        "laurel_rank": 8, "altup_num_inputs": 2, "max_position_embeddings": 2048,
    }  # fmt: skip
    config = tf.Gemma3nConfig(
        text_config=text,
        vision_config={"architecture": "mobilenetv5_base", "hidden_size": 2048, "vocab_size": 8, "vocab_offset": VOCABULARY - 16},
        audio_config={
            "vocab_size": 8, "vocab_offset": VOCABULARY - 8, "hidden_size": 32, "conf_num_attention_heads": 4,
            "conf_num_hidden_layers": 1,
            "sscp_conv_channel_size": [8, 4],
        },
        **_ids(
            made, image_token_id="<image_soft_token>", boi_token_id="<start_of_image>", eoi_token_id="<end_of_image>",
            audio_token_id="<audio_soft_token>", boa_token_id="<start_of_audio>", eoa_token_id="<end_of_audio>",
        ),
    )  # fmt: skip
    processor = tf.Gemma3nProcessor(
        feature_extractor=tf.Gemma3nAudioFeatureExtractor(),
        image_processor=tf.SiglipImageProcessorPil(**_square(64)),
        tokenizer=made,
        image_seq_length=256,
        chat_template=template("<image_soft_token>", sound="<audio_soft_token>"),
    )
    return tf.Gemma3nForConditionalGeneration(config), processor


@_kind
def gemma4_unified() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    made = tokenizer("<|video|>", **GEMMA_TOKENS)
    text = {
        **TEXT, **HEAD, "num_hidden_layers": 4, "sliding_window": 16, "layer_types": WINDOWS,
        "global_head_dim": 16, "num_global_key_value_heads": 2,
    }  # fmt: skip
    config = tf.Gemma4UnifiedConfig(
        text_config=text,
        vision_config={
            "patch_size": 4, "pooling_kernel_size": 2, "mm_embed_dim": 64, "mm_posemb_size": 1024, "output_proj_dims": 64,
        },
        audio_config={},
        **_ids(
            made, image_token_id="<image_soft_token>", boi_token_id="<start_of_image>", eoi_token_id="<end_of_image>",
            video_token_id="<|video|>", audio_token_id="<audio_soft_token>", boa_token_id="<start_of_audio>",
            eoa_token_index="<end_of_audio>",
        ),
    )  # fmt: skip
    images = tf.Gemma4UnifiedImageProcessor(patch_size=4, max_soft_tokens=70, pooling_kernel_size=2)
    processor = _without_video(tf.Gemma4UnifiedProcessor)(
        feature_extractor=tf.Gemma4UnifiedAudioFeatureExtractor(),
        image_processor=images,
        tokenizer=made,
        image_seq_length=70,
        chat_template=template("<image_soft_token>", sound="<audio_soft_token>"),
    )
    return tf.Gemma4UnifiedForConditionalGeneration(config), processor


@_kind
def molmo2() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    marks = (
        "<im_patch>", "<im_col>", "<im_start>", "<low_res_im_start>", "<frame_start>", "<im_end>", "<frame_end>", "<im_low>",
        "<|video|>",
    )  # fmt: skip
    made = tokenizer(*marks, bos=False, image_token="<|image|>", video_token="<|video|>")
    ids = _ids(
        made, image_start_token_id="<im_start>", low_res_image_start_token_id="<low_res_im_start>", image_end_token_id="<im_end>",
        image_patch_id="<im_patch>", frame_start_token_id="<frame_start>", frame_end_token_id="<frame_end>",
    )  # fmt: skip
    config = tf.Molmo2Config(
        text_config={**TEXT, **HEAD, "additional_vocab_size": 16},
        vision_config={
            **VISION, "image_size": [28, 28], "patch_size": 7, "num_hidden_layers": 3, "num_key_value_heads": 4, "head_dim": 8,
        },
        adapter_config={
            "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8, "intermediate_size": 64,
            "text_hidden_size": 64, "vision_feature_layer": [2, 1],
        },
        **ids,
    )  # fmt: skip
    images = tf.Molmo2ImageProcessor(
        **_square(), max_crops=2, overlap_margins=[1, 1], patch_size=7, pooling_size=[2, 2]
    )
    processor = _without_video(tf.Molmo2Processor)(
        image_processor=images, tokenizer=made, chat_template=template("<|image|>")
    )
    return tf.Molmo2ForConditionalGeneration(config), processor


@_kind
def kimi_k25() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    made = tokenizer(
        "<|media_begin|>", "<|media_end|>", bos=False, image_token="<|media_pad|>", video_token="<|video_pad|>"
    )
    config = tf.Kimi_K25Config(
        text_config={
            "model_type": "deepseek_v3", **{**TEXT, "num_key_value_heads": 4}, "kv_lora_rank": 16, "q_lora_rank": 32,
            "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2,
            "n_group": 1, "topk_group": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1, "n_shared_experts": 1,
        },
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "patch_size": 14,
            "pos_emb_height": 4, "pos_emb_width": 4,
        },
        projection_hidden_size=32,
        **_ids(
            made, image_token_id="<|media_pad|>", video_token_id="<|video_pad|>", vision_start_token_id="<|media_begin|>",
            vision_end_token_id="<|media_end|>",
        ),
    )  # fmt: skip
    processor = _without_video(tf.Kimi_K25Processor)(
        image_processor=tf.Kimi_K25ImageProcessor(size={"max_height": 112, "max_width": 112}, max_patches=32),
        tokenizer=made,
        chat_template=template("<|media_begin|>image<|media_pad|><|media_end|>"),
    )
    return tf.Kimi_K25ForConditionalGeneration(config), processor


@_kind
def step3p7() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    made = tokenizer(
        "<im_patch>", "<im_start>", "<im_end>", "<patch_start>", "<patch_end>", "<patch_newline>", bos=False,
        image_token="<im_patch>",
    )  # fmt: skip
    text = {
        **TEXT, **HEAD, "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2, "share_expert_dim": 32,
        "num_hidden_layers": 3, "layer_types": ["full_attention", "sliding_attention", "full_attention"], "sliding_window": 16,
        "mlp_layer_types": ["dense", "sparse", "sparse"],
    }  # fmt: skip
    config = tf.Step3p7Config(
        text_config=text,
        vision_config={**VISION, "image_size": 56, "patch_size": 7},
        **_ids(made, image_token_id="<im_patch>"),
    )
    images = tf.Step3p7ImageProcessor(
        **_square(56), patch_size=28, max_image_size=112, vision_patch_size=7, downsampler_stride=4
    )
    processor = tf.Step3p7Processor(image_processor=images, tokenizer=made, chat_template=template("<im_patch>"))
    return tf.Step3p7ForConditionalGeneration(config), processor


@_kind
def minimax_m3_vl() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    found = tf.MiniMaxM3VLProcessor
    marks = (found.IMAGE_TOKEN, found.VIDEO_TOKEN, found.VISION_START_TOKEN, found.VISION_END_TOKEN)
    made = tokenizer(*marks, bos=False)
    text = {
        **TEXT, **HEAD, "dense_intermediate_size": 128, "shared_intermediate_size": 32, "intermediate_size": 32,
        "num_local_experts": 4, "num_experts_per_tok": 2, "rotary_dim": 8, "layer_types": ["full_attention", "minimax_m3_sparse"],
        "mlp_layer_types": ["dense", "sparse"], "index_n_heads": 2, "index_head_dim": 16, "index_block_size": 8,
        "index_topk_blocks": 2,
    }  # fmt: skip
    config = tf.MiniMaxM3VLConfig(
        text_config=text,
        vision_config={**VISION, "image_size": 112},
        projector_hidden_size=64,
        **_ids(made, image_token_index=marks[0], video_token_index=marks[1]),
    )
    images = tf.MiniMaxM3VLImageProcessor(size={"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 16})
    processor = _without_video(found)(image_processor=images, tokenizer=made, chat_template=template(marks[0]))
    return tf.MiniMaxM3SparseForConditionalGeneration(config), processor


@_kind
def fast_vlm() -> Made:
    pytest.importorskip("timm", reason=NO_TIMM)
    made = tokenizer(bos=False, image_token="<image>")
    config = tf.FastVlmConfig(
        text_config=tf.Qwen2Config(**TEXT),
        vision_config={
            "model_type": "timm_wrapper", "architecture": "fastvit_mci3", "do_pooling": True, "global_pool": "avg",
            "hidden_size": 3072, "initializer_range": 0.02, "model_args": {"inference_mode": True},
        },
        **_ids(made, image_token_index="<image>"),
    )  # fmt: skip
    processor = tf.LlavaProcessor(
        image_processor=tf.CLIPImageProcessorPil(size={"shortest_edge": 128}, crop_size={"height": 128, "width": 128}),
        tokenizer=made, patch_size=64, vision_feature_select_strategy="full", num_additional_image_tokens=0,
        chat_template=template("<image>"),
    )  # fmt: skip
    return tf.FastVlmForConditionalGeneration(config), processor


@_kind
def perception_lm() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    pytest.importorskip("timm", reason=NO_TIMM)
    made = tokenizer(image_token="<|image|>", video_token="<|video|>")
    config = tf.PerceptionLMConfig(
        text_config=tf.LlamaConfig(**TEXT),
        vision_config={
            "model_type": "timm_wrapper", "architecture": "vit_pe_core_large_patch14_336", "do_pooling": True,
            "global_pool": "map", "initializer_range": 0.02,
            "model_args": {
                "embed_dim": 32, "img_size": [56, 56], "depth": 2, "global_pool": "", "use_post_transformer_norm": False,
                "init_values": 0.1, "ref_feat_shape": [4, 4], "num_heads": 4,
            },
        },
        vision_use_cls_token=True, projector_pooling_ratio=2,
        **_ids(made, image_token_id="<|image|>", video_token_id="<|video|>"),
    )  # fmt: skip
    processor = _without_video(tf.PerceptionLMProcessor)(
        image_processor=tf.PerceptionLMImageProcessor(tile_size=56, max_num_tiles=4, **_square(56)),
        tokenizer=made,
        patch_size=14,
        pooling_ratio=2,
        chat_template=template("<|image|>"),
    )
    return tf.PerceptionLMForConditionalGeneration(config), processor


@_kind
def paddleocr_vl() -> Made:
    made = tokenizer("<|IMAGE_START|>", "<|IMAGE_END|>", bos=False, image_token="<|IMAGE_PLACEHOLDER|>")
    config = tf.PaddleOCRVLConfig(
        text_config={**TEXT, **HEAD, "rope_parameters": MROPE},
        vision_config={**VISION, "spatial_merge_size": 2},
        **_ids(
            made, image_token_id="<|IMAGE_PLACEHOLDER|>", video_token_id="<unk>", vision_start_token_id="<|IMAGE_START|>",
            vision_end_token_id="<|IMAGE_END|>",
        ),
    )  # fmt: skip
    processor = tf.PaddleOCRVLProcessor(
        image_processor=tf.PaddleOCRVLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 16}),
        tokenizer=made,
        chat_template=template("<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>"),
    )
    return tf.PaddleOCRVLForConditionalGeneration(config), processor


@_kind
def hunyuan_vl() -> Made:
    named = {"image_token": "<|image|>", "image_start_token": "<|image_start|>", "image_end_token": "<|image_end|>"}
    made = tokenizer("<|newline|>", **named)
    tower = {
        **VISION, "patch_size": 14, "out_hidden_size": 64, "img_max_token_num": 64, "max_image_size": 112, "min_image_size": 28,
        "text_hidden_size": 64,
    }  # fmt: skip
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 2, 2, 2]}
    config = tf.HunYuanVLConfig(
        text_config={**TEXT, **HEAD, "rope_parameters": rope},
        vision_config={name: value for name, value in tower.items() if name != "image_size"},
        **_ids(
            made, image_token_id="<|image|>", im_start_id="<|image_start|>", im_end_id="<|image_end|>",
            im_newline_id="<|newline|>",
        ),
    )  # fmt: skip
    images = tf.HunYuanVLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 16}, patch_size=14)
    processor = tf.HunYuanVLProcessor(
        image_processor=images, tokenizer=made, chat_template="<s>" + template("<|image_start|><|image|><|image_end|>")
    )  # its processor adds no BOS
    return tf.HunYuanVLForConditionalGeneration(config), processor


@_kind
def cohere_compass() -> Made:
    marks = ("<|VISION_START|>", "<|VISION_END|>", "<|IMAGE_PAD|>", "<|VIDEO_PAD|>")
    made = tokenizer(*marks)
    tower = {
        "depth": 3, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "intermediate_size": 64, "patch_size": 16,
        "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1],
    }  # fmt: skip
    config = tf.CohereCompassConfig(
        text_config={
            **TEXT, "num_hidden_layers": 4, "sliding_window": 16, "layer_types": WINDOWS,
            "rope_parameters": dict.fromkeys(("sliding_attention", "full_attention"), {**MROPE, "mrope_interleaved": True}),
        },
        vision_config=tower,
        **_ids(
            made, image_token_id=marks[2], video_token_id=marks[3], vision_start_token_id=marks[0], vision_end_token_id=marks[1]
        ),
    )  # fmt: skip
    images = tf.CohereCompassImageProcessorPil(
        patch_size=16, size={"shortest_edge": 32 * 32, "longest_edge": 32 * 32 * 16}
    )
    processor = _without_video(tf.CohereCompassProcessor)(
        image_processor=images, tokenizer=made, chat_template=template("<|VISION_START|><|IMAGE_PAD|><|VISION_END|>")
    )
    return tf.CohereCompassForConditionalGeneration(config), processor


@_kind
def aria() -> Made:
    made = tokenizer(image_token="<image>")
    config = tf.AriaConfig(
        text_config={
            **TEXT, "moe_num_experts": 4, "moe_topk": 2, "moe_num_shared_experts": 1, "intermediate_size": 64,
        },
        vision_config={"model_type": "idefics3_vision", **VISION, "image_size": 980, "patch_size": 245},
        projector_patch_to_query_dict={4: 2, 16: 4},
        **_ids(made, image_token_index="<image>"),
    )  # fmt: skip
    processor = tf.AriaProcessor(
        image_processor=tf.AriaImageProcessorPil(max_image_size=490),
        tokenizer=made,
        size_conversion={490: 2, 980: 4},
        chat_template=template("<image>"),
    )
    return tf.AriaForConditionalGeneration(config), processor


@_kind
def qianfan_ocr() -> Made:
    named = {
        "start_image_token": "<img>", "end_image_token": "</img>", "context_image_token": "<IMG_CONTEXT>",
    }  # fmt: skip
    made = tokenizer("<image>", bos=False, **named)
    config = tf.QianfanOCRConfig(
        text_config=tf.Qwen3Config(**TEXT, **HEAD),
        vision_config={**VISION, "image_size": [28, 28], "patch_size": [7, 7]},
        **_ids(made, image_token_id="<IMG_CONTEXT>"),
    )
    images = tf.GotOcr2ImageProcessorPil(**_square(), crop_to_patches=True, max_patches=4, min_patches=1)
    processor = tf.QianfanOCRProcessor(
        image_processor=images, tokenizer=made, image_seq_length=4, chat_template=template("<image>")
    )
    return tf.QianfanOCRForConditionalGeneration(config), processor


@_kind
def qwen4_exp() -> Made:
    _, ids, tower, processor = _qwen_parts()
    rope = {**MROPE, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.25, "mrope_interleaved": True}
    text = {
        **TEXT, "head_dim": 16, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 2,
        "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16, "rope_parameters": rope,
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32,
        "hc_count": 2, "hc_lowrank": 8, "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 16,
        "indexer_compress_ratio": 4,
    }  # fmt: skip
    config = tf.Qwen4ExpConfig(text_config=text, vision_config=tower, **ids)
    return tf.Qwen4ExpForConditionalGeneration(config), processor


NEWEST = ("ernie4_5_vl_moe", "granite4_vision", "lfm3_vl", "minimax_m3_vl", "molmo2", "hunyuan_vl")
"""One of each mechanism for the quick tests: two kinds of types for a token, features that are not kept, a vision tower with
convolutions, sparse attention, pictures that see each other, four axes of positions.
"""
