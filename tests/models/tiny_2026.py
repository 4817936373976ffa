"""Tiny random checkpoints of model types whose files in transformers are of 2026, and are not in `tiny_newest`."""

from __future__ import annotations

import math
from typing import Any

import pytest
import transformers as tf

from tests.models.tiny_more import Made, _kind, _pixtral_processor, _qwen_parts
from tests.models.tiny_newest import WINDOWS, _qwen_tokenizer
from tests.models.tiny_random import MROPE, TEXT, VISION, _ids, _without_video, template, tokenizer
from tests.models.tiny_recent import GLM_MARKS, GLM_ROPE, HEAD, NO_TORCHVISION, _glm

QWEN_PAD = "<|vision_start|><|image_pad|><|vision_end|>"
MLA = {
    **TEXT, "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
    "v_head_dim": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
    "moe_intermediate_size": 32, "n_shared_experts": 1,
}  # fmt: skip
"""Latent keys and values, and routed experts."""
INDEXED = {"index_topk": 16, "index_head_dim": 16, "index_n_heads": 16}
"""Sparse attention to the best 16 tokens."""


@_kind
def glmga() -> Made:
    _, ids, tower, processor = _glm(tf.Glm46VProcessor, tf.GlmgaImageProcessorPil)
    config = tf.GlmgaConfig(
        text_config={"model_type": "glm4v_text", **TEXT, "rope_parameters": GLM_ROPE},
        vision_config={"model_type": "glm4v_vision", **tower},
        **ids,
    )
    return tf.Glm46VForConditionalGeneration(config), processor


@_kind
def cosmos3_omni() -> Made:
    _, ids, tower, processor = _qwen_parts()
    text = {**TEXT, **HEAD, "rope_parameters": {**MROPE, "mrope_interleaved": True}}
    config = tf.Cosmos3OmniConfig(text_config=text, vision_config={**tower, "deepstack_visual_indexes": [0, 1]}, **ids)
    return tf.Cosmos3OmniForConditionalGeneration(config), processor


@_kind
def cosmos3_edge() -> Made:
    made = _qwen_tokenizer()
    config = tf.Cosmos3EdgeConfig(
        text_config={**TEXT, **HEAD, "rope_parameters": MROPE},
        vision_config={
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_patches": 16,
        },
        projector_hidden_size=64,
        **_ids(
            made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>", vision_start_token_id="<|vision_start|>",
            vision_end_token_id="<|vision_end|>",
        ),
    )  # fmt: skip
    processor = _without_video(tf.Cosmos3EdgeProcessor)(
        image_processor=tf.Cosmos3EdgeImageProcessorPil(size={"shortest_edge": 32 * 32, "longest_edge": 32 * 32 * 16}),
        tokenizer=made,
        chat_template=template(QWEN_PAD),
    )
    return tf.Cosmos3EdgeForConditionalGeneration(config), processor


@_kind
def hyperclovax_vision_v2() -> Made:
    made = _qwen_tokenizer()
    tower = {
        "depth": 2, "hidden_size": 32, "out_hidden_size": 64, "num_heads": 4, "intermediate_size": 64, "patch_size": 14,
        "window_size": 56, "fullatt_block_indexes": [1],
    }  # fmt: skip
    config = tf.HyperCLOVAXVisionV2Config(
        text_config=dict(TEXT),
        vision_config=tower,
        tie_word_embeddings=False,
        **_ids(made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>"),
    )
    processor = _without_video(tf.HyperCLOVAXVisionV2Processor)(
        image_processor=tf.Qwen2VLImageProcessorPil(patch_size=14, min_pixels=28 * 28, max_pixels=28 * 28 * 16),
        tokenizer=made,
        chat_template=template(QWEN_PAD),
    )
    return tf.HyperCLOVAXVisionV2ForConditionalGeneration(config), processor


@_kind
def dots3_note() -> Made:
    made = tokenizer("<|imgpad|>", "<|video_pad|>", "<|audio_comp_pad|>", "<|img|>", "<|endofimg|>", bos=False)
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 32, "kv_lora_rank": 16, "head_dim": 16}
    text = {
        **MLA, **INDEXED, "head_dim": 16, "num_hidden_layers": 4, "sliding_window": 16, "shared_experts_intermediate_size": 32,
        "layer_types": ["indexed_attention", "sliding_attention"] * 2, "mlp_layer_types": ["dense", "sparse"] * 2,
        **{f"swa_{name}": value for name, value in heads.items()}, "swa_qk_nope_head_dim": 8, "swa_v_head_dim": 16,
    }  # fmt: skip
    tower = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "moe_intermediate_size": 16,
        "num_local_experts": 4, "mlp_layer_types": ["dense", "sparse"], "adapter_in_dim": 32, "adapter_out_dim": 64,
        "num_experts_per_tok": 2,
    }  # fmt: skip
    sound = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "adapter_input_size": 32,
        "adapter_out_dim": 64, "downsample_hidden_size": 8,
    }  # fmt: skip
    config = tf.Dots3NoteConfig(
        text_config=text,
        vision_config=tower,
        audio_config=sound,
        **_ids(made, image_token_id="<|imgpad|>", video_token_id="<|video_pad|>", audio_token_id="<|audio_comp_pad|>"),
    )
    processor = _without_video(tf.Dots3NoteProcessor)(
        image_processor=tf.Qwen2VLImageProcessorPil(
            patch_size=14, temporal_patch_size=1, min_pixels=28 * 28, max_pixels=28 * 28 * 16
        ),
        tokenizer=made,
        feature_extractor=tf.Dots3NoteFeatureExtractor(),
        chat_template=template("<|img|><|imgpad|><|endofimg|>"),
    )
    return tf.Dots3NoteForConditionalGeneration(config), processor


