"""The engines on a GPU: hf, vLLM and a plain transformers loop, with LLaVA-1.5-7B and Qwen2.5-VL-7B in bfloat16, random weights.

    python benchmarks/gpu.py [--models llava-1.5-7b,qwen2.5-vl-7b] [--engines hf,plain,vllm,fleet] [--minutes 9] [--pictures 16]
                             [--repetitions 3] [--vllm_python PYTHON] [--device cpu] [--tiny]

Not yet run on a GPU. --device cpu --tiny: small models, to see that it runs. --json FILE: also what was measured, for reading.

For each workload of workloads.py and each engine, by the wall clock, on other pictures in each repetition:

    docs a second
    tokens a second what the docs need at least (see below): tokens of prompts and answers through the layers
    share of peak   what the docs need at least over the chip's peak for that time (MFU). Counted are 2 FLOPs a weight and token:
                    vision once a picture, the layers once for tokens that prompts share, the head where logits are needed.
                    Embeddings cost nothing. Attention, padding and repeated work are not counted.
    first answer    seconds from the questions to the first answer, the model loaded and warm
    waits           share of time in which the GPU runs nothing, by nvidia-smi ten times a second
    equal answers   with the first engine: the same text, or log-likelihoods within 1%. Half precision answers some questions
                    differently in another batch.

Each engine runs in a process of its own, but for the plain loop, which shares the loaded model of hf. fleet: hf on two workers of
Ray that share the device. vLLM may be in another environment (--vllm_python). What is not installed is left out. The plain loop
is at batch 1 with one forward a choice, on the first four docs. Weights are written to the scratch folder once, 15 GB a model.

All is over after --minutes: each process has its share of the time that is left, makes at least one repetition of each workload,
and no further one that would not end in time. What a process had found by its end is printed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
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

from mm_eval.adapters import on_executor
from mm_eval.engine.model import MODELS, Model, ModelSettings
from mm_eval.request import RunRequest
from mm_eval.values.types import Instance

PEAK_FLOPS = {"H100": 989e12, "H200": 989e12, "A100": 312e12}
"""Dense bfloat16, from the makers' data sheets."""
WORKLOADS = (("multiple_choice", 1), ("yes_no", 2), ("yes_no", 6), ("few_shot", 1))
PLAIN_DOCS = 4
WORKERS = 2
TOGETHER = {"hf": ("hf", "plain")}
"""What runs in the process of an engine."""


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
    head = int(network.get_output_embeddings().weight.numel())
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
    patches, image_tokens = (sum(each) for each in zip(*pictures.values(), strict=True))
    return Needed(patches, image_tokens, tokens, logits)


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
def watching(where: str) -> Iterator[list[float]]:
    """The GPU's utilisation in percent, ten times a second; empty without nvidia-smi."""
    found: list[float] = []
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "100"]
    if where != "cuda":
        yield found
        return
    if torch.cuda.is_available():
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


def loaded(engine: str, folder: Path, args: argparse.Namespace) -> Any:
    """The model of an engine, ready to answer."""
    options: dict[str, Any] = {"pretrained": str(folder), "dtype": "bfloat16", "max_length": 4096}
    if engine == "vllm" and args.tiny:
        options["enforce_eager"] = True
    settings = ModelSettings(batch_size="auto", device=None if engine == "vllm" else args.device)
    model: Model = MODELS.get("vllm" if engine == "vllm" else "hf")(options, settings)
    if engine == "fleet":
        share = {"worker_gpus": 1 / WORKERS} if args.device == "cuda" else {"worker_cpus": 1}
        request = RunRequest.of_options(executor="ray", workers=WORKERS, **share)
        model = on_executor(model, request)
        model.describe()  # starts the workers, one of which says what the model is
    model.prepare()
    return model


def asked(ask: Any, model: Any, rows: list[Instance]) -> tuple[list[Any], float, float]:
    """(the answers, seconds to the first one, seconds to the last one)."""
    if ask is plain:
        first, start = 0.0, time.perf_counter()
        outputs = []
        for _, group in _by_doc(rows):
            outputs += plain(model, group)
            first = first or time.perf_counter() - start
        return outputs, first, time.perf_counter() - start
    seen: list[float] = []

    class Noting:
        """The model, whose first answer is noted."""

        def __getattr__(self, name: str) -> Any:
            def answers(instances: list[Instance]) -> Iterator[Any]:
                for pair in getattr(model, name)(instances):
                    if not seen:
                        seen.append(time.perf_counter())
                    yield pair

            return answers

    start = time.perf_counter()
    outputs = ours(Noting(), rows)
    return outputs, seen[0] - start, time.perf_counter() - start


