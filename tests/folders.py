"""What tests read and change in run folders."""

import json
from collections.abc import Iterable, Iterator, Mapping
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


def write_task(folder: Path, name: str, task: str, utils: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """A folder with a task of one's own: NAME.yaml, utils.py, and its docs as rows.jsonl. Returns the path of the YAML."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.yaml").write_text(task)
    (folder / "utils.py").write_text(utils)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / f"{name}.yaml")
