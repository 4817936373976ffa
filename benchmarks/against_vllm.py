"""Long answers by `hf` and by `vllm`: CPU seconds of both on the same prompts, in an environment that has vLLM's CPU build.

    VENV/bin/python benchmarks/against_vllm.py [PROMPTS] [LONGEST]          VENV: made by .ci/vllm VENV

Prints JSON. Each engine answers in a process of its own, after a warm-up; the seconds are those of the process and of all that it
has started (vLLM's engine is one of them), taken from the system before and after the answers. ratio: hf over vllm. kernels: the
part of it that is due to torch's kernels, which is what a full batch of `hf` costs (long_answers.py's floor) over vllm's seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def seconds_of_tree() -> float:
    """CPU seconds so far of this process and everything below it."""
    import psutil

    own = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in [own, *own.children(recursive=True)] if each.is_running())


def answer(engine: str, count: int, longest: int) -> dict[str, Any]:
    """The seconds of one engine, and for `hf` the floor."""
    import torch
    from long_answers import lengths, prefilled, questions, token
    from measure import SCRATCH
    from reference_model import build

    from mm_eval.engine.model import MODELS, ModelSettings, prepare_once
    from mm_eval.values.types import Answer

    torch.set_num_threads(1)
    folder = build(SCRATCH / "reference-model")
    args = {"pretrained": str(folder), **({"dtype": "float32", "enforce_eager": True} if engine == "vllm" else {})}
    model: Any = MODELS.get(engine)(args, ModelSettings(batch_size="auto", device="cpu"))
    prepare_once(model)
    caps = [min(cap, longest) for cap in lengths(count)]
    list(model.generate(questions(0, [12, 8])))
    rows = questions(1000, caps)
    before = seconds_of_tree()
    said = {
        row.doc_id: found.usage["completion_tokens"] for row, found in model.generate(rows) if isinstance(found, Answer)
    }
    used: dict[str, Any] = {"seconds": seconds_of_tree() - before, "tokens": sum(said.values())}
    if engine == "hf":
        prompts = [model.writer.write(row) for row in rows]
        before = seconds_of_tree()
        prefixes = prefilled(model, prompts)
        prefill = seconds_of_tree() - before
        average = round(sum(cap * cap for cap in caps) / sum(caps) / 2)
        used["floor"] = prefill + sum(caps) * token(model, prefixes, min(16, count), average)
    model.close()
    return used


def main(count: int, longest: int) -> None:
    found = {}
    for engine in ("hf", "vllm"):
        command = [sys.executable, str(Path(__file__)), engine, str(count), str(longest)]
        settings = {
            "OMP_NUM_THREADS": "1",
            "VLLM_CPU_KVCACHE_SPACE": "2",
            "HF_HUB_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
        }
        done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, cwd=HERE.parent)
        if done.returncode:
            raise SystemExit(f"{engine} failed:\n{done.stderr[-3000:]}")
        found[engine] = json.loads(done.stdout.strip().splitlines()[-1])
    hf, vllm = found["hf"], found["vllm"]
    if hf["tokens"] != vllm["tokens"]:
        raise SystemExit(f"hf wrote {hf['tokens']} tokens and vllm {vllm['tokens']}: their seconds can't be compared.")
    ratios = {"ratio": hf["seconds"] / vllm["seconds"], "kernels": hf["floor"] / vllm["seconds"]}
    print(json.dumps({**found, **{name: round(value, 3) for name, value in ratios.items()}}))


if __name__ == "__main__":
    if sys.argv[1:2] in (["hf"], ["vllm"]):
        print(json.dumps(answer(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    else:
        given = [int(word) for word in sys.argv[1:]]
        main(given[0] if given else 32, given[1] if len(given) > 1 else 256)