def measured(name: str, engine: str, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """For each engine of this process and each workload: {engine, workload, ...} with lists of figures, one a repetition.

    The first object says how long loading took.
    """
    begun, folder = time.monotonic(), checkpoint(name, args.tiny, args.device)
    model = loaded(engine, folder, args)
    yield {"engine": engine, "loaded": time.monotonic() - begun}
    config = json.loads((folder / "config.json").read_text())
    weights, patch = weights_of(folder), int(config["vision_config"]["patch_size"])
    plain_hf: Any = (
        model if hasattr(model, "writer") else MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings())
    )
    writer = plain_hf.writer
    kinds = [each for each in WORKLOADS if args.workloads is None or each[0] in args.workloads.split(",")]
    engines = [each for each in TOGETHER.get(engine, (engine,)) if each in args.engines.split(",")]
    ends = begun + args.seconds
    for done, (each, (kind, questions)) in enumerate((each, kind) for kind in kinds for each in engines):
        until = time.monotonic() + (ends - time.monotonic()) / (len(kinds) * len(engines) - done)
        ask = plain if each == "plain" else ours
        asked(ask, model, instances(kind, 0, 1 if each == "plain" else 2, questions))  # warm
        found: dict[str, Any] = {name: [] for name in ("rates", "tokens", "flops", "first", "waits", "answers")}
        longest = 0.0
        for number in range(1, args.repetitions + 1):
            if number > 1 and time.monotonic() + longest > until:
                break
            rows = instances(kind, number * 100_000, args.pictures, questions)
            docs = [doc for doc, _ in _by_doc(rows)][: PLAIN_DOCS if each == "plain" else None]
            rows = [row for row in rows if row.doc_id in set(docs)]
            with watching(args.device) as used:
                outputs, first, seconds = asked(ask, model, rows)
            least = needed(writer, rows, patch)
            found["rates"].append(len(docs) / seconds)
            found["tokens"].append(least.tokens / seconds)
            found["flops"].append(least.flops(weights) / seconds)
            found["first"].append(first)
            found["waits"] += [1 - each / 100 for each in used]
            found["answers"] = found["answers"] or outputs
            longest = max(longest, seconds)
        yield {"engine": each, "workload": f"{kind}, {questions} a picture", **found}
    model.close()


def alike(found: list[Any], expected: list[Any]) -> float:
    """The share of answers with equal text, or with log-likelihoods within 1%. The shorter list decides how many are compared."""
    pairs = list(zip(found, expected, strict=False))
    equal: list[bool] = [
        bool(a == b) if isinstance(a, str) else bool(abs(a[0] - b[0]) <= 0.01 * abs(b[0])) for a, b in pairs
    ]
    return sum(equal) / len(pairs)


def in_a_process(name: str, engine: str, args: argparse.Namespace, seconds: float) -> tuple[list[dict[str, Any]], str]:
    """(what `measured` finds in a process of its own within these seconds, why it has not all)."""
    python = args.vllm_python if engine == "vllm" else sys.executable
    needs = {"vllm": "vllm", "fleet": "ray"}.get(engine)
    if needs and subprocess.run([python, "-c", f"import {needs}"], capture_output=True).returncode:
        return [], f"{needs} is not installed{' (--vllm_python)' if needs == 'vllm' else ''}"
    command = [python, __file__, *args.words, "--child", engine, "--models", name, "--seconds", str(0.8 * seconds)]
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, stdout=output, stderr=said, env=environment, start_new_session=True)
        why = ""
        try:
            if child.wait(seconds):
                why = "failed: "
        except subprocess.TimeoutExpired:
            why = f"ended after {seconds:.0f} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # its workers, too
            child.wait()
        output.seek(0), said.seek(0)
        if why == "failed: ":
            why += (said.read().strip().splitlines() or ["without a word"])[-1]
        return [json.loads(line) for line in output.read().splitlines() if line.startswith('{"engine"')], why


def lines(found: Sequence[dict[str, Any]], chip: str) -> Iterator[str]:
    """The rows of a model's table. found: what `measured` gave of all engines."""
    peak = next((peak for part, peak in PEAK_FLOPS.items() if part in chip), None)
    for workload in dict.fromkeys(one["workload"] for one in found):
        rows = [one for one in found if one["workload"] == workload]
        for one in rows:
            share = shown([each / peak for each in one["flops"]], 3) if peak else "-"
            waits = f"{sum(one['waits']) / len(one['waits']):.2f}" if one["waits"] else "-"
            equal = f"{alike(one['answers'], rows[0]['answers']):.3f}"
            figures = [shown(one["rates"]), shown(one["tokens"], 0), share, shown(one["first"], 3), waits, equal]
            yield f"| {workload} | {one['engine']} | {' | '.join(figures)} |"


HEAD = (
    "| workload | engine | docs a second | tokens a second | share of peak | first answer, s | waits | equal answers |"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(MODELS_BUILT), metavar="NAME,...")
    parser.add_argument("--engines", default="hf,plain,vllm,fleet", metavar="NAME,...")
    parser.add_argument("--workloads", metavar="NAME,...")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--pictures", type=int, default=16)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--vllm_python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--device", default=device())
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        for each in measured(args.models, args.child, args):
            print(json.dumps(each), flush=True)
        return
    args.words, ends = sys.argv[1:], time.monotonic() + 60 * args.minutes - 10
    chip = torch.cuda.get_device_name() if args.device == "cuda" else "CPU"
    stated = args.engines.split(",")
    engines = [each for each in stated if each != "plain" or "hf" not in stated]
    work = [(name, engine) for name in args.models.split(",") for engine in engines]
    kept: dict[str, list[dict[str, Any]]] = {}
    for number, (name, engine) in enumerate(work):
        checkpoint(name, args.tiny, args.device)
        if args.device == "cuda":
            torch.cuda.empty_cache()  # of the model that was written
        left = ends - time.monotonic()
        found, why = in_a_process(name, engine, args, max(1.0, left / (len(work) - number)))
        kept.setdefault(name, []).extend(each for each in found if "workload" in each)
        load = next((f"loaded in {each['loaded']:.1f} s" for each in found if "loaded" in each), "not loaded")
        print(f"{name}, {engine}: {load}{'; ' if why else ''}{why}", flush=True)
        if args.json:
            args.json.write_text(json.dumps({"chip": chip, "found": kept}))
        if (name, engine) == [each for each in work if each[0] == name][-1]:
            print(f"\n{name}, bfloat16, {chip}\n\n{HEAD}\n|{'---|' * HEAD.count(' |')}")
            print("\n".join(lines(kept[name], chip)) + "\n", flush=True)


if __name__ == "__main__":
    main()
