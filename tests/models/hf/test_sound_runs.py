"""Runs with sound from the command line: a checkpoint that hears, one that transcribes, and one that is deaf."""

from __future__ import annotations

import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mm_eval.results.findings import diagnose
from mm_eval.results.recorded import RecordedRun
from tests.data.sound.test_of_videos import with_sound
from tests.data.video.movies import write
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


FILMS = """
task: films
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_until
doc_to_visual: video
doc_to_text: question
doc_to_target: answer
generation_kwargs: {max_new_tokens: 3, until: []}
metric_list: [{metric: exact_match}]
"""


def test_a_run_hears_the_videos_of_a_task_that_shows_them_only(
    cli: Callable[..., Any], tmp_path: Path, checkpoint: Callable[[str], Path], caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    with_sound(folder / "a.mp4")
    write(folder / "silent.mp4", count=25)
    rows = [{"video": name, "question": "What?", "answer": "x"} for name in ("a.mp4", "silent.mp4")]
    task = write_task(folder, "films", FILMS, "", rows)
    model = (
        f"pretrained={checkpoint('qwen2_5_omni')},video_min_pixels=800,video_max_pixels=20000,use_audio_in_video=true"
    )
    ran = cli("--tasks", task, "--model", "hf", "--model_args", model, "--device", "cpu")
    assert ran.code == 0, ran.err
    assert any("has no sound and is asked about without" in record.getMessage() for record in caplog.records)
    written = [json.loads(line) for line in (ran.folder / "samples" / "films.jsonl").read_text().splitlines()]
    heard = {row["doc_id"]: [each["name"] for each in row.get("sounds", ())] for row in written}
    assert heard == {0: ["a.mp4"], 1: []}
    note = "1 of 2 documents shows a video without sound, whose sound the question asks for: asked without it."
    assert note in ran.results["results"]["films"]["notes"]
    again = cli("score", str(ran.folder))
    assert again.code == 0, again.err
    assert note in again.results["results"]["films"]["notes"], "the journal knows it"
    refused = cli(
        *(
            "--tasks",
            task,
            "--model",
            "hf",
            "--model_args",
            f"pretrained={checkpoint('llava')},use_audio_in_video=true",
        ),
        *("--device", "cpu"),
    )
    assert refused.code == 2 and "needs a model that takes the sound of a video between its frames" in refused.err
