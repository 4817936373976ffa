"""The tiny models load as any checkpoint does, and training's packed logits are the stock forward's."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from mm_eval.models.hf.inference.positions import text_after
from PIL.Image import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from mm_eval.engine.model import MODELS as ADAPTERS
from tests.sets import each_of, few

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


def test_tiny_llava_has_the_hubs_names_for_its_vision_weights() -> None:
    """transformers 5.23 writes `vision_tower.embeddings`, which vLLM and older transformers do not load."""
    with safe_open(MODELS / "tiny-llava" / "model.safetensors", "pt") as weights:
        vision = [name for name in weights.keys() if name.startswith("vision_tower.")]  # noqa: SIM118
    assert vision and all(name.startswith("vision_tower.vision_model.") for name in vision)


@pytest.mark.full
def test_the_hubs_names_are_written_once(tmp_path: Path) -> None:
    from train import write_hub_names

    weights = tmp_path / "model.safetensors"
    save_file({"vision_tower.embeddings.weight": torch.ones(2), "language_model.head": torch.zeros(1)}, weights)
    for _ in range(2):
        write_hub_names(weights)
        assert set(load_file(weights)) == {"vision_tower.vision_model.embeddings.weight", "language_model.head"}


class Loaded:
    """A committed model and its processor, by transformers alone."""

    def __init__(self, arch: str) -> None:
        from tiny_models import image_only_qwen2_vl
        from transformers import AutoModelForImageTextToText, AutoProcessor

        folder = str(MODELS / FOLDERS[arch])
        self.model: Any = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        try:
            self.processor: Any = AutoProcessor.from_pretrained(folder)
        except ImportError:  # Qwen2-VL's video processor needs torchvision
            self.processor = image_only_qwen2_vl().from_pretrained(folder)

    def inputs(self, pictures: list[Image], text: str) -> Any:
        content = [{"type": "image"}] * len(pictures) + [{"type": "text", "text": text}]
        messages = [{"role": "user", "content": content}]
        prompt = self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return self.processor(images=pictures, text=[prompt], return_tensors="pt")


@pytest.mark.parametrize("arch", list(FOLDERS))
def test_a_model_loads_and_answers(arch: str) -> None:
    from prompts import SUFFIX
    from scenes import draw_scene

    loaded = Loaded(arch)
    assert type(loaded.model).__name__ == ARCHITECTURES[arch]
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    assert parameters < 3_000_000
    about = ADAPTERS.get(FOLDERS[arch]).__doc__ or ""
    assert f"({parameters / 1e6:.1f} M parameters)" in about  # what `ls models` says
    text = "Is there a red circle in this image?" + SUFFIX[arch]["yesno"]
    for seed in range(2):
        inputs = loaded.inputs([draw_scene(random.Random(seed)).image], text)
        tokens = loaded.model.generate(**inputs, max_new_tokens=4, do_sample=False)
        said = loaded.processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        assert said[0].strip() in ("Yes", "No")


def test_qwen_names_the_parts_that_auto_processor_expects_with_torchvision() -> None:
    config = json.loads((MODELS / FOLDERS["qwen"] / "processor_config.json").read_text())
    assert config["processor_class"] == "Qwen2VLProcessor"
    assert config["video_processor"]["video_processor_type"] == "Qwen2VLVideoProcessor"
    tokenizer = json.loads((MODELS / FOLDERS["qwen"] / "tokenizer_config.json").read_text())
    assert tokenizer.get("processor_class", "Qwen2VLProcessor") == "Qwen2VLProcessor"


@pytest.fixture(scope="module", params=list(FOLDERS))
def packer(request: pytest.FixtureRequest) -> Any:
    """A packer over the committed model."""
    from packing import Packer

    loaded = Loaded(request.param)
    return Packer(request.param, loaded.model, loaded.processor.tokenizer), loaded


@pytest.mark.parametrize("video", few([False, True], at=(1,)))
def test_packed_questions_have_the_logits_of_the_stock_forward(packer: Any, video: bool) -> None:
    from questions import draw_training

    made, _ = packer
    rng = random.Random(3)
    batch = made.batch([draw_training(rng, video) for _ in range(3)], rng, (5, 3, 1), 0.85)
    with torch.no_grad():
        # Trained logits reach 30, so 1e-4 is the noise of fp32 there; untrained weights differ by 2e-6.
        assert made.one_by_one_difference(batch, rng) < 1e-4


@pytest.mark.full
@pytest.mark.parametrize("frames", few([4, 8, 24], at=(1,)))
def test_packed_stories_have_the_logits_of_the_stock_forward(
    packer: Any, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import stories

    made, _ = packer
    rules = {arch: {f"frames={frames},starts": 1} for arch in FOLDERS}
    monkeypatch.setattr(stories, "RULES", rules)
    monkeypatch.setattr(stories, "ACTIONS", {3: 1})
    model = made.model.model
    if made.arch == "qwen":  # the adapter places the text behind the video
        monkeypatch.setattr(model, "get_rope_index", text_after(model.get_rope_index))
    rng = random.Random(3)
    batch = made.batch(stories.draw_stories(rng, made.arch, 2), rng, (5, 3, 1), 0.85)
    with torch.no_grad():
        assert made.one_by_one_difference(batch, rng) < 1e-4


@each_of("video", [False, True])
def test_training_sees_what_the_processor_makes(packer: Any, video: bool) -> None:
    from questions import draw_training

    made, loaded = packer
    picture = draw_training(random.Random(4), video)
    text = "Is there a red circle in this image?"
    inputs = loaded.inputs(picture.frames, text)
    ids = made.prefix(len(picture.frames)).ids.tolist() + made.encode(text + made.tail)
    assert inputs["input_ids"][0].tolist() == ids
    assert torch.equal(inputs["pixel_values"], made.pixels(picture.frames))


def test_hints_name_the_words_that_they_are_about(packer: Any) -> None:
    from questions import draw_training

    made, _ = packer
    rng = random.Random(5)
    batch = made.batch([draw_training(rng) for _ in range(12)], rng, (4, 4, 2), 0.85)
    decode = made.tokenizer.decode
    so_far = [[decode(ids[: column + 1]) for column in range(len(ids))] for ids in batch.ids]
    mentioned = [name for question, _ in batch.asked for name, _ in question.mentions]
    ends = [so_far[row][column] for row, column, _ in batch.hints.cells]
    assert len(mentioned) == len(ends) > 5
    assert all(end.endswith(name) for end, name in zip(ends, mentioned, strict=True))

    listed = [question for question, _ in batch.asked if question.kind == "choice"]
    options = [option for question in listed for option in question.options]
    assert len(options) == len(batch.hints.options) > 40
    for (row, column, right), option, asked in zip(
        batch.hints.options, options, (q for q in listed for _ in range(4)), strict=True
    ):
        assert so_far[row][column].endswith(f". {option}")
        assert right == (option == asked.answer)

    truths = [question.truth for question, _ in batch.asked if question.truth]
    for (row, column, token), truth in zip(batch.hints.truths, truths, strict=True):
        assert so_far[row][column][-1] in "?"
        assert token == made.encode(" " + truth)[0]
