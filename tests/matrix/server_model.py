"""A checkpoint that says what a script tells it, so that every ending, call and reasoning of a server can be caused.

It is the bundled tiny-qwen2-vl with one layer that adds nothing: the next token depends on the last one alone. So a chat is
answered with SAID, one with `enable_thinking` with a reasoning before it, and one with tools with a call, because the chat
template ends such prompts in another token. At temperature 1 a token is the script's with a probability of about .7.
`python -m tests.matrix.server_model FOLDER` writes it, and its files for llama.cpp, for which it needs gguf.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import ROOT

TINY = ROOT / "assets" / "models" / "tiny-qwen2-vl"
NAME = "tiny-script"
CALL = '\n{"name": "zoom", "arguments": {"step": 2}}\n'
ADDED = ("<think>", "</think>", "<tool_call>", "</tool_call>", CALL)
END = "<|im_end|>"
THOUGHT = (" there", " are", " two", " objects")
SAID = ("The", " circle", " is", " red", ",", " the", " square", " blue", ".", END)
SCRIPTS: tuple[tuple[str, ...], ...] = (
    ("\n", *SAID),
    ("<think>", *THOUGHT, "</think>", "\n"),
    (" ", "<tool_call>", CALL, "</tool_call>", END),
)
LETTERS = ("A", " A", "B", " B", "C", " C")
"""The next likeliest tokens at the beginning of an answer, in this order."""
TEMPLATE = """{% if tools %}<|im_start|>system
You may call one or more functions.
# Tools
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
For each call, return a json object within <tool_call></tool_call> tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message['role'] }}
{% if message['reasoning_content'] %}<think>{{ message['reasoning_content'] }}</think>
{% endif %}{% if message['content'] is string %}{{ message['content'] }}{% elif message['content'] %}\
{% for part in message['content'] %}{% if part['type'] == 'image' or 'image_url' in part %}\
<|vision_start|><|image_pad|><|vision_end|>{% elif 'text' in part %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}\
{% for call in message['tool_calls'] or [] %}{% set called = call.function or call %}<tool_call>
{"name": "{{ called.name }}", "arguments": {% if called.arguments is string %}{{ called.arguments }}{% else %}\
{{ called.arguments | tojson }}{% endif %}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% if tools %} {% elif enable_thinking %}<think>{% endif %}{% endif %}"""
SCALE = 8.0
"""The logit of the script's next token; others have about 0."""


def make(folder: Path) -> Path:
    """Writes the checkpoint. Returns its folder."""
    from safetensors.numpy import load_file, save_file

    shutil.copytree(TINY, folder, ignore=shutil.ignore_patterns("README.md", "figures.json"))
    tokenizer = json.loads((TINY / "tokenizer.json").read_text())
    ids = dict(tokenizer["model"]["vocab"])
    for text in ADDED:
        ids[text] = len(ids)
        entry = {"id": ids[text], "content": text, "single_word": False, "lstrip": False, "rstrip": False}
        tokenizer["added_tokens"].append({**entry, "normalized": False, "special": False})
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "chat_template.jinja").write_text(TEMPLATE)

    config = json.loads((TINY / "config.json").read_text())
    text_config: dict[str, Any] = config["text_config"]
    text_config |= {"num_hidden_layers": 1, "layer_types": ["full_attention"], "vocab_size": len(ids)}
    config["tie_word_embeddings"] = text_config["tie_word_embeddings"] = False
    (folder / "config.json").write_text(json.dumps(config, indent=2))

    tensors = {
        name: tensor
        for name, tensor in load_file(TINY / "model.safetensors").items()
        if not name.startswith("model.layers.") or name.startswith("model.layers.0.")
    }
    for name in ("self_attn.o_proj.weight", "mlp.down_proj.weight"):
        tensors[f"model.layers.0.{name}"] = np.zeros_like(tensors[f"model.layers.0.{name}"])
    tensors["model.norm.weight"] = np.ones_like(tensors["model.norm.weight"])
    tensors["model.embed_tokens.weight"], tensors["lm_head.weight"] = _embeddings(ids, text_config["hidden_size"])
    save_file({name: tensor.astype(np.float16) for name, tensor in tensors.items()}, folder / "model.safetensors")
    return folder


def _embeddings(ids: dict[str, int], size: int) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of the tokens, and the rows that give the logits of the next one."""
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(len(ids), size))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = draw.normal(size=(len(ids), size)) * 0.3 / size**0.5
    place = {text: ids[text.replace(" ", "\u0120").replace("\n", "\u010a")] if text not in ADDED else ids[text]
             for script in (*SCRIPTS, LETTERS) for text in script}  # fmt: skip
    for script in SCRIPTS:
        for now, following in zip(script, script[1:], strict=False):
            rows[place[following]] += SCALE / size**0.5 * vectors[place[now]]
    for rank, letter in enumerate(LETTERS):
        rows[place[letter]] += (SCALE - 1.5 - rank / 2) / size**0.5 * vectors[place["\n"]]
    return vectors, rows


if __name__ == "__main__":
    from tests.models.openai.tiny_gguf import write

    out = Path(sys.argv[1])
    write(make(out / NAME), out)
