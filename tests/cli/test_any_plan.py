"""The order and the batches in which questions are asked change no number."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import mm_eval.run
from mm_eval.cli import main
from mm_eval.engine.order import CheapestOrder
from tests.folders import results_of


def run(folder: Path, *options: str) -> tuple[str, dict[str, bytes]]:
    assert main(["--sample", "--output_path", str(folder), *options]) == 0
    samples = {path.name: path.read_bytes() for path in (folder / "samples").glob("*.jsonl")}
    return results_of(folder), samples


@pytest.mark.full
def test_results_are_equal_whatever_the_window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dummy: byte-equal results and samples, asked one by one, in windows of seven, in windows of five hundred."""
    found = []
    for window in (1, 7, 512):
        monkeypatch.setattr(mm_eval.run, "CheapestOrder", partial(CheapestOrder, window=window))
        options = ("--tasks", "mme,seedbench,arc_easy", "--model", "dummy", "--limit", "40")
        found.append(run(tmp_path / str(window), *options))
    assert found[0] == found[1] == found[2]
    assert len(found[0][1]) >= 3


@pytest.mark.full
def test_a_real_model_answers_alike_in_any_order_and_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hf in float32: equal text, and log-likelihoods within 1e-4."""
    rows = []
    for window, batch in ((1, "1"), (512, "auto"), (512, "6")):
        monkeypatch.setattr(mm_eval.run, "CheapestOrder", partial(CheapestOrder, window=window))
        options = ("--tasks", "mme,seedbench_ppl", "--model", "tiny-llava", "--limit", "10", "--batch_size", batch)
        _, samples = run(tmp_path / f"{window}-{batch}", *options)
        texts = {name: text.decode().splitlines() for name, text in samples.items()}
        rows.append([json.loads(line) for name in sorted(texts) for line in texts[name]])
    assert len(rows[0]) == 20
    for other in rows[1:]:
        for one, two in zip(rows[0], other, strict=True):
            assert (one["task"], one["doc_id"]) == (two["task"], two["doc_id"])
            for a, b in zip(one["resps"], two["resps"], strict=True):
                assert a == b if isinstance(a, str) else a[0] == pytest.approx(b[0], abs=1e-4) and a[1] == b[1]
