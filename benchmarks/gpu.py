"""The engines on a GPU: hf, vLLM and a plain transformers loop, with LLaVA-1.5-7B and Qwen2.5-VL-7B in bfloat16, random weights.

    python benchmarks/gpu.py [--models llava-1.5-7b,qwen2.5-vl-7b] [--engines hf,vllm,plain] [--pictures 32] [--repetitions 5]
                             [--vllm_python PYTHON] [--tiny]

Not yet run on a GPU. --tiny: small models on whatever device there is, to see that it runs.

For each workload of workloads.py and each engine, by the wall clock, on other pictures in each repetition:

    docs a second
    share of peak   what the docs need at least over the chip's peak for that time. Counted are 2 FLOPs a weight and token:
                    vision once a picture, the layers once for tokens that prompts share, the head where logits are needed.
                    Embeddings cost nothing. Attention, padding and repeated work are not counted.
    waits           share of time in which the GPU runs nothing, by nvidia-smi ten times a second
    equal answers   with the first engine: the same text, or log-likelihoods within 1%. Half precision answers some questions
                    differently in another batch.

Each engine runs in a process of its own. vLLM may be in another environment (--vllm_python); it is left out where it is not
installed. The plain loop is at batch 1 with one forward a choice, on the first four docs. Weights are written to the scratch
folder once, 15 GB a model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from large_models import MODELS_BUILT, checkpoint, device
from measure import shown
from workloads import instances, ours, plain

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.types import Instance

PEAK_FLOPS = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Dense bfloat16, from the makers' data sheets."""
WORKLOADS = (("multiple_choice", 1), ("yes_no", 2), ("yes_no", 6), ("few_shot", 1))
PLAIN_DOCS = 4


@dataclass(frozen=True)
class Weights:
    """Weights of a model by how often they are used: for a patch, an image token, a token, a position with logits."""

    tower: int
    projector: int
    layers: int
    head: int


@dataclass(frozen=True)
class Needed:
    """What docs need at least: patches of pictures, image tokens, tokens through the layers, positions with logits."""

    patches: int
    image_tokens: int
    tokens: int
    logits: int

    def flops(self, weights: Weights) -> float:
        pictures = self.patches * weights.tower + self.image_tokens * weights.projector
        return 2.0 * (pictures + self.tokens * weights.layers + self.logits * weights.head)


def weights_of(folder: Path) -> Weights:
    """Counts the weights of a checkpoint by its config."""
    from transformers import AutoConfig, AutoModelForImageTextToText

    with torch.device("meta"):
        network = AutoModelForImageTextToText.from_config(AutoConfig.from_pretrained(folder))
    found = dict.fromkeys(("tower", "projector", "layers", "head", "none"), 0)
    for name, values in network.named_parameters():
        part = next((part for mark, part in PARTS.items() if mark in name), "layers")
        found[part] += values.numel()
    head = network.get_output_embeddings().weight.numel()
    return Weights(found["tower"], found["projector"], found["layers"], head)


PARTS = {
    "position_embedding": "none", "embed_tokens": "none", "lm_head": "head", "merger": "projector", "projector": "projector",
    "vision_tower": "tower", "visual": "tower",
}  # fmt: skip
"""Parts of parameter names, first match first. What is left is a layer of the language model."""


def needed(writer: Any, rows: Sequence[Instance], patch: int) -> Needed:
    """What rows need where nothing is computed twice. Rows that begin alike follow each other. patch: its side in pixels."""
    pictures: dict[Any, tuple[int, int]] = {}
    tokens = logits = 0
    last = None
    for _, group in _by_doc(rows):
        prompt = writer.write(group[0])
        starts = [p for i, p in enumerate(prompt.image_places) if i == 0 or prompt.image_places[i - 1] != p - 1]
        ends = [*(prompt.image_places.index(start) for start in starts[1:]), len(prompt.image_places)]
        counts = [end - (ends[i - 1] if i else 0) for i, end in enumerate(ends)]
        for picture, count in zip(prompt.pictures, counts, strict=True):
            pictures[picture.digests] = _patches(picture.tensors, patch), count
        shared = 0 if last is None else _shared(last, prompt, starts)
        tokens, last = tokens + len(prompt.ids) - shared, prompt
        if group[0].continuation is None:
            answer = int(group[0].generation_kwargs["max_new_tokens"])
            tokens, logits = tokens + answer - 1, logits + answer
        else:
            more = [len(writer.split(prompt, row.continuation or "")[1]) - 1 for row in group]
            tokens, logits = tokens + sum(more), logits + 1 + sum(more)
    return Needed(*map(sum, zip(*pictures.values(), strict=True)), tokens, logits)


def _by_doc(rows: Sequence[Instance]) -> Iterator[tuple[int, list[Instance]]]:
    groups: dict[int, list[Instance]] = {}
    for row in rows:
        groups.setdefault(row.doc_id, []).append(row)
    yield from groups.items()


def _patches(tensors: dict[str, Any], patch: int) -> int:
    if "image_grid_thw" in tensors:
        return int(tensors["image_grid_thw"].prod())
    return int(tensors["pixel_values"].shape[-1] // patch) * int(tensors["pixel_values"].shape[-2] // patch)


def _shared(one: Any, other: Any, starts: Sequence[int]) -> int:
    """Tokens that two prompts begin with alike, their pictures included. starts: places of the other's pictures."""
    pairs = zip(one.ids, other.ids, strict=False)
    common = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one.ids), len(other.ids)) - 1)
    keys = zip(one.picture_key, other.picture_key, strict=False)
    differing = next((i for i, (a, b) in enumerate(keys) if a != b), None)
    return common if differing is None else min(common, starts[differing])


