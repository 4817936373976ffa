"""Files of recorded answers: where they come from, where they lie, and how a test replays them."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(os.environ.get("MM_EVAL_RECORDINGS") or Path(__file__).parent / "recordings")


@dataclass(frozen=True)
class Recording:
    """A file or a folder of a public repository. repository: "owner/name" on GitHub. commit: the full hash."""

    repository: str
    commit: str
    path: str

    @property
    def place(self) -> Path:
        """Where the copy lies, whether it is there or not."""
        return FOLDER / self.repository / self.path

    def fetched(self) -> Path:
        """The copy; the test is skipped where it is missing."""
        if not self.place.exists():
            pytest.skip(f"{self.repository}:{self.path} is not here; `python tests/papers/fetch.py` copies it.")
        return self.place

    def text(self) -> str:
        """The text of the file."""
        return self.fetched().read_text(encoding="utf-8-sig")

    def json(self) -> Any:
        """The value of a JSON file."""
        return json.loads(self.text())

    def jsonl(self) -> list[Any]:
        """The rows of a JSON-lines file."""
        return [json.loads(line) for line in self.text().splitlines() if line.strip()]


def write_table(
    root: Path,
    hub_id: str,
    split: str,
    rows: Sequence[Mapping[str, Any]],
    config: str = "default",
    features: Any = None,
) -> None:
    """Writes gold rows as a split of a dataset below a data root (`--data_root`), in the hub's layout.

    features: column -> `datasets` feature, for columns whose type can't be inferred (pictures, nulls).
    """
    from datasets import Dataset, Features

    folder = root / hub_id / config
    folder.mkdir(parents=True, exist_ok=True)
    data = Dataset.from_list([dict(row) for row in rows], features=Features(features) if features else None)
    data.to_parquet(folder / f"{split}-00000-of-00001.parquet")
    configs = sorted(path for path in (root / hub_id).iterdir() if path.is_dir())
    card = "---\nconfigs:\n"
    for each in configs:
        card += f"- config_name: {each.name!r}\n  data_files:\n"
        for path in sorted(each.glob("*.parquet")):
            name = path.name.partition("-")[0]
            card += f"  - split: {name}\n    path: '{each.name}/{name}-*'\n"
    (root / hub_id / "README.md").write_text(card + "---\n", encoding="utf-8")


def tiny_picture() -> dict[str, Any]:
    """A picture of one pixel, as a cell of an Image column: recorded answers need none."""
    import io

    from PIL import Image

    buffer = io.BytesIO()
    Image.new("RGB", (1, 1)).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": None}


def write_answers(path: Path, answers: Mapping[str, Sequence[str | None]]) -> Path:
    """Writes a file for `--model replay`. answers: for each task its answers in the order of the documents."""
    rows = [
        {"task": task, "doc_id": number, "resps": [answer or ""]}
        for task, each in answers.items()
        for number, answer in enumerate(each)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def verdict(results: Mapping[str, Any], task: str) -> str:
    """The verdict on a task of a run under a protocol. results: its results.json."""
    (row,) = [row for row in results["protocol"]["rows"] if row["task"] == task]
    return str(row["verdict"])


def prompts_of(ran: Any, task: str) -> list[str]:
    """The prompts of a task's docs without the system text that stands above each."""
    system = ran.results["run"]["system_instruction"]
    return [row["prompt"].removeprefix(f"{system}\n\n") for row in ran.samples(task)]
