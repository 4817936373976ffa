"""Tiny random models of any causal type of transformers, from its own default config with small numbers in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import transformers as tf

from tests.models.tiny_random import scaled

_LAYERS = dict.fromkeys(
    ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "num_decoder_layers",
     "num_encoder_layers"), 4,
)  # fmt: skip
_HEADS = dict.fromkeys(
    ("num_attention_heads", "n_head", "n_heads", "num_heads", "attention_heads", "encoder_attention_heads",
     "decoder_attention_heads", "num_encoder_attention_heads", "num_decoder_attention_heads"), 4,
)  # fmt: skip
_WIDTHS = dict.fromkeys(
    (
        "hidden_size",
        "d_model",
        "n_embd",
        "dim",
        "emb_dim",
        "embedding_size",
        "model_dim",
        "word_embed_proj_dim",
        "lru_width",
    ),
    64,
)
_INNER = dict.fromkeys(
    ("intermediate_size", "ffn_dim", "d_inner", "encoder_ffn_dim", "decoder_ffn_dim", "feed_forward_size", "n_inner", "d_ff",
     "dff", "ffn_hidden_size", "dense_intermediate_size", "intermediate_size_mlp", "mamba_d_ssm"), 128,
)  # fmt: skip
_LENGTHS = dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "n_ctx"), 512)
_EXPERTS = {
    **dict.fromkeys(("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_k", "top_k_experts", "moe_topk"), 2),
    **dict.fromkeys(("n_shared_experts", "n_group", "topk_group", "first_k_dense_replace", "num_mem_blocks"), 1),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size"), 32),
}
_MAMBA = {
    **dict.fromkeys(("mamba_n_heads", "mamba_num_heads"), 8),
    **dict.fromkeys(("mamba_d_head", "mamba_head_dim", "mamba_d_state", "mamba_chunk_size", "chunk_size", "state_size"), 16),
    **dict.fromkeys(("time_step_rank",), 8), "n_mamba_heads": 2,
}  # fmt: skip
_REST = {
    **dict.fromkeys(
        ("num_key_value_heads", "num_kv_heads", "num_global_key_value_heads", "index_n_heads", "o_groups"), 2
    ),
    **dict.fromkeys(("linear_num_key_heads", "linear_num_value_heads"), 2),
    **dict.fromkeys(
        ("head_dim", "attention_head_dim", "kv_channels", "kv_lora_rank", "q_lora_rank", "o_lora_rank"), 16
    ),
    **dict.fromkeys(
        ("v_head_dim", "qk_head_dim", "global_head_dim", "swa_head_dim", "index_head_dim", "block_size"), 16
    ),
    **dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "sliding_window", "window_size"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "hidden_size_per_layer_input"), 8),
    "vocab_size_per_layer_input": 700,
}
SMALL = {**_LAYERS, **_HEADS, **_WIDTHS, **_INNER, **_LENGTHS, **_EXPERTS, **_MAMBA, **_REST}
_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_TURNS: tuple[dict[str, int | None], ...] = (
    {},
    {"num_key_value_heads": 4},
    {"head_dim": None},
    dict.fromkeys(_LAYERS, 2),
    {"num_key_value_heads": 4, "head_dim": None},
    dict.fromkeys(_MAMBA, None),
)
"""Other small numbers that are tried where a type does not run with the first ones."""
MOST = 20_000_000
"""Parameters of a model that is no longer tiny: some of its numbers have other names."""


def tiny_causal(kind: str, **own: Any) -> Any:
    """A model that runs on 24 tokens. Raises RuntimeError for a type that none of the numbers fit. own: numbers of the type's."""
    said = []
    for turn in _TURNS:
        small = {name: value for name, value in {**SMALL, **turn}.items() if value is not None}
        for config in _configs(kind, small, own):
            try:
                with torch.device("meta"):
                    size = sum(each.numel() for each in tf.AutoModelForCausalLM.from_config(config).parameters())
                if size > MOST:
                    said.append(f"it has {size} parameters")
                    continue
                torch.manual_seed(0)
                model = scaled(tf.AutoModelForCausalLM.from_config(config)).eval()
                with torch.inference_mode():
                    model(input_ids=torch.arange(5, 29)[None], use_cache=False)
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}"[:200])
                continue
            model.generation_config = tf.GenerationConfig(**_IDS)
            return model
    raise RuntimeError("; ".join(dict.fromkeys(said)))


def _configs(kind: str, small: dict[str, int], own: dict[str, Any]) -> Iterator[Any]:
    """The type's config with small numbers, given to it when it is made or put into it afterwards."""
    try:
        plain = tf.AutoConfig.for_model(kind, **own)
        stated = {name: value for name in small if type(value := getattr(plain, name, None)) is int and name not in own}
        given = {name: min(value, small[name]) for name, value in stated.items()}
    except Exception:  # such as of numbers that belong to layers
        given = {}
    for options in (given, {}):
        try:
            config = tf.AutoConfig.for_model(kind, **{**options, **own})
            _shrink(config, small, set(own), set())
        except Exception:
            continue
        yield config


def _shrink(config: Any, small: dict[str, int], own: set[str], seen: set[int]) -> None:
    seen.add(id(config))
    for name, value in list(vars(config).items()):
        if name in _IDS or name == "vocab_size":
            setattr(config, name, _IDS.get(name, 700))
        elif name in small and type(value) is int and name not in own:
            setattr(config, name, min(value, small[name]))
        elif hasattr(value, "model_type") and id(value) not in seen:
            _shrink(value, small, own, seen)
    layers = getattr(config, "num_hidden_layers", None)
    for name, value in list(vars(config).items()):
        if name.endswith("layer_types") and isinstance(value, list) and isinstance(layers, int) and len(value) > layers:
            setattr(config, name, (list(dict.fromkeys(value)) * layers)[:layers])