@contextlib.contextmanager
def watching() -> Iterator[list[float]]:
    """The GPU's utilisation in percent, ten times a second; empty without nvidia-smi."""
    found: list[float] = []
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "100"]
    if device() == "cuda":
        command += ["-i", str(torch.cuda.current_device())]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError:
        yield found
        return
    output = process.stdout
    assert output is not None
    reader = threading.Thread(target=lambda: found.extend(float(line) for line in output if line.strip().isdigit()))
    reader.start()
    try:
        yield found
    finally:
        process.terminate()
        process.wait()
        reader.join()


def measured(name: str, engine: str, pictures: int, repetitions: int, tiny: bool) -> dict[str, Any]:
    """By workload: docs a second and FLOPs a second of each repetition, the share of waiting, answers of the first repetition."""
    folder = checkpoint(name, tiny)
    options: dict[str, Any] = {"pretrained": str(folder), "dtype": "bfloat16", "max_length": 4096}
    if engine == "vllm" and tiny:
        options["enforce_eager"] = True
    settings = ModelSettings(batch_size="auto", device=None if engine == "vllm" else device())
    model = MODELS.get("vllm" if engine == "vllm" else "hf")(options, settings)
    model.prepare()
    config = json.loads((folder / "config.json").read_text())
    weights, patch = weights_of(folder), int(config["vision_config"]["patch_size"])
    ask = plain if engine == "plain" else ours
    found = {}
    for kind, questions in WORKLOADS:
        ask(model, instances(kind, 0, 1 if engine == "plain" else 2, questions))
        rates, flops, answers, waits = [], [], [], []
        for number in range(1, repetitions + 1):
            rows = instances(kind, number * 100_000, pictures, questions)
            docs = [doc for doc, _ in _by_doc(rows)][: PLAIN_DOCS if engine == "plain" else None]
            rows = [row for row in rows if row.doc_id in set(docs)]
            with watching() as used:
                start = time.perf_counter()
                outputs = ask(model, rows)
                seconds = time.perf_counter() - start
            rates.append(len(docs) / seconds)
            flops.append(needed(model.writer, rows, patch).flops(weights) / seconds)
            waits += [1 - each / 100 for each in used]
            answers = answers or outputs
        waiting = sum(waits) / len(waits) if waits else None
        found[f"{kind}, {questions} a picture"] = {"rates": rates, "flops": flops, "waits": waiting, "answers": answers}
    model.close()
    return found


def alike(found: list[Any], expected: list[Any]) -> float:
    """The share of answers with equal text, or with log-likelihoods within 1%. The shorter list decides how many are compared."""
    pairs = list(zip(found, expected, strict=False))
    return sum(a == b if isinstance(a, str) else abs(a[0] - b[0]) <= 0.01 * abs(b[0]) for a, b in pairs) / len(pairs)


def in_a_process(name: str, engine: str, args: argparse.Namespace) -> dict[str, Any] | str:
    """What `measured` finds in a process of its own, or why there is nothing."""
    python = args.vllm_python if engine == "vllm" else sys.executable
    if engine == "vllm" and subprocess.run([python, "-c", "import vllm"], capture_output=True).returncode:
        return "vllm is not installed (--vllm_python)"
    command = [python, __file__, "--child", engine, "--models", name, "--pictures", str(args.pictures)]
    command += ["--repetitions", str(args.repetitions), *(["--tiny"] if args.tiny else [])]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return "failed: " + (done.stderr.strip().splitlines() or ["without a word"])[-1]
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def lines(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The table of a model. found: by engine, what `measured` returns."""
    name = torch.cuda.get_device_name() if device() == "cuda" else ""
    peak = next((peak for part, peak in PEAK_FLOPS.items() if part in name), None)
    first = next(iter(found.values()))
    for workload in first:
        for engine, by_workload in found.items():
            one = by_workload[workload]
            share = shown([each / peak for each in one["flops"]], 3) if peak else "-"
            waits = "-" if one["waits"] is None else f"{one['waits']:.2f}"
            equal = f"{alike(one['answers'], first[workload]['answers']):.3f}"
            yield f"| {workload} | {engine} | {shown(one['rates'])} | {share} | {waits} | {equal} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS_BUILT), metavar="NAME,...")
    parser.add_argument("--engines", default="hf,vllm,plain", metavar="NAME,...")
    parser.add_argument("--pictures", type=int, default=32)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--vllm_python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(measured(args.models, args.child, args.pictures, args.repetitions, args.tiny)))
        return
    for name in args.models.split(","):
        checkpoint(name, args.tiny)
        made = {engine: in_a_process(name, engine, args) for engine in args.engines.split(",")}
        print(f"\n{name}, bfloat16, {torch.cuda.get_device_name() if device() == 'cuda' else 'CPU'}\n")
        for engine, reason in made.items():
            if isinstance(reason, str):
                print(f"{engine}: {reason}\n")
        print(
            "| workload | engine | docs a second | share of peak | waits | equal answers |\n|---|---|---|---|---|---|"
        )
        ran = {engine: result for engine, result in made.items() if not isinstance(result, str)}
        print("\n".join(lines(ran) if ran else []), flush=True)


if __name__ == "__main__":
    main()
