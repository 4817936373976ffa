"""What a sampled answer is drawn from, where its task does not say it.

A server takes what a request leaves out from the checkpoint's generation_config.json: Qwen2-VL's top_k of 1 and top_p of 0.001
would make every sampled answer greedy. The `hf` and `vllm` adapters draw from the whole distribution, and so do these fields.
"""

from __future__ import annotations

from typing import Any

from mm_eval.engine.generation import GenerationOptions

WITHOUT_TOP_K = ("vllm", "sglang")
"""Servers, by `owned_by` in their list of models, where a top_k of -1 means none. Others do not know the field."""


def drawn_from(options: GenerationOptions, software: str) -> dict[str, Any]:
    """top_p and top_k: the task's, else for a sampled answer the whole distribution. software: `Writing.software`."""
    stated = {"top_p": options.top_p, "top_k": options.top_k}
    if options.do_sample:
        whole = {"top_p": 1.0, "top_k": -1 if software in WITHOUT_TOP_K else None}
        stated = {name: whole[name] if value is None else value for name, value in stated.items()}
    return {name: value for name, value in stated.items() if value is not None}


def note(sent: dict[str, Any]) -> str:
    """The line of the report about fields that a task leaves out. sent: their values, None where the server's own applies."""
    fields = " and ".join(f"{name}={value:g}" for name, value in sent.items() if value is not None)
    notes = [f"sampled answers were requested with {fields} where the task states none"] if fields else []
    return "; ".join([*notes, *(f"the server's own {name} applies" for name, value in sent.items() if value is None)])
