"""The folders of `models/`: who may import whom among them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

MODELS = Path(__file__).parents[2] / "models"
NOT_IMPORTED = {
    "hf/prompts": ("hf.inference", "hf.adapter", "hf.asking", "hf.self_check", "hf.weights", "openai", "vllm"),
    "hf/inference": ("hf.adapter", "hf.asking", "hf.self_check", "openai", "vllm"),
    "vllm": (
        "hf.inference",
        "hf.asking",
        "hf.self_check",
        "openai",
    ),  # it writes prompts as `hf` does, and runs none of them
    "openai/client": ("hf", "vllm", "openai.adapter", "openai.arguments", "openai.messages"),
    "openai": ("hf.inference", "hf.adapter", "hf.asking", "hf.processor", "vllm"),
}


def imported(path: Path) -> Iterator[str]:
    """The modules of `models` that a file imports, anywhere in it: "hf.prompts.prompt"."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.relative_to(MODELS).parts[: -node.level]
            base = ".".join([*folder, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("folder", NOT_IMPORTED)
def test_arrows_between_folders(folder: str) -> None:
    files = sorted((MODELS / folder).rglob("*.py"))
    assert len(files) > 3
    for path in files:
        for name in imported(path):
            for other in NOT_IMPORTED[folder]:
                assert name != other and not name.startswith(f"{other}."), f"{path.relative_to(MODELS)} imports {name}"
