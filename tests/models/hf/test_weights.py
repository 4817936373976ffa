"""Quantised checkpoints and adapters of PEFT: the numbers of the whole, a model of its own in the records, words where it fails.

The tests that load one are skipped where peft or bitsandbytes is missing; `.ci/vllm` has both.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.hf.weights import look_both_ways, quantisation

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ConfigError
from tests.models.questions import mixed, outputs
from tests.sets import each_of

Adapter = Callable[..., Any]
Checkpoint = Callable[[str], Path]
FOUR_BITS = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}


@each_of(
    ("config", "kind"),
    [
        ({}, None),
        ({"quantization_config": None}, None),
        ({"quantization_config": FOUR_BITS}, "bitsandbytes 4 bit"),
        ({"quantization_config": {"load_in_8bit": True}}, "bitsandbytes 8 bit"),
        ({"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}, "gptq 4 bit"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4, "version": "gemm"}}, "awq 4 bit"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}, "fp8"),
        ({"quantization_config": {"quant_method": "compressed-tensors", "format": "x"}}, "compressed-tensors"),
        ({"text_config": {"quantization_config": {"quant_method": "awq", "bits": 4}}}, "awq 4 bit"),
        ({"quantization_config": "odd", "text_config": 3}, None),
    ],
)
def test_a_config_says_how_the_weights_are_quantised(config: dict[str, Any], kind: str | None) -> None:
    assert quantisation(config) == kind


def restated(folder: Path, target: Path, quantised: dict[str, Any]) -> Path:
    """A copy of a checkpoint whose config says that it is quantised. Its weights are plain."""
    shutil.copytree(folder, target)
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16", "quantization_config": quantised}))
    return target


def loaded(folder: Path, batch_size: int = 1, **args: Any) -> Any:
    settings = ModelSettings(batch_size=batch_size, device="cpu")
    return MODELS.get("hf")({"pretrained": str(folder), **args}, settings)


@pytest.mark.parametrize(
    ("package", "quantised", "said"),
    [
        ("bitsandbytes", FOUR_BITS, r"quantised \(bitsandbytes 4 bit\).*pip install -U bitsandbytes"),
        ("optimum", {"quant_method": "gptq", "bits": 4}, r"quantised \(gptq 4 bit\).*pip install optimum"),
        ("gptqmodel", {"quant_method": "awq", "bits": 4}, r"quantised \(awq 4 bit\).*pip install gptqmodel"),
    ],
)
def test_a_missing_package_is_named(
    package: str, quantised: dict[str, Any], said: str, tmp_path: Path, checkpoint: Checkpoint
) -> None:
    if importlib.util.find_spec(package) is not None:
        pytest.skip(f"{package} is installed")
    with pytest.raises(ConfigError, match=said):
        loaded(restated(checkpoint("llama"), tmp_path / "quantised", quantised)).prepare()


def test_quantised_weights_keep_their_dtype_on_a_cpu_and_are_named_in_the_records(
    tmp_path: Path, checkpoint: Checkpoint
) -> None:
    plain = loaded(checkpoint("llama")).describe()
    assert plain["dtype"] == "float32" and "quantization" not in plain and "peft" not in plain
    folder = restated(checkpoint("llama"), tmp_path / "quantised", FOUR_BITS)
    described = loaded(folder).describe()
    assert (described["dtype"], described["quantization"]) == ("bfloat16", "bitsandbytes 4 bit")
    assert described["kernels"] == "cpu"
    assert loaded(folder, dtype="float32").describe()["dtype"] == "float32"


@pytest.mark.parametrize("kind", ["llama", "llava"])
def test_a_checkpoint_of_bitsandbytes_answers_as_transformers_does(
    kind: str, tmp_path: Path, checkpoint: Checkpoint
) -> None:
    pytest.importorskip("bitsandbytes")
    import torch
    import transformers as tf

    auto = tf.AutoModelForImageTextToText if kind == "llava" else tf.AutoModelForCausalLM
    plain_parts = [
        "model.vision_tower",
        "model.multi_modal_projector",
        "lm_head",
    ]  # a block has 64 columns, the vision tower 32
    four = tf.BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_compute_dtype=torch.float32, llm_int8_skip_modules=plain_parts
    )
    folder = Path(shutil.copytree(checkpoint(kind), tmp_path / "four"))
    (folder / "model.safetensors").unlink()
    auto.from_pretrained(checkpoint(kind), quantization_config=four, device_map={"": "cpu"}).save_pretrained(folder)
    pictured = kind == "llava"
    rows = mixed(pictured, generation_kwargs={"max_new_tokens": 4})
    scored = mixed(pictured, continuation=" a red car")
    model, whole = loaded(folder), loaded(checkpoint(kind))
    assert set(outputs(model.generate(rows)).values()) and model.runtime.model.is_loaded_in_4bit
    ours, plain = outputs(model.loglikelihood(scored)), outputs(whole.loglikelihood(scored))
    assert all(isinstance(ll, tuple) for ll in ours.values()) and ours != plain, ours
    ids = torch.tensor([model.writer.write(rows[1]).ids])
    again = auto.from_pretrained(folder, device_map={"": "cpu"})
    expected = again.generate(ids, max_new_tokens=4, do_sample=False)[0, ids.shape[1] :]
    text = model.writer.tokenizer.decode(expected, skip_special_tokens=True)
    assert text.startswith(outputs(model.generate([rows[1]]))[1, 0])


def in_eight_bits(folder: Path, eight: Path, plain: Path) -> None:
    """Two copies of a checkpoint of text: in FP8 with a scale for each block of 32 x 32, and the same numbers in bfloat16."""
    import torch
    from safetensors.torch import load_file, save_file

    quantised, same = {}, {}
    for name, weight in load_file(folder / "model.safetensors").items():
        quantised[name] = same[name] = weight.to(torch.bfloat16)
        if "proj" in name:
            rows, columns = weight.shape
            blocks = weight.reshape(rows // 32, 32, columns // 32, 32)
            scale = blocks.abs().amax((1, 3), keepdim=True) / 448
            small = (blocks / scale).to(torch.float8_e4m3fn)
            quantised[name] = small.reshape(rows, columns)
            quantised[name.replace(".weight", ".weight_scale_inv")] = scale[:, 0, :, 0]
            same[name] = (small.float() * scale).reshape(rows, columns).to(torch.bfloat16)
    fp8 = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [32, 32]}
    restated(folder, eight, {**fp8, "modules_to_not_convert": ["lm_head"]})
    shutil.copytree(folder, plain)
    save_file(quantised, eight / "model.safetensors", {"format": "pt"})
    save_file(same, plain / "model.safetensors", {"format": "pt"})


def test_a_checkpoint_in_fp8_gives_the_numbers_of_its_weights(tmp_path: Path, checkpoint: Checkpoint) -> None:
    """On a CPU transformers writes it out in bfloat16; what is left of the model has the dtype that is asked for."""
    in_eight_bits(checkpoint("llama"), tmp_path / "eight", tmp_path / "plain")
    scored = mixed(False, continuation=" a red car")
    eight, plain = loaded(tmp_path / "eight"), loaded(tmp_path / "plain", dtype="bfloat16")
    assert eight.describe()["quantization"] == "fp8" and eight.describe()["dtype"] == "bfloat16"
    found, expected = outputs(eight.loglikelihood(scored)), outputs(plain.loglikelihood(scored))
    assert [found[key][0] for key in found] == pytest.approx([expected[key][0] for key in found], abs=1e-3)
    # in float32 the weights are written out unrounded
    wide, plain = (loaded(tmp_path / name, dtype="float32") for name in ("eight", "plain"))
    found, expected = outputs(wide.loglikelihood(scored)), outputs(plain.loglikelihood(scored))
    assert [found[key][0] for key in found] == pytest.approx(
        [expected[key][0] for key in found], abs=0.03
    )  # written out unrounded


def trained(folder: Path, target: Path, kind: str = "llama", **options: Any) -> Path:
    """An adapter for a checkpoint, with weights that matter, as PEFT saves it; and the merged checkpoint beside it."""
    import transformers as tf
    from peft import LoraConfig, get_peft_model

    auto = tf.AutoModelForCausalLM if kind == "llama" else tf.AutoModelForImageTextToText
    settings = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False, **options)
    wrapped = get_peft_model(auto.from_pretrained(folder, dtype="float32"), settings)
    wrapped.save_pretrained(target)
    merged = shutil.copytree(folder, f"{target}-merged")
    wrapped.merge_and_unload().save_pretrained(merged)
    return target


@pytest.mark.parametrize("kind", ["llama", "llava", "qwen2_vl"])
def test_an_adapter_gives_the_numbers_of_the_merged_checkpoint(
    kind: str, tmp_path: Path, checkpoint: Checkpoint
) -> None:
    pytest.importorskip("peft")
    adapter = trained(checkpoint(kind), tmp_path / "lora", kind)
    pictured = kind != "llama"
    rows = mixed(pictured, generation_kwargs={"max_new_tokens": 6})
    scored = mixed(pictured, continuation=" a red car")
    plain, merged = loaded(checkpoint(kind)), loaded(tmp_path / "lora-merged")
    for batch_size in (1, 4):
        model = loaded(checkpoint(kind), batch_size, peft=str(adapter))
        assert outputs(model.generate(rows)) == outputs(merged.generate(rows))
        found, expected = outputs(model.loglikelihood(scored)), outputs(merged.loglikelihood(scored))
        assert [found[key][0] for key in found] == pytest.approx([expected[key][0] for key in found], abs=1e-4)
        without = outputs(plain.loglikelihood(scored))
        assert all(abs(found[key][0] - without[key][0]) > 1e-2 for key in found)


def test_an_adapter_is_part_of_the_model_in_the_records(tmp_path: Path, checkpoint: Checkpoint) -> None:
    pytest.importorskip("peft")
    one, two = (trained(checkpoint("llama"), tmp_path / name) for name in ("one", "two"))
    same = Path(shutil.copytree(one, tmp_path / "moved"))
    prints = [loaded(checkpoint("llama"), peft=str(folder)).fingerprint for folder in (one, two, same)]
    assert prints[0] == prints[2] != prints[1] and loaded(checkpoint("llama")).fingerprint not in prints
    assert len(loaded(checkpoint("llama"), peft=str(one)).describe()["peft"]) == 64


def test_an_adapter_of_another_model_is_refused(tmp_path: Path, checkpoint: Checkpoint) -> None:
    pytest.importorskip("peft")
    from safetensors.torch import load_file, save_file

    adapter = trained(checkpoint("llama"), tmp_path / "lora")
    tensors = load_file(adapter / "adapter_model.safetensors")
    for name, changed in (
        ("renamed", {key.replace("layers.1", "layers.7"): value for key, value in tensors.items()}),
        ("too few", dict(list(tensors.items())[1:])),
        ("too many", {**tensors, "base_model.model.other.lora_A.weight": tensors[min(tensors)].clone()}),
    ):
        folder = Path(shutil.copytree(adapter, tmp_path / name))
        save_file(changed, folder / "adapter_model.safetensors")
        with pytest.raises(ConfigError, match="does not fit the checkpoint"):
            loaded(checkpoint("llama"), peft=str(folder)).prepare()
    with pytest.raises(ConfigError, match="can't be loaded|does not fit"):
        loaded(checkpoint("qwen2_vl"), peft=str(adapter)).prepare()


def by_hand(folder: Path, **settings: Any) -> Path:
    """An adapter's folder in PEFT's form, without a tensor."""
    from safetensors.numpy import save_file

    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4, **settings}))
    save_file({}, folder / "adapter_model.safetensors")
    return folder


def test_a_wrong_folder_is_named_at_once(tmp_path: Path, checkpoint: Checkpoint) -> None:
    def fault(folder: Path) -> str:
        with pytest.raises(ConfigError) as caught:
            loaded(checkpoint("llama"), peft=str(folder))
        return str(caught.value)

    assert "has no adapter_config.json" in fault(tmp_path / "nowhere")
    (empty := by_hand(tmp_path / "empty") / "adapter_model.safetensors").unlink()
    assert "has no adapter_model.safetensors or adapter_model.bin" in fault(empty.parent)
    (cut := by_hand(tmp_path / "cut") / "adapter_model.safetensors").write_bytes(b"version https://git-lfs")
    assert "git-lfs pointer" in fault(cut.parent)
    (odd := by_hand(tmp_path / "odd") / "adapter_config.json").write_text("{")
    assert "can't be read as JSON" in fault(odd.parent)
    odd.write_text("[]")
    assert "does not name a `peft_type`" in fault(odd.parent)


def test_without_peft_the_message_says_how_to_install_it(
    tmp_path: Path, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "peft" else real(name, *rest))
    with pytest.raises(ConfigError, match=r"needs the package peft.*pip install 'mm-eval\[peft\]'"):
        loaded(checkpoint("llama"), peft=str(by_hand(tmp_path / "lora")))


def test_a_picture_is_read_in_both_directions_whatever_computes_the_attention() -> None:
    """transformers 5.23 reads a picture without padding in one direction by `sdpa`, and beside another one in both."""
    import torch
    from transformers import Phi4MultimodalVisionConfig, Phi4MultimodalVisionModel

    sides = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = Phi4MultimodalVisionConfig(**sides, image_size=56, crop_size=56, patch_size=14)
    torch.manual_seed(0)
    model = Phi4MultimodalVisionModel(config).eval()
    pixels = torch.rand(1, 3, 56, 56)

    def seen(attention: str) -> torch.Tensor:
        model.set_attn_implementation(attention)
        with torch.no_grad():
            features: torch.Tensor = model(pixels).last_hidden_state
        return features

    eager = seen("eager")
    look_both_ways(model)
    assert torch.allclose(seen("sdpa"), eager, atol=1e-5) and torch.allclose(seen("eager"), eager)
    for layer in model.encoder.layers:
        layer.self_attn.is_causal = True
    assert not torch.allclose(seen("sdpa"), eager, atol=1e-3), "transformers has mended it: BOTH_WAYS is not needed"
