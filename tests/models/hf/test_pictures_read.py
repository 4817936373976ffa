"""Which types read pictures, by which class they are loaded, and how their processors take the pictures of a prompt."""

from __future__ import annotations

from typing import Any

import pytest
from mm_eval.models.hf.processor import TEXT_ALONE, image_text_loader, is_image_text, text_loader
from mm_eval.models.hf.prompts.preprocessing import Preprocessor

from tests.models.questions import instance, picture

HEARS_TOO = {"phi4_multimodal", "qwen2_5_omni", "qwen3_omni_moe"}


def test_types_that_hear_as_well_read_pictures_and_those_that_only_hear_do_not() -> None:
    from transformers.models.auto import modeling_auto

    listed = set(modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)
    assert {kind for kind in listed if not is_image_text(kind)} == set(TEXT_ALONE)
    more = set(modeling_auto.MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES) - listed
    assert {kind for kind in more if is_image_text(kind)} == HEARS_TOO
    assert not is_image_text("llama") and not is_image_text("")
    assert image_text_loader("qwen2_5_omni").__name__ == "Qwen2_5OmniThinkerForConditionalGeneration"
    assert image_text_loader("qwen3_omni_moe").__name__ == "Qwen3OmniMoeThinkerForConditionalGeneration"
    assert image_text_loader("phi4_multimodal").__name__ == "AutoModelForMultimodalLM"
    assert image_text_loader("llava").__name__ == "AutoModelForImageTextToText"
    assert text_loader("mistral4").__name__ == "AutoModelForImageTextToText"
    assert text_loader("llama").__name__ == text_loader("a-type-of-its-own").__name__ == "AutoModelForCausalLM"


class Flat:
    """A processor that takes all pictures in one list, as GOT-OCR2's."""

    def __init__(self, refuses: bool = False) -> None:
        self.refuses, self.given = refuses, list[Any]()

    def __call__(self, text: list[str], images: Any = None, **options: Any) -> dict[str, Any]:
        if self.refuses:
            raise ValueError("no second chance" if not isinstance(images[0], list) else "too small")
        if images and isinstance(images[0], list):
            raise ValueError("Nested images are only supported with `multi_page` set to `True`.")
        self.given.append(images)
        return {}


def test_an_unknown_processor_that_refuses_nested_pictures_gets_them_in_one_list() -> None:
    shown, made = [picture(20, 20), picture(30, 20)], Flat()
    prepared = Preprocessor(made, "processor")
    for _ in range(2):
        prepared("a", instance("a", shown), shown, special=True)
    assert made.given == [shown, shown]
    with pytest.raises(ValueError, match="too small"):
        Preprocessor(Flat(refuses=True), "processor")("a", instance("a", shown), shown, special=True)
    with pytest.raises(ValueError, match="Nested"):
        Preprocessor(Flat(), "picture")("a", instance("a", shown), shown, special=True)
