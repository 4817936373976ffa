"""What the families of transformers models differ in, as data; the key is `model_type` of config.json.

What a cache can tell by itself is not in the table: with sliding windows (gemma3, aya_vision) or recurrent layers (qwen3_5)
no masked place may stand between tokens, so that prompts on one picture are shared where they are equally long.

A family is listed once its tests pass: batch = single, prefix = full forward, and pictures that really condition the
answer. A type that is not listed checks itself at start-up (hf_check); if that fails it runs by the plain way, which is
right for every causal model: one prompt at a time, one whole forward a continuation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Family:
    """How prompts are written for a model type, and which short cuts give the same numbers.

    prompt_keys: keys of `model_specific_prompt_kwargs` from most to least specific.
    placeholder: what stands for one picture in a plain-text prompt; None for the processor's own image token, empty where
        the processor writes it.
    mrope: rotary positions in three dimensions; the shift that pictures cause is kept by the model as `rope_deltas`.
    batched: prompts with 0, 1 and several pictures of different sizes may share a left-padded batch.
    prefix_cache: a continuation may be run on the cached keys and values of its prompt.
    holes: masked places may stand between tokens; sliding windows and recurrent layers, which forbid it, are seen without it.
    features: the vision tower's output may be computed before and handed over.
    heads: pictures may follow on cached keys and values, so that few-shot examples with pictures run once.
    chats: whether checkpoints of this type are asked in chat turns, so that one without a chat template lacks something.
    answer_type: what `token_type_ids` are for the tokens of an answer; paligemma reads a prompt both ways, an answer one way.
    """

    prompt_keys: tuple[str, ...] = ()
    placeholder: str | None = None
    mrope: bool = False
    batched: bool = True
    prefix_cache: bool = True
    holes: bool = True
    features: bool = True
    heads: bool = True
    chats: bool = True
    answer_type: int = 0


_QWEN = Family(("qwen_vl",), placeholder="<|vision_start|><|image_pad|><|vision_end|>", mrope=True)


def _qwen(*keys: str) -> Family:
    return Family((*keys, *_QWEN.prompt_keys), placeholder=_QWEN.placeholder, mrope=True)


def _plainest(*keys: str, placeholder: str | None = None, features: bool = False, answer_type: int = 0) -> Family:
    """One prompt at a time and one whole forward a continuation: nothing quicker gives the same numbers."""
    return Family(keys, placeholder, batched=False, prefix_cache=False, features=features, answer_type=answer_type)


def _without_chat(*keys: str) -> Family:
    """A type of before the time of chat templates: its processor writes the pictures' tokens itself, and takes no turns."""
    return replace(_plainest(*keys, placeholder=""), chats=False)


FAMILIES: dict[str, Family] = {
    "aya_vision": Family(("aya_vision",)),
    "blip-2": _without_chat("blip2"),
    "gemma3": Family(("gemma3",)),
    "glm4v": Family(("glm4v",), placeholder="<|begin_of_image|><|image|><|end_of_image|>", mrope=True),
    "idefics2": Family(("idefics2",)),
    "idefics3": Family(("idefics3", "idefics2")),
    "instructblip": _without_chat("instructblip"),
    "internvl": Family(("internvl",)),
    "janus": Family(("janus",)),
    "kosmos-2": _without_chat("kosmos2"),
    "llava": Family(("llava",)),
    "llava_next": Family(("llava_next", "llava")),
    "llava_onevision": Family(("llava_onevision", "llava")),
    "mistral3": Family(("mistral3",)),
    "mllama": _plainest("mllama"),
    "ovis2": Family(("ovis2",)),
    "paligemma": _plainest("paligemma", features=True, answer_type=1),
    "qwen2_vl": _qwen("qwen2_vl"),
    "qwen2_5_vl": _qwen("qwen2_5_vl", "qwen2_vl"),
    "qwen3_5": _qwen("qwen3_5", "qwen3_vl", "qwen2_5_vl", "qwen2_vl"),
    "qwen3_vl": _qwen("qwen3_vl", "qwen2_5_vl", "qwen2_vl"),
    "qwen3_vl_moe": _qwen("qwen3_vl_moe", "qwen3_vl", "qwen2_5_vl", "qwen2_vl"),
    "smolvlm": Family(("smolvlm", "idefics3")),
    "video_llama_3": Family(("video_llama_3",)),
    "vipllava": Family(("vipllava", "llava")),
}

TEXT = Family()
"""Causal language models without pictures."""

TEXT_FAMILIES: dict[str, Family] = {
    **dict.fromkeys((
    "afmoe", "apertus", "arcee", "biogpt", "bitnet", "bloom", "codegen", "cohere", "cohere2", "ctrl", "deepseek_v2",
    "deepseek_v3", "diffllama", "ernie4_5", "exaone4", "falcon", "flex_olmo", "gemma", "gemma2", "gemma3_text", "glm", "glm4",
    "gpt2", "gpt_bigcode", "gpt_neox", "gpt_neox_japanese", "gpt_oss", "gptj", "granite", "granitemoe", "helium",
    "hunyuan_v1_dense", "jetmoe", "lfm2", "lfm2_moe", "llama", "mimo_v2_flash", "ministral", "ministral3", "mistral", "mixtral",
    "modernbert-decoder", "mpt", "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "opt", "persimmon", "phi", "phi3", "qwen2",
    "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "smollm3", "stablelm", "starcoder2", "vaultgemma", "xglm",
), TEXT),
    "doge": _plainest(),  # the tokens that its mask drops are others with a cache, and others with padding
    "gpt_neo": Family(holes=False),  # its windows count places of the cache, masked ones too
    "llama4_text": _plainest(),  # it scales its attention by the place in the batch, padding among it
}  # fmt: skip
"""Types of text models; each is held against whole forwards by tests/models/test_hf_text_types.py."""

UNKNOWN = Family(batched=False, prefix_cache=False, features=False)
"""Types that nobody has checked."""


def family_of(model_type: str, image_text: bool) -> Family:
    """The family of a model type, UNKNOWN where nobody has checked it."""
    return (FAMILIES if image_text else {**TEXT_FAMILIES, **FAMILIES}).get(model_type, UNKNOWN)