@_kind
def glm5_next() -> Made:
    made = tokenizer(*GLM_MARKS, bos=False, image_token="<|image|>", video_token="<|video|>")
    text = {
        **MLA, **INDEXED, "num_hidden_layers": 4, "layer_types": ["linear_attention", "indexed_attention"] * 2,
        "mlp_layer_types": ["dense", "sparse"] * 2, "qk_rope_head_dim": 0, "qk_nope_head_dim": 16, "linear_head_dim": 16,
        "linear_num_heads": 4, "index_kpool": 4, "hc_mult": 2,
    }  # fmt: skip
    tower = {
        "depth": 2, "hidden_size": 32, "num_heads": 4, "out_hidden_size": 64, "intermediate_size": 64,
        "projection_intermediate_size": 64, "image_size": 56,
    }  # fmt: skip
    config = tf.Glm5NextConfig(
        text_config=text,
        vision_config=tower,
        **_ids(
            made, image_token_id="<|image|>", video_token_id="<|video|>", image_start_token_id="<|begin_of_image|>",
            image_end_token_id="<|end_of_image|>", video_start_token_id="<|begin_of_video|>",
            video_end_token_id="<|end_of_video|>",
        ),
    )  # fmt: skip
    processor = _without_video(tf.Glm5NextProcessor)(
        image_processor=tf.Glm5NextImageProcessorPil(min_image_tokens=2, max_image_tokens=24),
        tokenizer=made,
        chat_template=template("<|begin_of_image|><|image|><|end_of_image|>"),
    )
    return tf.Glm5NextForConditionalGeneration(config), processor


@_kind
def mistral_large4() -> Made:
    processor = _pixtral_processor(patch_size=7, spatial_merge_size=2)
    rope = {
        "rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 64, "beta_fast": 32.0,
        "beta_slow": 1.0, "attention_factor": 1.0,
    }  # fmt: skip
    text = {
        **MLA, **INDEXED, "num_hidden_layers": 4, "rope_parameters": rope, "kv_source_layers": [0, 1, 1, 3],
        "no_rope_layers": [1, 0, 0, 1],
    }  # fmt: skip
    text.pop("q_lora_rank")
    config = tf.MistralLarge4Config(
        vision_config=tf.PixtralVisionConfig(**{**VISION, "image_size": 56, "patch_size": 7}),
        text_config=text,
        spatial_merge_size=2,
        **_ids(processor.tokenizer, image_token_index="[IMG]"),
    )
    return tf.MistralLarge4ForConditionalGeneration(config), processor


@_kind
def mistral3_of_4() -> Made:
    """Mistral3 around a text model of mistral4, as Mistral Small 4 is saved."""
    processor = _pixtral_processor(patch_size=7, spatial_merge_size=2)
    rope = {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 32.0,
        "original_max_position_embeddings": 16,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "llama_4_scaling_beta": 0.1,
        "partial_rotary_factor": 0.5,
    }  # fmt: skip  (queries are scaled from position 16 on)
    config = tf.Mistral3Config(
        vision_config=tf.PixtralVisionConfig(**{**VISION, "image_size": 56, "patch_size": 7}),
        text_config=tf.Mistral4Config(**MLA, rope_parameters=rope),
        spatial_merge_size=2,
        **_ids(processor.tokenizer, image_token_id="[IMG]"),
    )
    return tf.Mistral3ForConditionalGeneration(config), processor


