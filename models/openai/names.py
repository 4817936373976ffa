"""The prompt keys of a served model, from its name: a server does not say its model's type, `config.json` would.

A task's prompt for a family ("qwen_vl") then reaches a checkpoint whether it runs here or at a server. The name of an unknown
model has no keys, and its prompts are the default ones.
"""

from __future__ import annotations

import re

from ..hf.families import FAMILIES

NAMES: dict[str, str] = {
    r"aya-vision": "aya_vision",
    r"instructblip": "instructblip",
    r"blip-?2": "blip-2",
    r"gemma-?3-(4|12|27)b": "gemma3",
    r"glm-4-1v": "glm4v",
    r"idefics2": "idefics2",
    r"idefics3": "idefics3",
    r"internvl": "internvl",
    r"janus": "janus",
    r"kosmos-?2(?!-5)": "kosmos-2",
    r"video-?llama-?3": "video_llama_3",
    r"vip-?llava": "vipllava",
    r"llava-?(onevision|ov)(?!-?1-5|-?2(?!\d))": "llava_onevision",
    r"llava-?(onevision|ov)|llava.*video|video-?llava": "",
    r"llava-?(v?1-6|next)|llama3-llava-next": "llava_next",
    r"bak-?llava|llava": "llava",
    r"mistral-small-3-[12]": "mistral3",
    r"llama-3-2-(11|90)b-vision": "mllama",
    r"ovis2(?!-5)": "ovis2",
    r"paligemma": "paligemma",
    r"smolvlm": "smolvlm",
    r"qwen2-vl": "qwen2_vl",
    r"qwen2-5-vl": "qwen2_5_vl",
    r"qwen3-vl-\d+b-a\d+b": "qwen3_vl_moe",
    r"qwen3-vl": "qwen3_vl",
    r"qwen3-5(?!.*\d+b-a\d+b)": "qwen3_5",
}
"""A name's beginning of a word -> the model type of `FAMILIES`; the first that fits. An empty type: a relative outside the table.

Names are in lower case with "-" for every other sign: "Qwen/Qwen2.5-VL-7B-Instruct" is read as "qwen2-5-vl-7b-instruct".
"""


def prompt_keys(name: str) -> tuple[str, ...]:
    """The keys of a server's model name, from most to least specific; () for an unknown one.

    >>> prompt_keys("Qwen/Qwen2.5-VL-7B-Instruct")
    ('qwen2_5_vl', 'qwen2_vl', 'qwen_vl')
    """
    read = re.sub(r"[^a-z0-9]+", "-", name.rstrip("/").rpartition("/")[2].lower())
    for pattern, kind in NAMES.items():
        if re.search(rf"(^|-)({pattern})", read):
            return FAMILIES[kind].prompt_keys if kind else ()
    return ()


def cap_name(name: str) -> str:
    """The field of the token cap: OpenAI's reasoning models refuse `max_tokens`.

    >>> cap_name("o3-mini"), cap_name("gpt-5.1-2025-11-13"), cap_name("gpt-4o-2024-11-20")
    ('max_completion_tokens', 'max_completion_tokens', 'max_tokens')
    """
    return "max_completion_tokens" if re.match(r"(gpt-5|o[134])(?![a-z0-9])", name) else "max_tokens"
