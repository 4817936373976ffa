"""Shared by the tests of tasks: the shipped task over the bundled sample, with given answers."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def answered(
    cli: Callable[..., Any], folder: Path, task: str, answers: Sequence[str] | Mapping[str, Sequence[str]]
) -> Any:
    """A finished run of a task, or of a group's tasks, on the bundled sample. answers: in the order of the docs."""
    by_task = answers if isinstance(answers, Mapping) else {task: answers}
    path = folder / "answers.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for name, each in by_task.items():
            for number, answer in enumerate(each):
                file.write(json.dumps({"task": name, "doc_id": number, "resps": [answer]}) + "\n")
    out = folder / f"run-{len(list(folder.glob('run-*')))}"
    ran = cli("--tasks", task, "--model", "replay", "--model_args", f"path={path}", "--sample", "--output_path", out)
    assert ran.code == 0, ran.err
    return ran


def prompt(cli: Callable[..., Any], task: str, key: str = "default", doc: int = 0) -> str:
    """The text of a sample document's prompt in a block."""
    ran = cli("show", task, "--sample", "--model", "dummy", "--doc", doc, "--prompt_key", key)
    assert ran.code == 0, ran.err
    start, end = "- prompt\n", "\n---------------------------------------- end of prompt"
    return str(ran.out.partition(start)[2].partition(end)[0])
