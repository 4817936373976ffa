"""The engine on a GPU: LLaVA-1.5-7B and Qwen2.5-VL-7B with random weights in bfloat16, against a plain transformers loop.

    python benchmarks/gpu.py [--models llava-1.5-7b,qwen2.5-vl-7b] [--pictures 32] [--repetitions 5] [--tiny]

Each workload of workloads.py by the wall clock, samples a second, and the share of the GPU's peak that ours reaches, counted
as 2 FLOPs a weight and token (attention left out). The plain loop is at batch 1 with one forward a choice, as lmms-eval's llava
does it. Half precision answers the same question differently in another batch now and then: the share of equal answers is
shown. Weights are written to the scratch folder once (15 GB a model) and loaded as a checkpoint. --tiny: small models on
whatever device there is, to see that it runs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measure import SCRATCH, shown
from mm_eval.models.hf.processor import _without_video
from reference_model import SEED, TEMPLATE, llava, tokenizer
from workloads import instances, ours, plain

from mm_eval.engine.model import MODELS, ModelSettings

PEAK_FLOPS = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Dense bfloat16, from the makers' data sheets."""
WORKLOADS = (("multiple_choice", 1), ("yes_no", 2), ("yes_no", 6), ("few_shot", 1))


def llava_7b(tiny: bool) -> tuple[Any, Any]:
    vision = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    text = {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32}
    if tiny:
        vision |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4}
        text |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    return llava({**vision, "projection_dim": 768}, {**text, "vocab_size": 32064})


def qwen_7b(tiny: bool) -> tuple[Any, Any]:
    import transformers as tf

    made = tokenizer("<|vision_start|>", "<|vision_end|>", image_token="<|image_pad|>", video_token="<|video_pad|>")
    names = {"image": "<|image_pad|>", "video": "<|video_pad|>", "vision_start": "<|vision_start|>"}
    ids = {f"{name}_token_id": made.convert_tokens_to_ids(token) for name, token in names.items()}
    text: dict[str, Any] = {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "vocab_size": 152064,
    }
    text |= {"num_attention_heads": 28, "num_key_value_heads": 4, "pad_token_id": 0}
    tower = {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584}
    sections = [16, 24, 24]
    if tiny:
        text |= {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 1000}
        text |= {"num_attention_heads": 4, "num_key_value_heads": 2}
        tower = {"depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 64}
        tower |= {"fullatt_block_indexes": [1]}
        sections = [2, 3, 3]
    text["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    config = tf.Qwen2_5_VLConfig(text_config=text, vision_config=tower, **ids)
    processor = _without_video(tf.Qwen2_5_VLProcessor)(
        image_processor=tf.Qwen2VLImageProcessorPil(patch_size=14, min_pixels=56 * 56, max_pixels=1280 * 28 * 28),
        tokenizer=made,
        chat_template=TEMPLATE.replace("<image>\n", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return config, processor


MODELS_BUILT: dict[str, Callable[[bool], tuple[Any, Any]]] = {"llava-1.5-7b": llava_7b, "qwen2.5-vl-7b": qwen_7b}


def checkpoint(name: str, tiny: bool) -> Path:
    """The folder of a random checkpoint, written once."""
    folder = SCRATCH / f"{name}{'-tiny' if tiny else ''}"
    if (folder / "complete").exists():
        return folder
    from transformers import AutoModelForImageTextToText, GenerationConfig

    config, processor = MODELS_BUILT[name](tiny)
    torch.manual_seed(SEED)
    with torch.device(device()):
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=0)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    (folder / "complete").touch()
    return folder


def device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


class Flops:
    """Counts 2 FLOPs a weight and token of the language model and the vision tower while it is open."""

    def __init__(self, network: Any) -> None:
        tower = next(m for name, m in network.named_modules() if name.endswith(("vision_tower", "visual")))
        in_tower = sum(weights.numel() for weights in tower.parameters())
        self._rest = sum(weights.numel() for weights in network.parameters()) - in_tower
        self._tower = in_tower
        self._parts = (network, tower)
        self.total = 0

    def __enter__(self) -> Flops:
        self._hooks = [
            self._parts[0].register_forward_pre_hook(self._tokens, with_kwargs=True),
            self._parts[1].register_forward_hook(self._patches, with_kwargs=True),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def _tokens(self, _: Any, __: Any, given: dict[str, Any]) -> None:
        self.total += 2 * self._rest * given["input_ids"].numel()

    def _patches(self, _: Any, __: Any, ___: Any, output: Any) -> None:
        states = output[0]
        self.total += 2 * self._tower * (states.numel() // states.shape[-1])


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall time of a piece of work, the GPU's included, and what it returns."""
    if device() == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    if device() == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start, result


def measured(model: Any, kind: str, questions: int, pictures: int, repetitions: int) -> str:
    """One line of the table: ours against the plain loop, on other pictures in each repetition."""
    ours(model, instances(kind, 0, 2, questions))
    ratios, rates, shares, equal = [], [], [], []
    name = torch.cuda.get_device_name() if device() == "cuda" else ""
    peak = next((peak for part, peak in PEAK_FLOPS.items() if part in name), None)
    for number in range(1, repetitions + 1):
        rows = instances(kind, number * 100_000, pictures, questions)
        docs = len({row.doc_id for row in rows})
        with Flops(model.runtime.model) as flops:
            mine, answers = seconds(lambda rows=rows: ours(model, rows))
        fewer = [row for row in rows if row.doc_id < number * 100_000 * questions + 4 * questions]
        theirs, expected = seconds(lambda fewer=fewer: plain(model, fewer))
        ratios.append(theirs / len({row.doc_id for row in fewer}) / (mine / docs))
        rates.append(docs / mine)
        shares.append(flops.total / mine / peak if peak else 0.0)
        equal.append(alike(answers[: len(fewer)], expected))
    share = shown(shares, 3) if peak else "-"
    what = f"{kind}, {questions} a picture"
    return f"| {what} | {shown(ratios, unit='x')} | {shown(rates)} | {share} | {shown(equal, 3)} |"


def alike(found: list[Any], expected: list[Any]) -> float:
    """The share of answers with equal text, or with log-likelihoods within 1%."""
    pairs = list(zip(found, expected, strict=True))
    return sum(a == b if isinstance(a, str) else abs(a[0] - b[0]) <= 0.01 * abs(b[0]) for a, b in pairs) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS_BUILT), metavar="NAME,...")
    parser.add_argument("--pictures", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    for name in args.models.split(","):
        folder = checkpoint(name, args.tiny)
        settings = ModelSettings(batch_size="auto", device=device())
        model = MODELS.get("hf").create({"pretrained": str(folder), "dtype": "bfloat16"}, settings)
        model.prepare()
        print(f"\n{name}, bfloat16, {device()}, batches of up to {model.runtime.budget} tokens\n", flush=True)
        print("| workload | against the plain loop | docs a second | share of peak FLOPs | equal answers |")
        print("|---|---|---|---|---|", flush=True)
        for kind, questions in WORKLOADS:
            print(measured(model, kind, questions, args.pictures, args.repetitions), flush=True)


if __name__ == "__main__":
    main()
