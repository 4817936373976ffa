"""The checks of tasks without a model."""

from collections.abc import Sequence
from typing import Any

VERBS = {
    "validate": ("verb", "check task configs completely; the gold answers must score full marks"),
}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    """A new run on real data of shipped tasks, or of one's own whose answers are generated."""
    if request is None or request.sample:
        return False
    return any(config.is_shipped or config.output_type == "generate_until" for config in configs)


NEEDED = {"first_rows": _needed}
