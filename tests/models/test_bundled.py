"""The bundled models load, name themselves as bundled, and fix their prompt keys."""

from __future__ import annotations

from importlib.resources import files

import pytest

from mm_eval.engine.model import MODELS, ModelSettings, is_bundled, show
from mm_eval.values.errors import ConfigError
from tests.models.questions import instance, outputs, picture

NAMES = {"tiny-llava": ("llava",), "tiny-qwen2-vl": ("qwen_vl", "qwen2_vl")}


def _is_there(name: str) -> bool:
    return (files("mm_eval.assets") / "models" / name / "config.json").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_bundled_models_are_known_by_name(name: str) -> None:
    assert is_bundled(MODELS.get(name)) and MODELS.summary(name).startswith("The bundled")
    with pytest.raises(ConfigError, match="takes no pretrained='x'"):
        MODELS.get(name)({"pretrained": "x"}, ModelSettings())


@pytest.mark.parametrize("name", NAMES)
def test_bundled_models_answer(name: str) -> None:
    if not _is_there(name):
        pytest.skip(f"{name} has not been trained yet")
    model = MODELS.get(name)({}, ModelSettings(device="cpu"))
    assert model.facts.prompt_keys == NAMES[name] and model.facts.chat
    row = instance("Is there a circle in the image?", [picture(96, 96)], generation_kwargs={"max_new_tokens": 8})
    preview = show(model, row)
    assert preview.image_tokens and preview.tokens and "circle" in preview.text
    assert isinstance(outputs(model.generate([row]))[0, 0], str)
    choice = instance("Is there a circle in the image?", [picture(96, 96)], continuation=" yes")
    assert outputs(model.loglikelihood([choice]))[0, 0][0] < 0
