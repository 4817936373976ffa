from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

OF_PIXTRAL = ("lighton_ocr", "mistral3", "mistral3_of_4", "mistral_large4", "pixtral_llava")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is left alone."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny random checkpoint, built once a session."""
    made: dict[str, Path] = {}

    def build(kind: str) -> Path:
        from tests.models import tiny_random

        if kind not in made:
            made[kind] = tiny_random.save(kind, tmp_path_factory.mktemp(kind))
        return made[kind]

    return build


@pytest.fixture
def adapter(checkpoint: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """An `hf` adapter of a tiny checkpoint: adapter("llava", batch_size=4, max_length=64)."""

    def build(kind: str, name: str = "hf", batch_size: int | str = 1, seed: int = 0, **args: Any) -> Any:
        from mm_eval.engine.model import MODELS, ModelSettings

        # loading this processor's class needs torchvision, the processor does not
        if kind in OF_PIXTRAL and find_spec("torchvision") is None:
            from tests.models.tiny_more import MORE

            monkeypatch.setattr("mm_eval.models.hf.processor.load_processor", lambda *_: MORE[kind]()[1])
        settings = ModelSettings(batch_size=batch_size, seed=seed, device="cpu")
        return MODELS.get(name)({"pretrained": str(checkpoint(kind)), **args}, settings)

    return build
