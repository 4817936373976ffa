"""Where mm-eval and a peer differ on purpose, each with its reason; anything else that differs is a fault of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

ANSWERS = ("answer", "filtered", "score", "number", "stderr")
"""What follows from another answer."""


@dataclass(frozen=True)
class Difference:
    """A difference that is meant.

    runs, tasks: shell patterns. fields: of `recorded.FIELDS`, the only ones that may differ. metrics: patterns of the numbers
    and standard errors that may differ.
    """

    name: str
    reason: str
    fields: Sequence[str]
    tasks: Sequence[str] = ("*",)
    runs: Sequence[str] = ("*",)
    metrics: Sequence[str] = ("*",)

    def explains(self, run: str, task: str, field: str, of: object) -> bool:
        """Whether this is why a value of a task differs."""
        if field not in self.fields or not _any(self.runs, run) or not _any(self.tasks, task):
            return False
        return field not in ("number", "stderr") or _any(self.metrics, str(of))


def _any(patterns: Sequence[str], name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


DIFFERENCES: list[Difference] = []
