"""Writes docs/reference/models.md from the table of model families. Run it after the table has changed; a test compares."""

from __future__ import annotations

from pathlib import Path

from mm_eval.models.hf.families import FAMILIES, Family

PAGE = Path(__file__).parent.parent / "reference" / "models.md"
HEAD = """# Model types that are tested

This page is written by `python docs/make/models.py` from the table `models/hf/families.py`. It lists the image-text types
(`model_type` of config.json) for which `--model hf` was compared with transformers' own `generate` and with whole forward
passes, on tiny random checkpoints: a batch gives the same answers as one prompt at a time, log-likelihoods are those of a
whole forward, the token ids are the processor's own, and another picture changes the answer. No real checkpoint was run for
this table.

*Batches*: prompts with none, one and several pictures share a batch. *Caches*: what prompts on a picture have in common runs
once, and each choice runs on its prompt's keys and values. *Video*: its own video input ([videos](../guides/video.md)); the
others are shown frames as pictures. *Prompt keys*: those of a task's prompt blocks, the most specific first.

A type that is not listed checks itself at start-up and uses the short cuts that agree with whole forwards
([performance](../guides/performance.md)).

"""
NEEDS = {
    "cohere2_vision": "torchvision", "fast_vlm": "timm", "gemma3n": "timm", "gemma4_unified": "torchvision",
    "kimi_k25": "torchvision", "lfm2_vl": "torchvision", "llama4": "torchvision", "minimax_m3_vl": "torchvision",
    "molmo2": "torchvision",
    "perception_lm": "timm, torchvision", "phi4_multimodal": "torchvision", "smolvlm": "num2words", "step3p7": "torchvision",
}  # fmt: skip
"""Packages that transformers asks for: its only image processor of the type, or its vision tower."""


def page() -> str:
    """The whole page."""
    columns = ("model type", "batches", "caches", "video", "needs", "prompt keys")
    head = f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n"
    return HEAD + head + "".join(row(name, FAMILIES[name]) for name in sorted(FAMILIES))


def row(name: str, family: Family) -> str:
    """The line of a type."""
    batches = "equally many pictures" if family.beside else "yes" if family.batched else "no"
    caches = "no" if not family.prefix_cache else "yes" if family.causal else "choices"
    keys = ", ".join(f"`{key}`" for key in family.prompt_keys)
    return f"| `{name}` | {batches} | {caches} | {'yes' if family.video else ''} | {NEEDS.get(name, '')} | {keys} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
