"""Tiny random checkpoints of types that are not in the table of families, and those that are refused."""

from __future__ import annotations

from collections.abc import Callable

import transformers as tf

from tests.models.tiny_more import Made, _kind
from tests.models.tiny_random import TEXT, VISION, _ids, template, tokenizer
from tests.models.tiny_recent import HEAD, _gemma4_processor

OTHERS: dict[str, Callable[[], Made]] = {}


def _other(make: Callable[[], Made]) -> Callable[[], Made]:
    OTHERS[make.__name__] = make
    return make


@_other
def diffusion_gemma() -> Made:
    processor = _gemma4_processor(
        image_token="<image_soft_token>", boi_token="<start_of_image>", eoi_token="<end_of_image>",
        audio_token="<audio_soft_token>", boa_token="<start_of_audio>", eoa_token="<end_of_audio>",
        video_token="<video_soft_token>",
    )  # fmt: skip
    text = {
        **TEXT, **HEAD, "num_hidden_layers": 4, "sliding_window": 16, "layer_types": ["sliding_attention", "full_attention"] * 2,
        "global_head_dim": 16, "num_global_key_value_heads": 2, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 32,
    }  # fmt: skip
    tower = {
        **VISION, "num_key_value_heads": 4, "head_dim": 8, "patch_size": 4, "pooling_kernel_size": 2,
        "position_embedding_size": 64,
    }  # fmt: skip
    ids = _ids(
        processor.tokenizer, image_token_id="<image_soft_token>", boi_token_id="<start_of_image>",
        eoi_token_id="<end_of_image>",
    )  # fmt: skip
    config = tf.DiffusionGemmaConfig(text_config=text, vision_config=tower, canvas_length=16, **ids)
    return tf.DiffusionGemmaForBlockDiffusion(config), processor


@_kind
def got_ocr2() -> Made:
    made = tokenizer("<img>", "</img>", "<imgpad>", bos=False)
    tower = {
        "hidden_size": 32, "output_channels": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 256,
        "patch_size": 4, "window_size": 2, "global_attn_indexes": [], "mlp_dim": 64,
    }  # fmt: skip
    text = {**TEXT, "max_position_embeddings": 1024}  # a picture has 256 tokens, whatever the files say
    config = tf.GotOcr2Config(
        vision_config=tower, text_config=text, image_seq_length=256, **_ids(made, image_token_id="<imgpad>")
    )
    processor = tf.GotOcr2Processor(
        image_processor=tf.GotOcr2ImageProcessorPil(size={"height": 256, "width": 256}),
        tokenizer=made,
        chat_template=template("<img><imgpad></img>"),
    )
    return tf.GotOcr2ForConditionalGeneration(config), processor
