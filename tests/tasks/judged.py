"""Shared by the tests of judged tasks: a run with given answers, judged by a file of replies."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.judge.server import Server
from tests.papers.recordings import write_answers

JUDGE = "J"


def write_replies(path: Path, task: str, *steps: Sequence[str | None]) -> Path:
    """A file for `--judge replay`. steps: for each step the replies in the order of the docs; None where none is asked."""
    rows = [
        {"task": f"{task}#judge{number if number > 1 else ''}@{JUDGE}", "doc_id": doc_id, "resps": [reply]}
        for number, replies in enumerate(steps, 1)
        for doc_id, reply in enumerate(replies)
        if reply is not None
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def judged(
    cli: Callable[..., Any],
    folder: Path,
    task: str,
    answers: Sequence[str | None],
    *steps: Sequence[str | None],
    data: Sequence[object] = ("--sample",),
    code: int = 0,
) -> Any:
    """The finished run. answers and replies: in the order of the docs."""
    number = len(list(folder.glob("run-*")))
    path = write_answers(folder / f"answers-{number}.jsonl", {task: answers})
    replies = write_replies(folder / f"replies-{number}.jsonl", task, *steps)
    ran = cli(
        *("--tasks", task, "--model", "replay", "--model_args", f"path={path}"),
        *("--judge", "replay", "--judge_args", f"path={replies},name={JUDGE}", "--judge_retries", 0),
        *data,
        *("--output_path", folder / f"run-{number}"),
    )
    assert ran.code == code, ran.err
    return ran


def served_judge(server: Server, model: str, answers: Path) -> list[str]:
    """The options of a run without a report that replays answers and asks this server's judge."""
    judge = ["--judge", "openai", "--judge_args", f"base_url={server.url},model={model},max_retries=0"]
    return [*judge, "--model", "replay", "--model_args", f"path={answers}", "--no_report"]
