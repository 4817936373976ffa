"""The bundled model that hears: it answers by the sound, through the whole path, and its card's figures come out again."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import MetricKey

ASSETS = Path(__file__).parents[2] / "assets"
MODEL = ASSETS / "models" / "tiny-qwen2-audio"
pytest.importorskip("av")


def accuracy(folder: Path, *words: str) -> float:
    run = ["--tasks", "mmau_mini", "--model", "tiny-qwen2-audio", "--no_report", "--output_path", str(folder)]
    assert main([*run, *words]) == 0
    values = RecordedRun.read(folder).tasks["mmau_mini"].values[MetricKey.parse("acc,none")]
    return sum(values.values()) / len(values)


@pytest.fixture(scope="module")
def card() -> Iterator[Any]:
    """assets/make/card_sounds.py, which runs from a checkout and is not in the wheel."""
    sys.path.insert(0, str(ASSETS / "make"))
    try:
        import card_sounds

        yield card_sounds
    finally:
        sys.path.remove(str(ASSETS / "make"))


def test_it_hears(tmp_path: Path) -> None:
    assert accuracy(tmp_path / "run") >= 0.9


@pytest.mark.full
@pytest.mark.parametrize("blind", ["without", "shuffled"])
def test_without_its_own_sound_it_is_at_chance(tmp_path: Path, blind: str) -> None:
    assert accuracy(tmp_path / "run", "--blind", blind) <= 0.25 + 2.5 * (0.25 * 0.75 / 40) ** 0.5


@pytest.mark.full
def test_the_figures_come_out_again(card: Any, tmp_path: Path) -> None:
    figures = json.loads((MODEL / "figures.json").read_text())
    for place, (name, blind) in enumerate(card.RUNS.items()):
        measured = card.figures_of(card.run(tmp_path / str(place), blind))
        assert list(measured) == list(figures["MMAU"][name])
        for kind, figure in measured.items():
            assert figure == pytest.approx(figures["MMAU"][name][kind]), (name, kind)
    text = (MODEL / "README.md").read_text(encoding="utf-8")
    assert card.with_tables(text, figures) == text


def test_its_folder_is_small_and_complete() -> None:
    assert (MODEL / "model.safetensors").stat().st_size <= 2_000_000
    config = json.loads((MODEL / "config.json").read_text())
    assert config["architectures"] == ["Qwen2AudioForConditionalGeneration"]
    text = (MODEL / "README.md").read_text(encoding="utf-8")
    assert "license: apache-2.0" in text and "Limits" in text


def test_a_question_with_a_picture_fails(cli: Any) -> None:
    ran = cli("--tasks", "mme", "--model", "tiny-qwen2-audio", "--limit", 1)
    assert ran.code == 3 and "hears and reads text" in ran.samples("mme")[0]["error"]["what"]


@pytest.mark.full
def test_packed_questions_have_the_logits_of_the_stock_forward(card: Any) -> None:
    import argparse
    import random

    import torch
    from sounds import draw
    from train_sounds import Run, render

    run = Run(argparse.Namespace(steps=(1, 1), seed=0, work="", out=""))
    run.model.eval()
    rng = random.Random(3)
    with torch.no_grad():
        sound = draw(rng, "melody")
        [heard] = run.heard([sound])
        [embedded] = run.embed([heard])
        asked = [render(question, rng) for question in heard.asked]
        logits, _, decides = run.answering([(embedded[: len(heard.labels)], asked)])
        for start, (text, _) in zip(decides.nonzero().flatten().tolist(), asked, strict=True):
            content = [{"type": "audio", "audio_url": "x"}, {"type": "text", "text": text}]
            messages = [{"role": "user", "content": content}]
            prompt = run.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            inputs = run.processor(text=[prompt], audio=[sound.samples], sampling_rate=16_000, return_tensors="pt")
            assert torch.allclose(run.model(**inputs).logits[0, -1], logits[start], atol=1e-4)
