"""Shared by the tests of judged conversations: a run with given turns, judged by a file of replies."""

import json
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.conftest import ROOT
from tests.tasks.judged import JUDGE, write_replies


def rows_of(hub_id: str) -> list[dict[str, Any]]:
    """The rows of a bundled sample."""
    return pq.read_table(ROOT / "assets" / "data" / hub_id / "default" / "test-00000-of-00001.parquet").to_pylist()  # type: ignore[no-any-return]


def judged_talks(
    cli: Callable[..., Any],
    folder: Path,
    task: str,
    talks: Sequence[Sequence[str]],
    replies: Sequence[Sequence[str]],
    *data: object,
    code: int = 0,
) -> Any:
    """The finished run. talks: of each doc the answers of its turns. replies: the judge's to each of its questions."""
    path = folder / "talks.jsonl"
    rows = [
        {"task": task, "doc_id": doc_id, "resps": [json.dumps(talk)], "turns": [[{"answer": said} for said in talk]]}
        for doc_id, talk in enumerate(talks)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    judge = write_replies(folder / "replies.jsonl", task, *zip_longest(*replies))
    ran = cli(
        *("--tasks", task, "--model", "replay", "--model_args", f"path={path}"),
        *("--judge", "replay", "--judge_args", f"path={judge},name={JUDGE}", "--judge_retries", 0),
        *(data or ("--sample",)),
        *("--output_path", folder / "run"),
    )
    assert ran.code == code, ran.out + ran.err
    return ran
