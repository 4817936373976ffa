"""The bundled tiny-qwen2-vl, or one like it, as llama.cpp reads it: the language model, and the vision part (`mmproj`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np

BLOCK = {
    "input_layernorm.weight": "attn_norm.weight",
    "post_attention_layernorm.weight": "ffn_norm.weight",
    "mlp.down_proj.weight": "ffn_down.weight",
    "mlp.gate_proj.weight": "ffn_gate.weight",
    "mlp.up_proj.weight": "ffn_up.weight",
    "self_attn.o_proj.weight": "attn_output.weight",
    **{f"self_attn.{x}_proj.{part}": f"attn_{x}.{part}" for x in "qkv" for part in ("weight", "bias")},
}
"""Names of a layer's tensors in the checkpoint, and in llama.cpp."""


def write(folder: Path, out: Path) -> tuple[Path, Path]:
    """(model, mmproj) in the folder `out`. folder: the checkpoint. All numbers are float32."""
    config = json.loads((folder / "config.json").read_text())
    tensors = read_tensors(folder / "model.safetensors")
    return _language(folder, config, tensors, out / "tiny.gguf"), _vision(folder, config, tensors, out / "mmproj.gguf")


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """The float16 tensors of a safetensors file, as float32."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    head.pop("__metadata__", None)
    found = {}
    for name, entry in head.items():
        assert entry["dtype"] == "F16"
        begin, end = entry["data_offsets"]
        data = np.frombuffer(content[8 + length + begin : 8 + length + end], np.float16)
        found[name] = data.astype(np.float32).reshape(entry["shape"])
    return found


def _language(folder: Path, config: dict[str, Any], tensors: dict[str, np.ndarray], path: Path) -> Path:
    text = config["text_config"]
    writer = gguf.GGUFWriter(str(path), "qwen2vl")
    writer.add_name("tiny-qwen2-vl")
    writer.add_context_length(text["max_position_embeddings"])
    writer.add_embedding_length(text["hidden_size"])
    writer.add_block_count(text["num_hidden_layers"])
    writer.add_feed_forward_length(text["intermediate_size"])
    writer.add_head_count(text["num_attention_heads"])
    writer.add_head_count_kv(text["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(text["rms_norm_eps"])
    writer.add_rope_freq_base(text["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_sections([*text["rope_parameters"]["mrope_section"], 0])
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    added = {token["content"]: token for token in tokenizer["added_tokens"]}
    ids = tokenizer["model"]["vocab"] | {text: token["id"] for text, token in added.items()}
    vocabulary = sorted(ids, key=ids.__getitem__)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary)
    writer.add_token_types([_type(added.get(token)) for token in vocabulary])
    writer.add_token_merges([" ".join(merge) for merge in tokenizer["model"]["merges"]])
    writer.add_eos_token_id(text["eos_token_id"])
    writer.add_bos_token_id(text["bos_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template((folder / "chat_template.jinja").read_text())
    writer.add_tensor("token_embd.weight", tensors["model.embed_tokens.weight"])
    writer.add_tensor("output_norm.weight", tensors["model.norm.weight"])
    if "lm_head.weight" in tensors:
        writer.add_tensor("output.weight", tensors["lm_head.weight"])
    for layer in range(text["num_hidden_layers"]):
        for name, other in BLOCK.items():
            writer.add_tensor(f"blk.{layer}.{other}", tensors[f"model.layers.{layer}.{name}"])
    return _written(writer, path)


def _type(added: dict[str, Any] | None) -> gguf.TokenType:
    if added is None:
        return gguf.TokenType.NORMAL
    return gguf.TokenType.CONTROL if added["special"] else gguf.TokenType.USER_DEFINED


def _vision(folder: Path, config: dict[str, Any], tensors: dict[str, np.ndarray], path: Path) -> Path:
    vision, size = config["vision_config"], config["vision_config"]["embed_dim"]
    processor = json.loads((folder / "processor_config.json").read_text())["image_processor"]
    writer = gguf.GGUFWriter(str(path), "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "qwen2vl_merger")
    writer.add_bool("clip.use_gelu", False)  # neither GELU nor SiLU: quick GELU
    writer.add_bool("clip.use_silu", False)
    pixels = processor["size"]["longest_edge"]
    for name, value in {
        "image_size": round(pixels**0.5),
        "image_min_pixels": pixels,
        "image_max_pixels": pixels,
        "patch_size": vision["patch_size"],
        "embedding_length": size,
        "feed_forward_length": size * vision["mlp_ratio"],
        "block_count": vision["depth"],
        "projection_dim": vision["hidden_size"],
        "attention.head_count": vision["num_heads"],
        "spatial_merge_size": vision["spatial_merge_size"],
    }.items():
        writer.add_uint32(f"clip.vision.{name}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", processor["image_mean"])
    writer.add_array("clip.vision.image_std", processor["image_std"])
    patches = tensors["visual.patch_embed.proj.weight"]
    for moment, name in enumerate(("v.patch_embd.weight", "v.patch_embd.weight.1")):
        writer.add_tensor(name, np.ascontiguousarray(patches[:, :, moment]))
    for part in ("weight", "bias"):
        for block in range(vision["depth"]):
            own = f"visual.blocks.{block}."
            for place, each in enumerate(np.split(tensors[f"{own}attn.qkv.{part}"], 3)):
                writer.add_tensor(f"v.blk.{block}.attn_{'qkv'[place]}.{part}", np.ascontiguousarray(each))
            for name, other in (
                ("attn.proj", "attn_out"), ("norm1", "ln1"), ("norm2", "ln2"), ("mlp.fc1", "ffn_up"), ("mlp.fc2", "ffn_down"),
            ):  # fmt: skip
                writer.add_tensor(f"v.blk.{block}.{other}.{part}", tensors[f"{own}{name}.{part}"])
        writer.add_tensor(f"v.post_ln.{part}", tensors[f"visual.merger.ln_q.{part}"])
        writer.add_tensor(f"mm.0.{part}", tensors[f"visual.merger.mlp.0.{part}"])
        writer.add_tensor(f"mm.2.{part}", tensors[f"visual.merger.mlp.2.{part}"])
    return _written(writer, path)


def _written(writer: gguf.GGUFWriter, path: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
