"""What tests read and change in run folders."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def results_of(folder: Path) -> str:
    """results.json without what comes from a clock: of equal runs the same text."""
    content = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert content.pop("run")
    return json.dumps(content)


@contextmanager
def edited(path: Path) -> Iterator[dict[str, Any]]:
    """A JSON file's content, which is written back with what the block has changed."""
    content = json.loads(path.read_text(encoding="utf-8"))
    yield content
    path.write_text(json.dumps(content), encoding="utf-8")
