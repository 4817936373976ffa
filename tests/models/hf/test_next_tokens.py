"""A model whose forward does not give the logits of the next token is refused when it is loaded, and no other one is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.hf.families import UNKNOWN

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ConfigError
from tests.models.hf.test_more_families import ALL
from tests.models.hf.test_text_types import OWN, _model
from tests.models.tiny_random import FAMILIES as FIRST

LOOKS_AROUND = frozenset({
    "bert", "bert-generation", "big_bird", "camembert", "cpmant", "data2vec-text", "electra", "ernie", "megatron-bert",
    "prophetnet", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm", "xlm-roberta", "xlm-roberta-xl",
    "xlnet", "xmod",
})  # fmt: skip
"""Types of the causal table that look at both sides unless their config says `is_decoder`, or always do."""
NOT_BUILT = frozenset({
    "blt", "cohere_compass_text", "dbrx", "dots1", "dots3_note", "dots3_note_text", "gemma3n", "musicgen", "musicgen_melody",
    "moshi", "longcat_flash", "reformer", "xlstm", "zamba", "zamba2", "mamba2", "qwen4_exp", "qwen4_exp_text", "nemotron",
    "gemma4_assistant", "gemma4_unified_assistant",
})  # fmt: skip
"""Types of which `tiny_causal` makes no model: they need numbers of their own."""
MORE: dict[str, dict[str, Any]] = {
    "gemma3n_text": {
        "num_hidden_layers": 4, "layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 0,
        "laurel_rank": 8, "altup_num_inputs": 2,
    },
    "hunyuan_v1_moe": {"head_dim": 16, "num_experts": 4, "moe_topk": 2},
    "xmod": {"default_language": "en_XX"},
}  # fmt: skip


def saved(model: Any, folder: Path) -> Path:
    from tests.models.tiny_random import tokenizer

    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder


def loaded(folder: Path, **args: Any) -> Any:
    model = MODELS.get("hf")({"pretrained": str(folder), **args}, ModelSettings(device="cpu"))
    model.prepare()
    return model


def reason_of(model: Any, known: bool = False) -> str:
    """Why a model in memory is refused; empty if it isn't."""
    from mm_eval.models.hf.arguments import Arguments
    from mm_eval.models.hf.asking import Asking
    from mm_eval.models.hf.inference.runtime import Runtime
    from mm_eval.models.hf.prompts.prompt import PromptWriter
    from mm_eval.models.hf.self_check import why_not_next_tokens

    from tests.models.tiny_random import tokenizer

    made = tokenizer()
    writer = PromptWriter("m", UNKNOWN, made, None, Arguments())
    asking = Asking(writer, Runtime(model, UNKNOWN, made, 1), 512, lambda instance: 0)
    return why_not_next_tokens(model, asking, pictured=False, chat=False, known=known)


def test_a_masked_model_is_refused(tmp_path: Path) -> None:
    small = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    saved(_model("bert", **small), tmp_path / "bert")
    with pytest.raises(
        ConfigError, match="does not give log-probabilities of the next token: its logits up to a token change"
    ):
        loaded(tmp_path / "bert")
    with pytest.raises(ConfigError, match="next token"):
        loaded(tmp_path / "bert", dtype="bfloat16")
    saved(_model("bert", **small, is_decoder=True), tmp_path / "decoder")
    assert loaded(tmp_path / "decoder").runtime.prefix_cache


def test_an_encoder_of_a_listed_type_is_refused(tmp_path: Path) -> None:
    """EmbeddingGemma is a gemma3_text whose attention looks at both sides."""
    made = _model("gemma3_text")
    made.config.use_bidirectional_attention = True
    saved(made, tmp_path)
    with pytest.raises(ConfigError, match="gemma3_text.*next token"):
        loaded(tmp_path)


def test_the_decoder_of_an_encoder_decoder_is_refused(tmp_path: Path) -> None:
    """transformers loads BART's decoder alone as a causal model."""
    import transformers

    sides = {f"{side}_{name}": value for side in ("encoder", "decoder")
             for name, value in (("layers", 1), ("attention_heads", 4), ("ffn_dim", 64))}  # fmt: skip
    config = transformers.BartConfig(vocab_size=700, d_model=64, max_position_embeddings=128, **sides)
    saved(transformers.BartForConditionalGeneration(config), tmp_path)
    with pytest.raises(ConfigError, match=r"\(bart\) is an encoder-decoder"):
        loaded(tmp_path)


def test_a_model_that_draws_or_fills_a_canvas_is_refused() -> None:
    import torch

    model = _model("llama")
    own = model.forward

    def drawn(**given: Any) -> Any:
        out = own(**given)
        out.logits = out.logits[:, :1].expand(-1, 32, -1) + torch.randn(1, 32, out.logits.shape[-1])
        return out

    model.forward = drawn
    assert "other ones each time" in reason_of(model)

    def few(**given: Any) -> Any:
        out = own(**given)
        out.logits = out.logits[:, -2:]
        return out

    model.forward = few
    assert "gives logits of 2 tokens and no more" in reason_of(model)
    model.forward = own
    assert reason_of(model) == ""


@pytest.mark.full
def test_diffusion_gemma_is_refused(adapter: Callable[..., Any]) -> None:
    """Its log-likelihoods were other ones in each run, with exit code 0."""
    with pytest.raises(ConfigError, match="diffusion_gemma.*next token"):
        adapter("diffusion_gemma").prepare()


@pytest.mark.parametrize("kind", ["llama", "qwen2_vl"])
def test_the_check_costs_two_short_forwards(adapter: Callable[..., Any], kind: str) -> None:
    from mm_eval.models.hf.self_check import why_not_next_tokens

    asking = adapter(kind).asking
    lengths: list[int] = []
    asking.runtime.model.register_forward_pre_hook(
        lambda module, args, given: lengths.append(given["input_ids"].shape[1]), with_kwargs=True
    )
    pictured = kind != "llama"
    assert why_not_next_tokens(asking.runtime.model, asking, pictured=pictured, chat=True, known=True) == ""
    assert len(lengths) == 2 and max(lengths) < 64


@pytest.mark.slow
def test_every_causal_type_of_the_installed_transformers() -> None:
    """Of all types that can be made tiny, those that look around are refused and no other one."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    from tests.models.tiny_text import tiny_causal

    refused, unmade = set(), set()
    for kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        try:
            model = _model(kind) if kind in OWN else tiny_causal(kind, **MORE.get(kind, {}))
        except Exception:
            unmade.add(kind)
            continue
        if reason_of(model):
            refused.add(kind)
    assert refused == LOOKS_AROUND
    assert unmade <= NOT_BUILT


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({*FIRST, *ALL}))
def test_no_listed_image_text_type_is_refused(adapter: Callable[..., Any], kind: str) -> None:
    adapter(kind).prepare()
