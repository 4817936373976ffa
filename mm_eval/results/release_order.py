"""The models of a release and their order, in a file beside their run folders: every page has them in this order and colours.

write_release_order(Path("runs/release"), {"Tiny-LLaVA": "Tiny-LLaVA"})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mm_eval.values.files import write_atomic

ORDER_FILE = "release.json"
RELEASE_PAGE = "release.html"
"""The page of a release, beside its run folders."""


def write_release_order(folder: Path, models: Mapping[str, str]) -> None:
    """Writes the models of a release in the order of its file. models: {folder name: model name}. Errors: OSError."""
    write_atomic(folder / ORDER_FILE, json.dumps({"models": dict(models)}, indent=2) + "\n", durable=False)


def read_release_order(folder: Path) -> dict[str, str]:
    """{folder name: model name} of the release in a folder; empty where nothing says it."""
    try:
        models = json.loads((folder / ORDER_FILE).read_text(encoding="utf-8"))["models"]
        return {str(name): str(model) for name, model in models.items()}
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return {}