@_kind
def deepseek_ocr2() -> Made:
    made = tokenizer(image_token="<image>")
    tower = {
        "sam_config": {
            "hidden_size": 16, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 192,
            "patch_size": 4, "window_size": 4, "global_attn_indexes": [], "mlp_dim": 32, "downsample_channels": [16, 32],
        },
        "encoder_config": {
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_key_value_heads": 2,
        },
    }  # fmt: skip
    text = {
        **TEXT, "max_position_embeddings": 4096, "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "mlp_layer_types": ["dense", "sparse"], "n_shared_experts": 1,
    }  # fmt: skip
    config = tf.DeepseekOcr2Config(vision_config=tower, text_config=text, **_ids(made, image_token_id="<image>"))
    processor = tf.DeepseekOcr2Processor(
        image_processor=tf.DeepseekOcr2ImageProcessorPil(
            size={"height": 192, "width": 192}, tile_size=192, max_patches=2
        ),
        tokenizer=made,
        patch_size=4,
        chat_template=template("<image>"),
    )  # a view of 144 patches has as many queries, whatever the files say
    return tf.DeepseekOcr2ForConditionalGeneration(config), processor


@_kind
def granite_docling() -> Made:
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)]
    made = tokenizer("<fake_token_around_image>", "<global-img>", *tiles, bos=False, image_token="<image>")
    config = tf.GraniteDoclingConfig(
        vision_config={
            **VISION, "image_size": 56, "patch_size": 7, "num_hidden_layers": 3, "out_hidden_size": 64, "scale_factor": 4,
            "deepstack_visual_indexes": [0, 1],
        },
        text_config={
            **TEXT, "num_hidden_layers": 3, "tie_word_embeddings": False, "embedding_multiplier": 1.0, "logits_scaling": 1.0,
            "residual_multiplier": 1.0, "attention_multiplier": 0.25,
        },
        tie_word_embeddings=False,
        pad_token_id=0,
        **_ids(made, image_token_id="<image>"),
    )  # fmt: skip
    processor = tf.GraniteDoclingProcessor(
        image_processor=tf.GraniteDoclingImageProcessorPil(size={"height": 56, "width": 56}, max_patches=4),
        tokenizer=made,
        image_seq_len=4,
        chat_template=template("<image>"),
    )
    return tf.GraniteDoclingForConditionalGeneration(config), processor


@_kind
def pp_chart2table() -> Made:
    made = tokenizer("<img>", "</img>", "<imgpad>", bos=False)
    tower = {
        "hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 256,
        "patch_size": 4, "window_size": 2, "global_attn_indexes": [], "mlp_dim": 64,
    }  # fmt: skip
    config = tf.PPChart2TableConfig(
        vision_config=tower, text_config={**TEXT, "max_position_embeddings": 1024}, image_seq_length=256,
        tie_word_embeddings=False, **_ids(made, image_token_index="<imgpad>"),
    )  # fmt: skip
    processor = tf.PPChart2TableProcessor(
        image_processor=tf.PPChart2TableImageProcessorPil(size={"height": 256, "width": 256}),
        tokenizer=made,
        chat_template=template("<img>" + "<imgpad>" * 256 + "</img>"),
    )
    return tf.GotOcr2ForConditionalGeneration(config), processor


MUSE_TOKENS = (
    "<|patch|>", "<|image_start|>", "<|image_end|>", "<|video|>", "<|vid_frame_separator|>", "<|vid_start|>", "<|vid_end|>",
)  # fmt: skip
MUSE_TEXT = {
    **TEXT, **HEAD, "num_hidden_layers": 4, "layer_types": WINDOWS, "sliding_window": 16, "layer_rope_theta": [10000.0, 0] * 2,
    "output_multiplier": 1.0, "final_logit_softcapping": 20.0, "qk_scale_factor": 1.5,
}  # fmt: skip
MUSE_TOWER = {
    "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "pos_emb_height": 4,
    "pos_emb_width": 4, "max_position_embeddings": 16, "layer_types": ["window_attention", "full_attention", "full_attention"],
}  # fmt: skip


def _muse_images() -> Any:
    return tf.MuseGlimmerImageProcessor(max_image_tokens=16)


@_kind
def muse_glimmer() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    made = tokenizer(*MUSE_TOKENS)
    config = tf.MuseGlimmerConfig(
        text_config=MUSE_TEXT, vision_config=MUSE_TOWER, out_hidden_size=128, projector_hidden_size=64,
        **_ids(made, image_token_id="<|patch|>", video_token_id="<|video|>"),
    )  # fmt: skip
    processor = _without_video(tf.MuseGlimmerProcessor)(
        image_processor=_muse_images(), tokenizer=made, chat_template=template("<|patch|>")
    )
    return tf.MuseGlimmerForConditionalGeneration(config), processor


