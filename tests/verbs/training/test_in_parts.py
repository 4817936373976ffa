"""Weights in parts on two processes: they share each evaluation, and the training is the same bit for bit."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from tests.processes import HANGS
from tests.verbs.training import in_parts

ROOT = Path(__file__).parent.parent.parent.parent
LAUNCH = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}


def check(folder: Path, *kinds: str) -> None:
    words = [sys.executable, *LAUNCH, in_parts.__file__, str(folder), *kinds]
    done = subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=2 * HANGS)
    assert done.returncode == 0, done.stderr[-5000:]
    for kind in kinds:
        found = [json.loads((folder / f"{kind}-{rank}.json").read_text()) for rank in range(2)]
        for rank in found:
            assert rank["with"] == rank["without"] and len(set(rank["with"])) == in_parts.STEPS
            assert rank["results"] and {code for _, code in rank["results"]} == {0}
        last = folder / kind / ("study/step-00000003" if (folder / kind / "study").exists() else "last")
        assert len(list((last / "journal").glob("*.jsonl"))) == 2, "each process answered its share"
        saved = {"pretrained": str(folder / kind / "saved")}
        offline = evaluate(in_parts.TASKS, "hf", saved, output_path=str(folder / kind / "offline"), **in_parts.OPTIONS)
        assert json.loads((last / "results.json").read_text())["results"] == offline.raw["results"]
        for own, theirs in zip(answers(last), answers(offline.folder), strict=True):
            assert own == pytest.approx(theirs, abs=1e-4), "where weights lie in memory decides the last digits"


def answers(folder: Path) -> list[Any]:
    """Texts, and log-likelihoods as numbers."""
    rows = [json.loads(row) for t in in_parts.TASKS.split(",") for row in (folder / "samples" / f"{t}.jsonl").open("r")]
    return [each[0] if isinstance(each, list) else each for row in rows for each in flat(row["resps"])]


def flat(found: list[Any]) -> list[Any]:
    """The answers of a row: a text, or [log-likelihood, is greedy] a choice."""
    return [each for some in found for each in (some if isinstance(some, list) else [some])]


@pytest.mark.slow
def test_fsdp_and_fsdp2_in_a_loop_of_ones_own(tmp_path: Path) -> None:
    check(tmp_path, "fsdp", "flat", "fsdp2")


@pytest.mark.full
def test_fsdp2_in_the_trainer(tmp_path: Path) -> None:
    """Accelerate refuses the first FSDP on a CPU."""
    check(tmp_path, "trainer-fsdp2")


@pytest.mark.full
@pytest.mark.skipif(importlib.util.find_spec("deepspeed") is None, reason="DeepSpeed is not installed")
def test_zero_2_and_3(tmp_path: Path) -> None:
    check(tmp_path, "zero2", "zero3")
