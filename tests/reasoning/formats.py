"""How the families of thinking models write a reasoning W and an answer B, and the edge cases of doing so.

Each text has {w} for the reasoning and {b} for the answer.
"""

FORMATS = {
    "deepseek_r1": "{w}\n</think>\n\n{b}",
    "qwen3": "<think>\n{w}\n</think>\n\n{b}",
    "qwen3, off": "<think>\n\n</think>\n\n{b}",
    "kimi_vl": "◁think▷{w}◁/think▷{b}",
    "kimi_k3": "<|open|>think<|sep|>{w}<|close|>think<|sep|><|open|>response<|sep|>{b}<|close|>response<|sep|>",
    "kimi_k3, opened": "{w}<|close|>think<|sep|><|open|>response<|sep|>{b}",
    "glm_4_1v": "<think>{w}</think><answer><|begin_of_box|>{b}<|end_of_box|></answer>",
    "glm_4_1v, stopped": "<think>{w}</think><answer>{b}",
    "glm_4_5v": "<think>{w}</think>\n<|begin_of_box|>{b}<|end_of_box|>",
    "gemma_4": "<|channel>thought\n{w}<channel|>{b}",
    "gemma_4, off": "<|channel>thought\n<channel|>{b}",
    "medgemma": "<unused94>thought\n{w}<unused95>{b}",
    "gpt_oss": "<|channel|>analysis<|message|>{w}<|end|><|start|>assistant<|channel|>final<|message|>{b}<|return|>",
    "gpt_oss, started": (
        "<|start|>assistant<|channel|>analysis<|message|>{w}<|end|><|start|>assistant<|channel|>final<|message|>{b}"
    ),
    "gpt_oss, commentary": (
        "<|channel|>analysis<|message|>{w}<|end|><|start|>assistant<|channel|>commentary<|message|>{w}<|end|>"
        "<|start|>assistant<|channel|>final <|constrain|>json<|message|>{b}"
    ),
    "gpt_oss, without marks": "analysis{w}assistantfinal{b}",
    "magistral": "[THINK]{w}[/THINK]{b}",
    "seed_oss": "<seed:think>{w}<seed:cot_budget_reflect>I have used 5 tokens.</seed:cot_budget_reflect></seed:think>{b}",
    "keye_vl": "<analysis>{w}</analysis><think>{w}</think>{b}",
    "llava_cot": "<SUMMARY>{w}</SUMMARY>\n\n<CAPTION>{w}</CAPTION>\n\n<REASONING>{w}</REASONING>\n\n<CONCLUSION>{b}</CONCLUSION>",
    "granite_3": "Here is my thought process:\n\n{w}\n\nHere is my response:\n\n{b}",
    "granite_3, short": "Here's my thought process: {w} Here's my response: {b}",
    "exaone_deep": "<thought>\n{w}\n</thought>\n\n{b}",
    "hunyuan": "<think>\n{w}\n</think>\n<answer>\n{b}\n</answer>",
    "hunyuan_3": "<think:opensource>{w}</think:opensource>{b}",
    "ernie_vl": "{w}\n</think>\n\n<response>\n{b}\n</response>",
    "minimax_m3": "<mm:think>{w}</mm:think>{b}",
    "minimax_m3, stray": "</mm:think>{b}",
    "cohere": "<|START_THINKING|>{w}<|END_THINKING|><|START_RESPONSE|>{b}<|END_RESPONSE|>",
    "cohere, text": "<|START_THINKING|>{w}<|END_THINKING|><|START_TEXT|>{b}<|END_TEXT|>",
    "apriel": "Here are my reasoning steps:\n{w}\n[BEGIN FINAL RESPONSE]\n{b}\n[END FINAL RESPONSE]",
    "apriel, opened": "{w}\n[BEGIN FINAL RESPONSE]{b}",
    "open_thoughts": "<|begin_of_thought|>{w}<|end_of_thought|>\n<|begin_of_solution|>{b}<|end_of_solution|>",
    "vlm_r1": "<think>{w}</think>\n<answer>{b}</answer>",
    "named by the user": "<muse>{w}</muse>{b}",
}
USER_TAGS = "<muse>,</muse>"

ANSWERED = {
    3: "{w}</think>\n\n{b}",
    4: "<think>{w}</think>{w}<think>{w}</think>{b}",
    7: "{b}<think>{w}</think>",
    9: "<think>\n\n</think>\n\n{b}",
    10: "<THINK>{w}</THINK>{b}",
    12: "<think><answer>{w}</answer></think>{b}",
    13: "<think>{w}<think>{w}</think>{w}</think>{b}",
    15: "</think>\n<answer>{b}",
    16: "<think>`print('</think>')` {w}</think>{b}",
    18: "<think>{w}</thinking>{b}",
    19: "analysis{w}assistantfinal{b}",
}
"""The edge cases with an answer, by their number."""

CUT = {
    1: "<think>{w}",
    2: "{w}",
    6: "<think>{w}</think>{b} and so <think>{w}",
    8: "{b}\n<think>{w}",
    17: "<think>{w}</th",
}
"""The edge cases that end inside the reasoning; the token cap ended them. 2: the prompt opened it."""

QUOTED = {
    5: ("<think>{w}</think>{b}, and no </think>{b}", "the last closing mark"),
    6: ("<think>{w}</think>{b}, without the tag <think>", "kept"),
    20: ("{b}, without the tag <think>", "kept"),
}
"""The edge cases that quote a mark, not cut."""
