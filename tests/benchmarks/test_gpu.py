"""benchmarks/gpu.py counts what docs need and no more, and runs from the command line on small models."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("MM_EVAL_BENCHMARKS", str(tmp_path))
    for name in ("gpu", "large_models", "measure", "peer_environments", "reference_model", "workloads"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import gpu  # type: ignore[import-not-found,unused-ignore]

    return gpu


@pytest.mark.full
@pytest.mark.parametrize(("name", "patches", "tokens"), [("llava-1.5-7b", 576, 576), ("qwen2.5-vl-7b", 1564, 391)])
def test_what_docs_need_is_counted_once(gpu: Any, name: str, patches: int, tokens: int) -> None:
    folder = gpu.checkpoint(name, tiny=True)
    writer = MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings(device="cpu")).writer
    rows = gpu.instances("yes_no", 0, 2, 3)
    answer = int(rows[0].generation_kwargs["max_new_tokens"])
    prompts = [writer.write(row).ids for row in rows]
    found = gpu.needed(writer, rows, 14)
    assert (found.patches, found.image_tokens, found.logits) == (2 * patches, 2 * tokens, 6 * answer)
    apart = sum(map(len, prompts)) + 6 * (answer - 1)
    assert 2 * tokens < found.tokens < apart - 4 * tokens, "the tokens of a picture are counted once"
    scored = gpu.needed(writer, gpu.instances("multiple_choice", 0, 1, 1), 14)
    assert len(prompts[0]) - 30 < scored.tokens < len(prompts[0]) + 30 and 4 < scored.logits < 30
    few = gpu.needed(writer, gpu.instances("few_shot", 0, 2, 1), 14)
    assert few.patches == 6 * patches and 6 * tokens < few.tokens < 8 * tokens, "the examples are counted once"


def test_embeddings_cost_nothing_and_the_head_only_where_logits_are_needed(gpu: Any) -> None:
    from transformers import AutoModelForImageTextToText

    folder = gpu.checkpoint("qwen2.5-vl-7b", tiny=True)
    network = AutoModelForImageTextToText.from_pretrained(folder)
    weights = gpu.weights_of(folder)
    table = network.get_input_embeddings().weight.numel()
    whole = sum(values.numel() for values in network.parameters())
    assert weights.head == network.lm_head.weight.numel() == table
    assert weights.tower + weights.projector + weights.layers + weights.head == whole - table
    assert gpu.Needed(0, 0, 10, 0).flops(weights) == 20 * weights.layers
    assert gpu.Needed(0, 0, 0, 3).flops(weights) == 6 * weights.head


@pytest.mark.full
def test_it_runs_from_end_to_end_on_small_models(tmp_path: Path) -> None:
    words = ["--device", "cpu", "--tiny", "--pictures", "1", "--repetitions", "1", "--workloads", "multiple_choice"]
    words += ["--json", str(tmp_path / "found.json"), "--models", "qwen2.5-vl-7b", "--engines", "hf,plain,vllm"]
    environment = {**os.environ, "MM_EVAL_BENCHMARKS": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(FOLDER / "gpu.py"), *words, "--vllm_python", "/bin/false"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| hf |") == done.stdout.count("| plain |") == 1 and "failed" not in done.stdout
    assert "qwen2.5-vl-7b, vllm: not loaded; vllm is not installed (--vllm_python)" in done.stdout
    assert "tokens a second" in done.stdout and "first answer, s" in done.stdout
    found = json.loads((tmp_path / "found.json").read_text())["found"]["qwen2.5-vl-7b"]
    for one in found:
        assert len(one["rates"]) == len(one["tokens"]) == len(one["first"]) == len(one["flops"]) == 1
        assert one["first"][0] > 0 and one["tokens"][0] > one["rates"][0]


def test_a_process_that_takes_too_long_is_ended_and_what_it_found_is_kept(
    gpu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = tmp_path / "python"
    waits.write_text('#!/bin/sh\necho \'{"engine": "hf", "loaded": 2.0}\'\nexec sleep 600\n')
    waits.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(waits))
    found, why = gpu.in_a_process("llava-1.5-7b", "hf", argparse.Namespace(words=[], vllm_python=""), 1.0)
    assert found == [{"engine": "hf", "loaded": 2.0}] and why == "ended after 1 s"
