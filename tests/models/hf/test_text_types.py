"""Types of text models: short cuts give what whole forwards give, and a type that nobody has checked checks itself."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.hf.families import TEXT_FAMILIES, UNKNOWN, family_of

from mm_eval.engine.generation import GenerationOptions
from mm_eval.values.errors import ConfigError
from tests.models.questions import instance, outputs
from tests.sets import few

COMMON = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "vocab_size": 700, "max_position_embeddings": 512, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 512, "num_key_value_heads": None}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}
ROUTED = {
    "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 32,
    "kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16,
    "num_key_value_heads": 4, "first_k_dense_replace": 1,
}  # fmt: skip
SCALED = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 32.0, "original_max_position_embeddings": 16, "beta_fast": 32.0,
    "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1, "partial_rotary_factor": 0.5,
}  # fmt: skip
"""Queries are scaled by their position from 16 on."""
WINDOW = {"sliding_window": 16, "head_dim": 16}
OWN: dict[str, dict[str, Any]] = {
    "afmoe": {**WINDOW, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    "bloom": {"n_head": 4, "n_layer": 2},
    "codegen": {**GPT2, "rotary_dim": 8},
    "cohere2": WINDOW,
    "ctrl": {**GPT2, "dff": 128},
    "deepseek_v2": {name: value for name, value in ROUTED.items() if "group" not in name},
    "deepseek_v3": ROUTED,
    "diffllama": {"head_dim": 16},
    "ernie4_5": {"head_dim": 16},
    "exaone4": {"sliding_window": 16, "sliding_window_pattern": 2},
    "falcon": {"alibi": True},
    "flex_olmo": {"num_experts": 4, "num_experts_per_tok": 2},
    "gemma": {"head_dim": 16},
    "gemma2": WINDOW,
    "gemma3_text": WINDOW,
    "glm": {"head_dim": 16},
    "glm4": {"head_dim": 16},
    "gpt2": GPT2,
    "gpt_bigcode": GPT2,
    "gpt_neo": {"num_layers": 4, "num_heads": 4, "attention_types": [[["global", "local"], 2]], "window_size": 16},
    "gpt_oss": {**WINDOW, **EXPERTS},
    "gptj": {**GPT2, "rotary_dim": 8},
    "granitemoe": {"num_local_experts": 4},
    "helium": {"head_dim": 16},
    "hunyuan_v1_dense": {"head_dim": 16},
    "jetmoe": {"kv_channels": 16, "num_local_experts": 4},
    "lfm2": {"layer_types": ["conv", "full_attention"] * 2},
    "lfm2_moe": {
        "layer_types": ["conv", "full_attention"] * 2,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "num_dense_layers": 1,
    },
    "llama4_text": {
        **EXPERTS,
        "attention_chunk_size": 16,
        "head_dim": 16,
        "intermediate_size_mlp": 128,
        "floor_scale": 16,
    },
    "mistral4": {**ROUTED, "rope_parameters": SCALED},
    "ministral": WINDOW,
    "ministral3": {"head_dim": 16},
    "mistral": {"sliding_window": 16},
    "mixtral": {"num_local_experts": 4, "sliding_window": 16},
    "modernbert-decoder": {"local_attention": 16, "global_attn_every_n_layers": 2},
    "mpt": {"d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 512},
    "olmo3": {"sliding_window": 16},
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
    "opt": {"ffn_dim": 128, "word_embed_proj_dim": 64},
    "phi3": {"sliding_window": 16},
    "qwen2": {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 2},
    "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32},
    "qwen3": {"head_dim": 16},
    "qwen3_moe": {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    "seed_oss": {"head_dim": 16},
    "starcoder2": {"sliding_window": 16},
    "vaultgemma": WINDOW,
    "xglm": {"d_model": 64, "ffn_dim": 128, "num_layers": 2, "attention_heads": 4},
}
"""Options of the types that need some of their own; windows are shorter than the prompts below."""
QUICK = ("gemma3_text", "gpt2", "mixtral", "mpt")
"""Different positions, windows, experts and caches."""
SLOW = {"afmoe", "mimo_v2_flash"}
KINDS = [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in sorted(TEXT_FAMILIES)]

Adapter = Callable[..., Any]


def _model(kind: str, **options: Any) -> Any:
    import torch
    import transformers
    from mm_eval.models.hf.processor import text_loader

    from tests.models.tiny_random import scaled

    own = {**OWN.get(kind, {}), **options}
    common = {name: value for name, value in COMMON.items() if own.get(name, value) is not None}
    if {"n_embd", "d_model", "n_layer"} & set(own):
        common = {name: value for name, value in common.items() if name.endswith(("_id", "vocab_size"))}
    config = transformers.AutoConfig.for_model(kind, **common, **{n: v for n, v in own.items() if n not in common})
    for name in set(own) & set(common):
        setattr(config, name, own[name])
    torch.manual_seed(0)
    model = scaled(text_loader(kind).from_config(config)).eval()
    model.generation_config = transformers.GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    return model


def _prompts() -> list[list[int]]:
    """Three that begin with the same 40 tokens, in front of tails of different lengths, and two that share nothing."""
    drawn = random.Random(0)
    ids = [[drawn.randrange(5, 440) for _ in range(length)] for length in (40, 3, 9, 25, 5, 17)]
    return [*(ids[0] + tail for tail in ids[1:4]), *ids[4:]]


def _after(model: Any, ids: list[int]) -> Any:
    """Log-probabilities after each token, from one whole forward."""
    import torch

    with torch.no_grad():
        return torch.log_softmax(model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].double(), -1)


def _expected(model: Any, prompt: list[int], continuation: list[int]) -> float:
    after = _after(model, prompt + continuation[:-1])[len(prompt) - 1 :]
    return float(sum(row[token] for row, token in zip(after, continuation, strict=True)))


def _greedy(model: Any, prompt: list[int], steps: int) -> list[int]:
    new: list[int] = []
    for _ in range(steps):
        after = _after(model, prompt + new)[-1]
        after[2] = -float("inf")
        new.append(int(after.argmax()))
    return new


@pytest.mark.parametrize("kind", few(KINDS, "gpt2", "mpt"))
def test_short_cuts_are_whole_forwards(kind: str) -> None:
    from mm_eval.models.hf.inference.cache import runtime_of
    from mm_eval.models.hf.inference.decoding import GenerationRow
    from mm_eval.models.hf.inference.generate import generate
    from mm_eval.models.hf.inference.scoring import Continuation, score
    from mm_eval.models.hf.prompts.prompt import Prompt

    from tests.models.tiny_random import tokenizer

    model, made = _model(kind), tokenizer()
    runtime = runtime_of(model, family_of(kind, False), made, 16)
    assert runtime.batched == (kind not in ("doge", "llama4_text"))
    rows = [
        Continuation(instance("", chat=False), prompt, list(range(10 + len(prompt.ids), 10 + len(prompt.ids) + length)))
        for prompt in map(Prompt, _prompts())
        for length in (1, 3, 9)
    ]
    for row, (total, _) in zip(rows, score(runtime, rows), strict=True):
        assert total == pytest.approx(_expected(model, row.prompt.ids, row.ids), abs=1e-4)
    questions = [GenerationRow(instance("", chat=False), Prompt(ids), 6, 0) for ids in _prompts()]
    options = GenerationOptions(max_new_tokens=6, extra={"min_new_tokens": 6})
    step = runtime.limit or 1
    answers = [answer for n in range(0, 5, step) for answer in generate(runtime, questions[n : n + step], options)]
    for question, answer in zip(questions, answers, strict=True):
        assert answer.output == made.decode(_greedy(model, question.prompt.ids, 6), skip_special_tokens=True)


@pytest.mark.full
def test_long_ropes_do_not_reach_the_prompts_beside_them(
    adapter: Adapter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Phi-3's and Phi-4's frequencies change for the whole forward once one row is longer than the pretraining was."""
    from tests.models.tiny_random import tokenizer

    factors = {"short_factor": [1.0] * 8, "long_factor": [2.0 + place for place in range(8)]}
    rope = {"rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 64, **factors}
    made = _model("phi3", sliding_window=None, original_max_position_embeddings=64, rope_parameters=rope)
    made.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    texts = ["Is there a dog?", "The quick brown fox jumps over the lazy dog. " * 8, "What is shown? " * 14]
    model = adapter("llama", pretrained=str(tmp_path), batch_size=4)
    scored = [
        instance(text, chat=False, doc_id=n, continuation=" the yellow bus in it") for n, text in enumerate(texts)
    ]
    lengths = []
    for row in scored:
        prompt, ids = model.writer.split(model.writer.write(row), row.continuation)
        lengths.append(len(prompt.ids))
        [found] = [total for key, (total, _) in outputs(model.loglikelihood(scored)).items() if key[0] == row.doc_id]
        assert found == pytest.approx(_expected(made, prompt.ids, ids), abs=1e-4)
    assert lengths[0] < 64 < lengths[1]
    steps = {"generation_kwargs": {"max_new_tokens": 6, "min_new_tokens": 6}}
    asked = [instance(text, chat=False, doc_id=n, **steps) for n, text in enumerate(texts)]
    found = outputs(model.generate(asked))
    for row in asked:
        expected = _greedy(made, model.writer.write(row).ids, 6)
        assert found[row.doc_id, 0] == model.writer.tokenizer.decode(expected, skip_special_tokens=True)
    rolling = instance("", chat=False, continuation=texts[1] * 2, request_type="loglikelihood_rolling")
    [(total, _)] = outputs(model.loglikelihood_rolling([rolling])).values()
    assert total == pytest.approx(_expected(made, [1], model.writer.encode_text(texts[1] * 2)), abs=1e-3)
    assert adapter("llama", pretrained=str(tmp_path), max_length=64).asking.runs(64).batched


def test_a_text_type_outside_the_table_checks_itself(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(TEXT_FAMILIES, "llama")
    model = adapter("llama", batch_size=8)
    assert model.runtime.prefix_cache and model.runtime.limit == 8 and not caplog.records
    half = adapter("llama", batch_size=8, dtype="bfloat16")
    assert half.runtime.prefix_cache and half.runtime.limit == 8 and not caplog.records, "checked in float32"


def test_an_unlisted_type_is_held_to_its_text_part(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Llama 4 scales by the place in the batch above 8,192 tokens, which no check at start-up is long enough to see."""
    from mm_eval.models.hf.self_check import quickest

    monkeypatch.setitem(TEXT_FAMILIES, "llama", TEXT_FAMILIES["llama4_text"])
    model = adapter("llama")
    family, reason = quickest(model.runtime.model, lambda *_: model.asking, pictured=False, chat=False)
    assert family is UNKNOWN and "'llama'" in reason


@pytest.mark.full
def test_a_text_type_that_refuses_a_cache_answers_without_one(
    adapter: Adapter, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """MiniMax takes no cache but its own, and every request failed."""
    from tests.models.tiny_random import tokenizer

    assert family_of("minimax", False) is UNKNOWN
    made = _model("minimax", head_dim=16, num_local_experts=4, block_size=16)
    made.save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    model = adapter("llama", pretrained=str(tmp_path), batch_size=4)
    rows = [instance(text, chat=False, doc_id=n, continuation=" a dog") for n, text in enumerate(("Hi", "What is it?"))]
    found = outputs(model.loglikelihood(rows))
    assert "'minimax' runs one prompt at a time" in caplog.text
    for row in rows:
        prompt, ids = model.writer.split(model.writer.write(row), row.continuation)
        assert found[row.doc_id, 0][0] == pytest.approx(_expected(made, prompt.ids, ids), abs=1e-4)


def test_an_encoder_decoder_is_refused(adapter: Adapter, checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "other")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "is_encoder_decoder": True}))
    with pytest.raises(ConfigError, match="is an encoder-decoder"):
        adapter("llama", pretrained=str(folder)).prepare()


def test_layers_of_different_widths_are_counted_one_by_one() -> None:
    """Gemma 4's full layers have heads twice as wide as its windows; its config as a whole raises for `head_dim`."""
    import transformers
    from mm_eval.models.hf.inference.limits import _bytes_held, token_budget

    layers = {"num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 32}
    config = transformers.AutoConfig.for_model("gemma4_text", hidden_size=64, **layers, **heads)
    assert _bytes_held(config, 2) == 2 * 2 * 2 * (2 * 16 + 2 * 32)
    assert token_budget(config, 2, 0) == 4096
