"""What the tests of the mathematical benchmarks share: a prompt of a bundled sample, and answers replayed on its docs."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import Ran
from tests.papers.recordings import write_answers


def prompt_of(cli: Callable[..., Ran], task: str, doc: int, key: str | None = None) -> str:
    """The text that a model with this prompt key gets for a doc of the bundled sample."""
    ran = cli("show", task, "--sample", "--model", "dummy", "--doc", doc, *(["--prompt_key", key] if key else []))
    assert ran.code == 0, ran.err
    found = re.search(r"-{5,} prompt\n(.*?)\n-{5,} end of prompt", ran.out, re.DOTALL)
    assert found, ran.out
    return found[1]


def replay(cli: Callable[..., Ran], folder: Path, task: str, answers: Sequence[str], *options: Any) -> Ran:
    """The run in which the docs of the bundled sample get these answers, in their order."""
    path = write_answers(folder / "answers.jsonl", {task: answers})
    ran = cli("--tasks", task, "--model", "replay", "--model_args", f"path={path}", "--sample", *options)
    assert ran.code == 0, ran.err
    return ran
