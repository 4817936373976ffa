"""The table of docs/reference/models.md, made of the model families when the documentation is built."""

from __future__ import annotations

from mm_eval.models.hf.families import FAMILIES, Family
from tables import table

NEEDS = {
    "cohere2_vision": "torchvision", "fast_vlm": "timm", "gemma3n": "timm", "gemma4_unified": "torchvision",
    "kimi_k25": "torchvision", "lfm2_vl": "torchvision", "llama4": "torchvision", "minimax_m3_vl": "torchvision",
    "molmo2": "torchvision",
    "perception_lm": "timm, torchvision", "phi4_multimodal": "torchvision", "smolvlm": "num2words", "step3p7": "torchvision",
}  # fmt: skip
"""Packages that transformers asks for: its only image processor of the type, or its vision tower."""


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
