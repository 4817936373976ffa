"""From names to checked configs: YAML files, groups, tags and formats. Nothing is imported to list or load them.

from mm_eval.config import TaskManager
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Imports TaskManager on first use, so that importing one module of this package stays cheap."""
    if name == "TaskManager":
        from mm_eval.config.manager import TaskManager

        return TaskManager
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
