"""Each family's own rule of frames is that of its code, on 5,000 videos of different lengths and rates."""

import ast
import importlib.util
import math
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from mm_eval.models.hf.families import FAMILIES

from mm_eval.data.video.rule import read_rule
from tests.sets import few

torch = pytest.importorskip("torch")


def videos(number: int) -> list[tuple[int, float]]:
    """(frames, frames a second), a third of them short."""
    draw, found = random.Random(6), []
    for place in range(number):
        rate = draw.choice(
            [24000 / 1001, 30000 / 1001, 24.0, 25.0, 30.0, 50.0, 60.0, 10.0, 12.5, round(draw.uniform(5, 60), 2)]
        )
        found.append((draw.randrange(32, int(rate * (40 if place % 3 == 0 else 3600))), rate))
    return found


def processor(model_type: str) -> tuple[dict[str, Any], Any]:
    """(the constants of a video processor, its `sample_frames`), from transformers' file: an import needs torchvision."""
    package = importlib.util.find_spec("transformers")
    assert package is not None and package.origin is not None
    path = Path(package.origin).parent / "models" / model_type / f"video_processing_{model_type}.py"
    tree = ast.parse(path.read_text())
    (own,) = (
        node
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(getattr(part, "name", "") == "sample_frames" for part in node.body)
    )
    (function,) = (part for part in own.body if getattr(part, "name", "") == "sample_frames")
    constants = {
        part.targets[0].id: ast.literal_eval(part.value)
        for part in own.body
        if isinstance(part, ast.Assign)
        and isinstance(part.targets[0], ast.Name)
        and isinstance(part.value, ast.Constant)
    }
    future = ast.parse("from __future__ import annotations").body
    names: dict[str, Any] = {"np": numpy, "torch": torch, "math": math, "logger": None}
    exec(compile(ast.Module([*future, function], []), str(path), "exec"), names)
    return constants, names["sample_frames"]


def sampled(code: tuple[dict[str, Any], Any], total: int, rate: float, settings: dict[str, Any]) -> list[int]:
    """What the family's `sample_frames` chooses."""
    constants, sample_frames = code
    nothing = dict.fromkeys(("fps", "num_frames", "min_frames", "max_frames", "temporal_patch_size"))
    own = SimpleNamespace(**{**nothing, **constants, **settings})
    return [
        int(place) for place in sample_frames(own, Metadata(total_num_frames=total, fps=rate, duration=total / rate))
    ]


class Metadata(SimpleNamespace):
    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)


@pytest.mark.parametrize(
    ("model_type", "settings"),
    few(
        [
            ("qwen3_vl", {}),
            ("qwen2_vl", {"num_frames": 32}),
            ("smolvlm", {"num_frames": 64, "fps": 1}),
            ("video_llama_3", {"fps": 1, "temporal_patch_size": 1}),
        ],
        at=[1, 2],
    ),
)
def test_a_familys_rule_is_its_processors(model_type: str, settings: dict[str, Any]) -> None:
    code = processor(model_type)
    video = FAMILIES[model_type].video
    assert video is not None
    rule = read_rule(video.rule)
    for total, rate in videos(1000):
        theirs = [
            place for place in sampled(code, total, rate, settings) if place < total
        ]  # torch's arange may pass the end
        assert rule.places(total, total / rate, rate) == theirs, (total, rate)


@pytest.mark.full
def test_qwen_vl_utils_is_the_formula_of_that_package() -> None:
    """`smart_nframes` and the linspace of its readers, written down from its source (0.0.14)."""
    rule = read_rule("qwen_vl_utils")
    for total, rate in videos(1000):
        most = math.floor(min(768, total) / 2) * 2
        wanted = min(min(max(total / rate * 2.0, 4), most), total)
        shown = math.floor(wanted / 2) * 2
        theirs = torch.linspace(0, total - 1, shown).round().long().tolist()
        assert rule.places(total, total / rate, rate) == theirs, (total, rate)
