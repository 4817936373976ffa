"""Benchmarks: one folder each, YAML and perhaps a utils.py. Found by the catalog, imported only when run."""

from typing import Any


def __getattr__(name: str) -> Any:
    """`from mm_eval.tasks import TaskManager`, as lm-eval's guide has it; imported when it is used."""
    if name == "TaskManager":
        from mm_eval import TaskManager

        return TaskManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
