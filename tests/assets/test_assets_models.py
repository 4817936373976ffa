"""The tiny models load as any checkpoint does, and training's packed logits are the stock forward's."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch

MODELS = Path(__file__).parents[2] / "assets" / "models"
FOLDERS = {"llava": "tiny-llava", "qwen": "tiny-qwen2-vl"}
ARCHITECTURES = {"llava": "LlavaForConditionalGeneration", "qwen": "Qwen2VLForConditionalGeneration"}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test may look for a file on the hub."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("arch", list(FOLDERS))
def test_a_folder_is_small_and_complete(arch: str) -> None:
    folder = MODELS / FOLDERS[arch]
    assert (folder / "model.safetensors").stat().st_size <= 6_000_000
    assert json.loads((folder / "config.json").read_text())["architectures"] == [ARCHITECTURES[arch]]
    card = (folder / "README.md").read_text(encoding="utf-8")
    for word in ("license: apache-2.0", "Limits", "minutes", "shuffled"):
        assert word in card


@pytest.mark.parametrize("arch", list(FOLDERS))
def test_a_model_loads_and_answers(arch: str) -> None:
    from evaluate import Answerer
    from prompts import SUFFIX
    from scenes import draw_scene

    answerer = Answerer(str(MODELS / FOLDERS[arch]))
    assert type(answerer.model).__name__ == ARCHITECTURES[arch]
    assert sum(parameter.numel() for parameter in answerer.model.parameters()) < 3_000_000
    images = [[draw_scene(random.Random(seed)).image] for seed in range(2)]
    texts = ["Is there a red circle in this image?" + SUFFIX[arch]["yesno"]] * 2
    assert set(answerer.generate(images, texts)) <= {"Yes", "No"}


def test_qwen_names_the_parts_that_auto_processor_expects_with_torchvision() -> None:
    config = json.loads((MODELS / FOLDERS["qwen"] / "processor_config.json").read_text())
    assert config["processor_class"] == "Qwen2VLProcessor"
    assert config["video_processor"]["video_processor_type"] == "Qwen2VLVideoProcessor"
    tokenizer = json.loads((MODELS / FOLDERS["qwen"] / "tokenizer_config.json").read_text())
    assert tokenizer.get("processor_class", "Qwen2VLProcessor") == "Qwen2VLProcessor"


@pytest.fixture(scope="module", params=list(FOLDERS))
def packer(request: pytest.FixtureRequest) -> Any:
    """A packer over the committed model."""
    from evaluate import Answerer
    from packing import Packer

    answerer = Answerer(str(MODELS / FOLDERS[request.param]))
    made = Packer(request.param, answerer.model, answerer.processor.tokenizer)
    return made, answerer


@pytest.mark.parametrize("video", [False, True])
def test_packed_questions_have_the_logits_of_the_stock_forward(packer: Any, video: bool) -> None:
    from questions import draw_training

    made, _ = packer
    rng = random.Random(3)
    batch = made.batch([draw_training(rng, video) for _ in range(3)], rng, (5, 3, 1), 0.85)
    with torch.no_grad():
        # Trained logits reach 30, so 1e-4 is the noise of fp32 there; untrained weights differ by 2e-6.
        assert made.one_by_one_difference(batch, rng) < 1e-4


@pytest.mark.parametrize("video", [False, True])
def test_training_sees_what_the_processor_makes(packer: Any, video: bool) -> None:
    from questions import draw_training

    made, answerer = packer
    picture = draw_training(random.Random(4), video)
    text = "Is there a red circle in this image?"
    inputs = answerer.inputs([picture.frames], [answerer.prompt(picture.frames, text)])
    ids = made.prefix(len(picture.frames))[0].tolist() + made.encode(text + made.tail)
    assert inputs["input_ids"][0].tolist() == ids
    assert torch.equal(inputs["pixel_values"], made.pixels(picture.frames))
