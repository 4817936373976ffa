"""Checkpoints in their authors' own format, and where the same weights are for transformers.

The prompts of the others come from their own code; those are not listed, and transformers says that it can't read them.
"""

from __future__ import annotations

import re

SAME_WEIGHTS: dict[str, str] = {
    r"liuhaotian/llava-v1\.5-(7b|13b)": r"llava-hf/llava-1.5-\1-hf",
    r"liuhaotian/llava-v1\.6-(mistral-7b|vicuna-7b|vicuna-13b|34b)": r"llava-hf/llava-v1.6-\1-hf",
    r"lmms-lab/llama3-llava-next-8b": "llava-hf/llama3-llava-next-8b-hf",
    r"lmms-lab/llava-next-(72b|110b)": r"llava-hf/llava-next-\1-hf",
    r"lmms-lab/llava-onevision-qwen2-(0\.5b|7b|72b)-(si|ov)": r"llava-hf/llava-onevision-qwen2-\1-\2-hf",
    r"lmms-lab/llava-onevision-qwen2-(7b|72b)-(?:ov-)?chat": r"llava-hf/llava-onevision-qwen2-\1-ov-chat-hf",
    r"lmms-lab/LLaVA-NeXT-Video-(7B|34B)(-DPO)?": r"llava-hf/LLaVA-NeXT-Video-\1\2-hf",
    r"OpenGVLab/InternVL3-(1B|2B|8B|9B|14B|38B|78B)(-Instruct)?": r"OpenGVLab/InternVL3-\1\2-hf",
    r"OpenGVLab/InternVL3_5-(\w+(?:-A\d+B)?)": r"OpenGVLab/InternVL3_5-\1-HF",
}
"""A pattern of the whole name -> the name for transformers."""


def for_transformers(pretrained: str) -> str:
    """The name of the same weights for transformers; "" where none is known, or the name is that of such a checkpoint.

    >>> for_transformers("liuhaotian/llava-v1.5-7b")
    'llava-hf/llava-1.5-7b-hf'
    """
    for pattern, name in SAME_WEIGHTS.items():
        if (match := re.fullmatch(pattern, pretrained)) is not None:
            return match.expand(name)
    return ""