@_kind
def muse_spark() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    sounds = ("<|audio|>", "<|audio_start|>", "<|audio_end|>")
    made = tokenizer(*MUSE_TOKENS, *sounds)
    text = {
        **MUSE_TEXT, "mlp_layer_types": ["dense", "sparse"] * 2, "moe_intermediate_size": 32, "num_local_experts": 4,
        "num_experts_per_tok": 2, "moe_hidden_size": 32,
    }  # fmt: skip
    sound = {
        "patch_sizes": [40, 48], "hidden_sizes": [16, 32], "depths": [1, 1], "num_hidden_layers": 2, "out_hidden_size": 64,
    }  # fmt: skip
    config = tf.MuseSparkConfig(
        text_config=text, vision_config=MUSE_TOWER, audio_config=sound, out_hidden_size=128, projector_hidden_size=64,
        **_ids(made, image_token_id="<|patch|>", video_token_id="<|video|>", audio_token_id="<|audio|>"),
    )  # fmt: skip
    processor = _without_video(tf.MuseSparkProcessor)(
        image_processor=_muse_images(),
        tokenizer=made,
        feature_extractor=tf.MuseSparkFeatureExtractor(samples_per_token=math.prod(sound["patch_sizes"])),
        chat_template=template("<|patch|>", sound="<|audio|>"),
    )
    return tf.MuseSparkForConditionalGeneration(config), processor


INKLING_TEXT = {
    **TEXT, **HEAD, "num_hidden_layers": 4, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 2, "swa_head_dim": 16,
    "sliding_window_size": 16, "d_rel": 8, "rel_extent": 32, "layer_types": ["hybrid_sliding", "hybrid"] * 2,
    "log_scaling_n_floor": 16, "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2,
}  # fmt: skip


@_kind
def inkling_mm_model() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    pytest.importorskip("scipy", reason="transformers' vision tower for this type needs it")
    made = tokenizer(
        "<|content_image|>", "<|content_audio_input|>", bos=False, image_token="<|unused_200054|>",
        audio_token="<|unused_200053|>",
    )  # fmt: skip
    config = tf.InklingConfig(
        text_config={
            **INKLING_TEXT, "mlp_layer_types": ["dense", "sparse"] * 2, "n_shared_experts": 1, "logits_mup_width_multiplier": 1.0,
        },
        vision_config={"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        audio_config={"n_mel_bins": 80, "mel_vocab_size": 16},
        **_ids(
            made, image_token_id="<|unused_200054|>", audio_token_id="<|unused_200053|>", image_bos_token_id="<|content_image|>",
            audio_bos_token_id="<|content_audio_input|>",
        ),
    )  # fmt: skip
    processor = tf.InklingProcessor(
        feature_extractor=tf.InklingFeatureExtractor(),
        image_processor=tf.InklingImageProcessor(rescale_image_frac=0.5),
        tokenizer=made,
        chat_template=template("<|content_image|><|unused_200054|>", sound="<|content_audio_input|><|unused_200053|>"),
    )
    return tf.InklingForConditionalGeneration(config), processor


@_kind
def inkling2() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    made = tokenizer(bos=False, image_token="<|unused_200054|>")
    config = tf.Inkling2Config(
        text_config={**INKLING_TEXT, "unpadded_vocab_size": 690, "n_layers_per_attn_res_block": 2},
        vision_config={
            "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "posemb_grid_size": 4,
            "projection_hidden_dim": 64, "text_hidden_size": 64,
        },
        **_ids(made, image_token_id="<|unused_200054|>"),
    )  # fmt: skip
    processor = tf.Inkling2Processor(
        image_processor=tf.Inkling2ImageProcessor(), tokenizer=made, chat_template=template("<|unused_200054|>")
    )
    return tf.Inkling2ForConditionalGeneration(config), processor


def _nemotron_h_omni(sound: dict[str, Any] | None) -> Made:
    """sound: its encoder of sounds; a checkpoint without one is deaf."""
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    named = {
        "image_token": "<image>", "video_token": "<video>", "audio_token": "<so_embedding>", "image_start_token": "<img>",
        "image_end_token": "</img>",
    }  # fmt: skip
    made = tokenizer("<so_start>", "<so_end>", bos=False, **named)
    text = {
        **{name: value for name, value in TEXT.items() if name != "num_hidden_layers"}, **HEAD,
        "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"], "ssm_state_size": 16, "mamba_num_heads": 4,
        "mamba_head_dim": 16, "n_groups": 2, "expand": 1, "chunk_size": 8, "n_routed_experts": 4, "moe_intermediate_size": 32,
        "moe_shared_expert_intermediate_size": 32,
    }  # fmt: skip
    tower = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "mlp_ratio": 2.0, "patch_size": 8, "image_size": 32,
        "max_img_size": 64, "num_cls_tokens": 1, "num_registers": 1, "video_temporal_patch_size": 2, "summary_idxs": [0],
    }  # fmt: skip
    config = tf.NemotronH_Omni_Reasoning_V3_Config(
        text_config=text, vision_config=tower, audio_config=sound, vision_hidden_size=32, projector_hidden_size=64,
        **_ids(made, image_token_id="<image>", video_token_id="<video>", audio_token_id="<so_embedding>"),
    )  # fmt: skip
    images = tf.NemotronH_Omni_Reasoning_V3ImageProcessor(
        patch_size=8, min_num_patches=16, max_num_patches=64, max_model_len=12
    )  # two pictures have a larger budget than one
    processor = _without_video(tf.NemotronH_Omni_Reasoning_V3Processor)(
        image_processor=images,
        tokenizer=made,
        feature_extractor=tf.ParakeetFeatureExtractor(),
        chat_template=template("<image>", sound="<so_embedding>"),
    )
    return tf.NemotronH_Omni_Reasoning_V3(config), processor


