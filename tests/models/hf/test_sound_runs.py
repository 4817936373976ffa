"""Runs with sound from the command line: a checkpoint that hears, one that transcribes, and one that is deaf."""

from __future__ import annotations

import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mm_eval.results.findings import diagnose
from mm_eval.results.recorded import RecordedRun
from tests.folders import write_task

TASK = """
task: beeps
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_until
doc_to_audio: audio
doc_to_text: question
doc_to_target: answer
generation_kwargs: {max_new_tokens: 5, until: []}
metric_list: [{metric: exact_match}]
"""


@pytest.fixture
def task(tmp_path: Path) -> str:
    """Three tones, the last one longer than the extractor's window of two seconds."""
    rows = []
    folder = tmp_path / "own"
    folder.mkdir()
    for number, seconds in enumerate((0.7, 1.7, 2.7)):
        with wave.open(str(folder / f"{number}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(16_000)
            times = np.arange(round(16_000 * seconds)) / 16_000
            file.writeframes((8_000 * np.sin(2 * np.pi * (300 + 100 * number) * times)).astype("<i2").tobytes())
        rows.append({"audio": f"{number}.wav", "question": "What is it?", "answer": "tone"})
    return write_task(folder, "beeps", TASK, "", rows)


def test_a_checkpoint_hears_what_its_processor_takes(
    cli: Callable[..., Any], checkpoint: Callable[[str], Path], task: str
) -> None:
    ran = cli(
        "--tasks", task, "--model", "hf", "--model_args", f"pretrained={checkpoint('qwen2_audio')}", "--device", "cpu"
    )
    assert ran.code == 0 and ran.results["results"]["beeps"]["cut"] == 1
    [found] = [each for each in diagnose(RecordedRun.read(ran.folder)) if each.kind == "cut sound"]
    assert (found.docs, found.of) == (1, 3) and "cut at their end" in found.said and "--doc 2" in found.mend


@pytest.mark.full
def test_a_transcriber_writes_down_the_whole_sound(
    cli: Callable[..., Any], checkpoint: Callable[[str], Path], task: str
) -> None:
    model = ("--model_args", f"pretrained={checkpoint('whisper')}", "--device", "cpu")
    ran = cli("--tasks", task, "--model", "whisper", *model)
    assert ran.code == 0 and not ran.results["results"]["beeps"].get("cut")
    ran = cli("--tasks", task, "--model", "hf", *model)
    assert ran.code == 2 and "Write --model whisper" in ran.err


@pytest.mark.full
def test_a_deaf_checkpoint_is_refused_before_the_run(
    cli: Callable[..., Any], checkpoint: Callable[[str], Path], task: str
) -> None:
    ran = cli("--tasks", task, "--model", "hf", "--model_args", f"pretrained={checkpoint('llama')}", "--device", "cpu")
    assert ran.code == 2 and "the questions have sound" in ran.err
