"""Runs a shipped task with given answers on the bundled sample, or on one of its documents several times."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.conftest import ROOT, Ran
from tests.papers.recordings import write_answers

DATA = ROOT / "assets" / "data"


def replay(cli: Callable[..., Ran], folder: Path, task: str, answers: Sequence[str], *more: object) -> Ran:
    """A run of a task with these answers in the order of the docs; on the bundled sample unless `more` names a data root."""
    path = write_answers(folder / "answers.jsonl", {task: answers})
    data = () if "--data_root" in more else ("--sample",)
    return cli("--tasks", task, "--model", "replay", "--model_args", f"path={path}", *data, *more)


def read_one_doc(cli: Callable[..., Ran], folder: Path, task: str, file: str, row: int, answers: Sequence[str]) -> Ran:
    """A run in which every answer is given to the same doc. file: the sample's parquet file below assets/data."""
    hub_id = Path(*Path(file).parts[:2])
    root = folder / "root"
    shutil.copytree(DATA / hub_id, root / hub_id)
    pq.write_table(pq.read_table(DATA / file).take([row] * len(answers)), root / file)
    return replay(cli, folder, task, answers, "--data_root", root, "--output_path", folder / "one_doc")


def text_of(prompt: Any) -> str:
    """The text of a prompt, which may be chat messages."""
    if isinstance(prompt, str):
        return prompt
    return "".join(part.get("text", "") for message in prompt for part in message["content"])