@_kind
def nemotron_h_omni() -> Made:
    return _nemotron_h_omni(None)


@_kind
def minicpm_ocr() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    named = {
        "image_token": "<|image_pad|>", "video_token": "<|video_pad|>", "image_start_token": "<image>",
        "image_end_token": "</image>", "slice_start_token": "<slice>", "slice_end_token": "</slice>",
        "image_id_start_token": "<image_id>", "image_id_end_token": "</image_id>",
    }  # fmt: skip
    made = tokenizer(bos=False, **named)
    text = {
        "model_type": "qwen3_5_text", **TEXT, "head_dim": 16, "intermediate_size": 96,
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
    }  # fmt: skip
    config = tf.MiniCPMOcrConfig(
        text_config=text,
        vision_config={**VISION, "num_hidden_layers": 3, "image_size": 56, "insert_layer_id": 0},
        insert_layer_id=0,
        tie_word_embeddings=False,
        **_ids(made, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>"),
    )
    processor = _without_video(tf.MiniCPMOcrProcessor)(
        image_processor=tf.MiniCPMOcrImageProcessor(scale_resolution=56, max_slice_nums=2, patch_size=14),
        tokenizer=made,
        chat_template=template("<|image_pad|>"),
    )
    return tf.MiniCPMOcrForConditionalGeneration(config), processor


@_kind
def unlimited_ocr() -> Made:
    pytest.importorskip("torchvision", reason=NO_TORCHVISION)
    made = tokenizer(image_token="<image>")
    tower = {
        "sam_config": {
            "hidden_size": 16, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 64,
            "patch_size": 4, "window_size": 4, "global_attn_indexes": [], "mlp_dim": 32, "downsample_channels": [16, 32],
        },
        "encoder_config": {
            "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
            "patch_size": 16,
        },
    }  # fmt: skip
    text = {
        **TEXT, "moe_intermediate_size": 32, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1,
        "mlp_layer_types": ["dense", "sparse"], "sliding_window": 4,
    }  # fmt: skip
    config = tf.UnlimitedOcrConfig(vision_config=tower, text_config=text, **_ids(made, image_token_id="<image>"))
    processor = tf.UnlimitedOcrProcessor(
        image_processor=tf.UnlimitedOcrImageProcessor(
            size={"height": 64, "width": 64}, tile_size=48, max_patches=3, maximum_pad_value=48
        ),
        tokenizer=made,
        patch_size=4,
        chat_template=template("<image>"),
    )
    return tf.UnlimitedOcrForConditionalGeneration(config), processor


KINDS_2026 = (
    "glmga", "cosmos3_omni", "cosmos3_edge", "hyperclovax_vision_v2", "dots3_note", "glm5_next", "mistral_large4",
    "mistral3_of_4", "deepseek_ocr2", "granite_docling", "pp_chart2table", "muse_glimmer", "muse_spark", "inkling_mm_model",
    "inkling2", "nemotron_h_omni", "minicpm_ocr", "unlimited_ocr",
)  # fmt: skip
ONE_PICTURE = ("pp_chart2table",)
"""Types that take one picture in each prompt."""
