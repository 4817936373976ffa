"""A judged task with its docs and the model's answers, and what runs it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.judge.server import Server, serving

TASK = """task: graded
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
generation_kwargs: {max_new_tokens: 16}
"""
JUDGE = """judge:
  prompt: !function utils.judge_prompt
  verdict: !function utils.verdict
  verdict_examples: [["GRADE: C", 1], ["GRADE: I", 0], ["well, 1 of 10", null]]
  official: gpt-4o-2024-05-13
"""
UTILS = """
import re


def judge_prompt(doc, answer):
    return f"{doc['q']}\\nReference: {doc['a']}\\nAnswer: {answer}"


def verdict(reply):
    found = {grade for grade in re.findall(r"(?m)^\\s*GRADE:\\s*([CI])\\s*\\.?\\s*$", reply)}
    return {"C": 1.0, "I": 0.0}[found.pop()] if len(found) == 1 else None
"""
NO_WAIT = "max_retries=0,max_outage=0.5"


@dataclass
class Judged:
    """A folder with a judged task. run: the command on it."""

    folder: Path
    command: Callable[..., Any]

    def write(
        self, rows: list[dict[str, Any]], answers: list[str | None], task: str = TASK + JUDGE, utils: str = UTILS
    ) -> None:
        """rows: docs with q and a. answers: the model's; None for a doc that it fails on."""
        (self.folder / "graded.yaml").write_text(task)
        (self.folder / "utils.py").write_text(utils)
        (self.folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = [{"task": "graded", "doc_id": n, "resps": [text]} for n, text in enumerate(answers) if text is not None]
        (self.folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))

    @property
    def words(self) -> list[str]:
        path = self.folder / "answers.jsonl"
        return [
            "--tasks",
            "graded",
            "--include_path",
            str(self.folder),
            "--model",
            "replay",
            "--model_args",
            f"path={path}",
        ]

    def run(self, *more: object) -> Any:
        """Without a page, which takes a fifth of the time."""
        return self.command(*self.words, "--no_report", *more)

    def with_server(
        self, server: Server, *more: object, model: str = "judge-1", args: str = NO_WAIT, preflight: bool = False
    ) -> Any:
        """Runs it with a scripted judge. preflight: the judge is tried first, which takes calls of its own."""
        words = () if preflight else ("--judge_preflight", "false")
        asked = f"base_url={server.url},model={model},{args}"
        return self.run("--judge", "openai", "--judge_args", asked, *words, *more)


@pytest.fixture
def judged(tmp_path: Path, cli: Callable[..., Any]) -> Judged:
    folder = tmp_path / "task"
    folder.mkdir()
    made = Judged(folder, cli)
    rows = [{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(6)]
    made.write(rows, ["1", "2", "3", "no", "no", "6"])
    return made


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found
