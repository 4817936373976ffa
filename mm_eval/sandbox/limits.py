"""What code in the sandbox may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from mm_eval.values.errors import ConfigError, did_you_mean

MB = 1 << 20
WHERE = "--sandbox_args"


@dataclass(frozen=True)
class Limits:
    """Limits of one document's interpreter.

    memory: MiB. processes: at a time, threads among them. files: MiB of its working folder. seconds: of CPU, and of wall time,
    that a call may take. doc_seconds: the same of all calls of a document.
    """

    memory: int = 2048
    processes: int = 64
    files: int = 512
    seconds: float = 60
    doc_seconds: float = 300

    @classmethod
    def of_options(cls, stated: Mapping[str, Any]) -> Limits:
        """The limits that `--sandbox_args` states. ConfigError for an unknown one or a value that is none."""
        known = {each.name for each in fields(cls)}
        for name, value in stated.items():
            if name not in known:
                raise ConfigError(f"unknown limit {name!r}.", where=WHERE, hint=did_you_mean(name, known))
            least = LEAST[name]
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < 1e9:
                raise ConfigError(f"{name} must be a number from {least:g} (got {value!r:.40}).", where=WHERE)
            if name in WHOLE and value != int(value):
                raise ConfigError(f"{name} must be a whole number (got {value!r:.40}).", where=WHERE)
        values: dict[str, Any] = {name: int(v) if name in WHOLE else float(v) for name, v in stated.items()}
        return cls(**values)

    def to_json(self) -> dict[str, float]:
        stated: dict[str, float] = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: int(value) if value == int(value) else value for name, value in stated.items()}


WHOLE = ("memory", "processes", "files")
LEAST = {"memory": 512, "processes": 32, "files": 16, "seconds": 1, "doc_seconds": 1}
"""Below these the interpreter itself does not start."""
