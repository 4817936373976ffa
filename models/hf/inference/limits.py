"""How many tokens may run together: what the memory allows, and what a model's rotary positions allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig

TOKENS, MOST_TOKENS = 4096, 65536
"""`--batch_size auto`: padded tokens of a batch: the minimum, and the maximum on a device with much memory."""
DEPTH = 4
"""How many times these tokens may be held on a CPU while they are decoded."""


def token_budget(config: PretrainedConfig, itemsize: int, free: int) -> int:
    """Padded tokens of a batch for `--batch_size auto`, from half of a device's free bytes (0 on a CPU).

    A token needs its keys and values twice, since rows grow after they were admitted (`overflows`) and some caches copy those of
    their prefix, and the activations of one layer.
    """
    text = config.get_text_config()
    stated = [getattr(layer, "intermediate_size", None) or 4 * text.hidden_size for layer in _layers_of(text)]
    inner = max(each if isinstance(each, int) else max(each) for each in stated)  # gemma3n states it for each layer
    size = 2 * _bytes_held(config, itemsize) + itemsize * (3 * inner + 8 * text.hidden_size)
    return int(max(TOKENS, min(MOST_TOKENS, free // 2 // size)))


def depth(config: PretrainedConfig, itemsize: int, budget: int) -> int:
    """How many times a forward's tokens may be held while they are decoded, in a quarter of the memory that is available: 1 to 4.

    A step reads all weights whatever the number of rows, so that more rows make a token cheaper.
    """
    available = _available()
    return int(max(1, min(DEPTH, available // 4 // (budget * _bytes_held(config, itemsize)))))


def free_bytes(device: torch.device) -> int:
    """Memory that is free on a device; on a CPU where the system does not say: 0."""
    if device.type == "cuda":
        import torch

        return int(torch.cuda.mem_get_info(device)[0])
    return _available()


def _available() -> int:
    """Bytes of memory that the system can give a process; 0 if it does not say."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 0


def _bytes_held(config: PretrainedConfig, itemsize: int) -> int:
    """Keys and values of one token."""
    text = config.get_text_config()
    numbers = 0
    for layer in _layers_of(text):
        queries = getattr(layer, "num_attention_heads", None) or 1
        heads = getattr(layer, "num_key_value_heads", None) or queries
        numbers += heads * (getattr(layer, "head_dim", None) or text.hidden_size // queries)
    return int(itemsize * 2 * numbers)


def _layers_of(text: PretrainedConfig) -> list[object]:
    """The config of each layer. Where layers differ, as in Gemma 4, that of the whole raises for what they differ in."""
    own = getattr(text, "per_layer_config", None) if getattr(text, "is_heterogeneous", False) else None
    return [own[number] if own else text for number in range(text.num_hidden_layers)]


def most_shared(config: PretrainedConfig, max_length: int) -> int | None:
    """Tokens above which a sequence must run alone; None if max_length is not above that.

    With two kinds of RoPE (longrope of Phi-3 and Phi-4, and dynamic) the frequencies follow the longest sequence of a forward.
    A long prompt would change the answers beside it, and a continuation would run on keys of other frequencies than its own.
    """
    text = config.get_text_config()
    stated = getattr(text, "rope_parameters", None) or {}
    for rope in [stated, *(each for each in stated.values() if isinstance(each, dict))]:
        kind = str(rope.get("rope_type"))
        if kind == "longrope" or "dynamic" in kind:
            own = rope.get("original_max_position_embeddings") if kind == "longrope" else None
            shared = int(own or text.max_position_embeddings)
            return shared if max_length > shared else None
    return None
