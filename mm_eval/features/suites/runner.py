"""What the rest of mm-eval sees of task code in a process of its own. Nothing else of it is loaded until a task needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mm_eval.config.runner import Stream
from mm_eval.features.suites.reading import needs_process


class TaskRunner:
    """Runs the functions of task files that must not run in this process. The methods are those of `config.runner.Runner`."""

    def takes(self, files: Sequence[Path]) -> bool:
        return needs_process(files)

    def function(self, file: Path, name: str) -> tuple[Any, Sequence[str]]:
        from mm_eval.features.suites.remote import function

        return function(file, name)

    def load_offline(self, path: str, name: str | None, options: Mapping[str, Any]) -> Any:
        from mm_eval.features.suites.remote import load_offline

        return load_offline(path, name, options)

    def stream(self, files: Sequence[Path]) -> Stream:
        from mm_eval.features.suites.remote import RemoteStream

        return RemoteStream(files)


RUNNER = TaskRunner()
