"""Replays recorded answers and a judge's recorded replies to them through a task that ships."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.conftest import Ran
from tests.papers.recordings import write_answers


def replay_judged(
    cli: Callable[..., Ran],
    root: Path | None,
    folder: Path,
    task: str,
    answers: Sequence[str],
    replies: Sequence[str | Sequence[str]],
    *more: object,
    judge_name: str = "",
) -> Ran:
    """The run of a task on a data root, or on its bundled sample. answers, replies: the model's and the judge's, a doc each.

    A doc may have several replies, for a task that asks for several verdicts. judge_name: the model that gave them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    own = write_answers(folder / "answers.jsonl", {task: answers})
    judge, name = folder / "replies.jsonl", f"{task}#judge"
    rows = [
        {"task": name, "doc_id": number, "resps": [each] if isinstance(each, str) else list(each)}
        for number, each in enumerate(replies)
    ]
    judge.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    named = f"path={judge}{f',name={judge_name}' if judge_name else ''}"
    return cli(
        *("--tasks", task, "--output_path", folder / "run", *(("--data_root", root) if root else ("--sample",))),
        *(
            "--model",
            "replay",
            "--model_args",
            f"path={own}",
            "--judge",
            "replay",
            "--judge_args",
            named,
        ),
        *more,
    )
