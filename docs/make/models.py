"""The table of docs/reference/models.md, made of the model families when the documentation is built."""

from __future__ import annotations

from mm_eval.models.hf.families import FAMILIES, Family
from tables import table

_TORCHVISION = (
    "cohere2_vision", "gemma4_unified", "inkling2", "kimi_k25", "lfm2_vl", "lighton_ocr", "llama4", "minicpm_ocr",
    "minimax_m3_vl", "mistral3", "mistral_large4", "molmo2", "muse_glimmer", "muse_spark", "nemotron_h_omni",
    "phi4_multimodal", "step3p7", "unlimited_ocr",
)  # fmt: skip
NEEDS = {
    **dict.fromkeys(_TORCHVISION, "torchvision"), "fast_vlm": "timm", "gemma3n": "timm", "inkling_mm_model": "scipy, torchvision",
    "perception_lm": "timm, torchvision", "smolvlm": "num2words",
}  # fmt: skip
"""Packages that transformers asks for: its processor or only image processor of the type, or its vision tower."""


def made() -> str:
    """The table."""
    columns = ("model type", "batches", "caches", "video", "needs", "prompt keys")
    text: str = table(columns, (row(name, FAMILIES[name]) for name in sorted(FAMILIES)))
    return text


def row(name: str, family: Family) -> list[str]:
    """The cells of a type."""
    batches = "equally many pictures" if family.beside else "yes" if family.batched else "no"
    caches = "no" if not family.prefix_cache else "yes" if family.causal else "choices"
    keys = ", ".join(f"`{key}`" for key in family.prompt_keys)
    return [f"`{name}`", batches, caches, "yes" if family.video else "", NEEDS.get(name, ""), keys]
