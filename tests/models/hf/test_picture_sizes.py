"""Thin, tall, small and large pictures, alone and several in a prompt: ids, log-likelihoods and answers are transformers' own.

The other side is the checkpoint as transformers loads it: its processor, one forward over prompt and continuation, `generate`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import tests.models.tiny_2026  # noqa: F401  (it adds to MORE)
from tests.models.questions import instance, outputs, picture
from tests.models.tiny_2026 import KINDS_2026, ONE_PICTURE
from tests.models.tiny_more import MORE
from tests.sets import few

SIDES = ((200, 8), (9, 300), (31, 29), (500, 500))
SEVERAL = ((0, 3), (1, 2, 0))
CHOICES = (" A", " the yellow bus")
STEPS = {"max_new_tokens": 5, "min_new_tokens": 5}


def shown(kind: str) -> list[list[Any]]:
    """The pictures of each prompt."""
    one_each = [picture(*sides, seed) for seed, sides in enumerate(SIDES)]
    several = [] if kind in ONE_PICTURE else [[one_each[place] for place in places] for places in SEVERAL]
    return [*([each] for each in one_each), *several]


def questions(kind: str, **fields: Any) -> list[Any]:
    return [instance("What is shown?", pictures, doc_id=n, **fields) for n, pictures in enumerate(shown(kind))]


class Plain:
    """transformers' own processor and model of a checkpoint."""

    def __init__(self, kind: str, folder: Path) -> None:
        from mm_eval.models.hf.processor import image_text_loader
        from transformers import AutoImageProcessor, AutoProcessor

        try:
            self.processor = AutoProcessor.from_pretrained(folder)
        except (
            ImportError,
            ValueError,
            OSError,
        ):  # the part for videos is missing, or can't be loaded without torchvision
            self.processor = MORE[kind]()[1]
            self.processor.image_processor = AutoImageProcessor.from_pretrained(folder)
        self.options = {"return_mm_token_type_ids": True} if kind == "cosmos3_edge" else {}
        self.model = image_text_loader(kind).from_pretrained(folder).eval()

    def inputs(self, pictures: list[Any], continuation: str = "") -> Any:
        parts = [{"type": "image"} for _ in pictures] + [{"type": "text", "text": "What is shown?"}]
        messages = [{"role": "user", "content": parts}]
        text = self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return self.processor(text=[text + continuation], images=[pictures], return_tensors="pt", **self.options)

    def loglikelihood(self, pictures: list[Any], continuation: str) -> float:
        import torch

        scored = torch.tensor(self.processor.tokenizer(continuation, add_special_tokens=False)["input_ids"])
        inputs = self.inputs(pictures, continuation)
        assert inputs["input_ids"][0, -len(scored) :].tolist() == scored.tolist()
        with torch.no_grad():
            logits = self.model(**inputs).logits[0, -len(scored) - 1 : -1].double()
        return float(torch.log_softmax(logits, -1).gather(1, scored[:, None]).sum())

    def generate(self, pictures: list[Any]) -> str:
        import torch

        inputs = self.inputs(pictures)
        with torch.no_grad():
            new = self.model.generate(**inputs, **STEPS, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        assert len(new) == STEPS["max_new_tokens"]
        return str(self.processor.tokenizer.decode(new, skip_special_tokens=True))


@pytest.mark.parametrize("kind", few(KINDS_2026, "cosmos3_edge"))
def test_pictures_of_any_size_are_those_of_transformers(
    adapter: Callable[..., Any], checkpoint: Callable[[str], Path], kind: str
) -> None:
    plain, pictures = Plain(kind, checkpoint(kind)), shown(kind)
    alone, together = adapter(kind, batch_size=1), adapter(kind, batch_size=8)
    generating = questions(kind, generation_kwargs=STEPS)
    for row, images in zip(generating, pictures, strict=True):
        assert alone.writer.write(row).ids == plain.inputs(images)["input_ids"][0].tolist()
    rows = [questions(kind, continuation=text, choice=n) for n, text in enumerate(CHOICES)]
    scoring = [row for doc in zip(*rows, strict=True) for row in doc]
    expected = {
        (n, c): plain.loglikelihood(images, text) for n, images in enumerate(pictures) for c, text in enumerate(CHOICES)
    }
    said = {(n, 0): plain.generate(images) for n, images in enumerate(pictures)}
    assert len(set(said.values())) >= 3, said
    for model in (alone, together):
        found = outputs(model.loglikelihood(scoring))
        assert {key: answer[0] for key, answer in found.items()} == pytest.approx(expected, abs=1e-4)
        assert outputs(model.generate(generating)) == said


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="with torchvision transformers has another processor")
def test_a_processor_that_ignores_a_factor_of_its_files_is_refused(
    checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    """transformers 5.23: GlmgaImageProcessorPil resizes to multiples of 28 where its files state multiples of 56."""
    from mm_eval.models.hf.arguments import Arguments
    from mm_eval.models.hf.processor import load_processor

    from mm_eval.values.errors import ConfigError

    folder = tmp_path / "glmga"
    shutil.copytree(checkpoint("glmga"), folder)
    files = folder / "processor_config.json"
    stated = json.loads(files.read_text())
    arguments = Arguments(pretrained=str(folder))
    assert load_processor(folder, arguments).image_processor.patch_expand_factor == 1
    stated["image_processor"]["patch_expand_factor"] = 2
    files.write_text(json.dumps(stated))
    with pytest.raises(ConfigError, match="patch_expand_factor=2, .* ignores.*pip install torchvision"):
        load_processor(folder, arguments)
