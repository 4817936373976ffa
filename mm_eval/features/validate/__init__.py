"""The checks of tasks without a model."""

from collections.abc import Sequence
from typing import Any

VERBS = {
    "validate": ("verb", "check task configs completely; the gold answers must score full marks"),
}
RUN_PARTS = {"first_rows": "first_rows:FirstRows"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    """A new run of shipped tasks on their real data."""
    return request is not None and not request.sample and any(config.is_shipped for config in configs)


NEEDED = {"first_rows": _needed}
