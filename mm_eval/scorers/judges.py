"""A task's own scoring that asks a server for verdicts, as HallusionBench's and MMBench's do, does not fail in silence.

Such functions take every failure for a verdict ("unclear", a random option): without a key the number is of the failures.
"""

from __future__ import annotations

import inspect
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mm_eval.catalog.functions import texts_in
from mm_eval.errors import ScoringError

DATA_HOSTS = ("huggingface.co", "hf.co", "github.com", "githubusercontent.com")
"""Where a metric's script or word list may come from."""


JUDGE_KEYS = frozenset({"OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY"})
"""What lmms-eval's own judges read, whatever the task's file says."""

_KEY = re.compile(r"[A-Z][A-Z0-9_]*_KEY\Z")
_NOT_OF_A_JUDGE = frozenset({"WANDB_API_KEY", "COMET_API_KEY", "AWS_SECRET_ACCESS_KEY"})

NO_KEY = "a judge, for which no key is set (OPENAI_API_KEY or the one that the task's file names)"
"""Why a judge is not asked where the environment has no key."""


class JudgeAsked(BaseException):
    """A judge is asked that may not be. No Exception, since a task's code takes each of those for a verdict."""


def has_judge_key(function: Callable[..., Any]) -> bool:
    """Whether the environment has a key that a task's function could use: one that its file names, or one of JUDGE_KEYS."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    named = {text for text in texts_in(Path(code.co_filename)) if _KEY.match(text)} if code else set()
    return any(os.environ.get(name) for name in JUDGE_KEYS | named - _NOT_OF_A_JUDGE)


@contextmanager
def no_judge(why: str) -> Iterator[None]:
    """Inside, a connection to anywhere but the hosts of data is a ScoringError that says why."""
    resolve, asked = socket.getaddrinfo, list[str]()

    def refuse(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if any(name == known or name.endswith(f".{known}") for known in DATA_HOSTS):
            return resolve(host, *args, **kwargs)
        asked.append(name)
        raise JudgeAsked(name)

    socket.getaddrinfo = refuse
    try:
        yield
    except JudgeAsked:
        pass
    finally:
        socket.getaddrinfo = resolve
    if asked:
        raise ScoringError(f"it asks {asked[0]}, {why}")
