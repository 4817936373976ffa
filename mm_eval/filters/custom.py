"""A filter from any function of the YAML's utils.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mm_eval.errors import ConfigError
from mm_eval.filters.base import Filter, register_filter
from mm_eval.types import Doc


@register_filter("custom")
class CustomFilter(Filter):
    """Applies a function `filter_fn(resps, docs)` to the answers of all docs."""

    def __init__(self, filter_fn: Callable[..., Iterable[Sequence[Any]]], **kwargs: Any) -> None:
        if not callable(filter_fn):
            raise ConfigError(
                f"custom needs a function as filter_fn, not {filter_fn!r}.", hint="Write !function utils.f."
            )
        self.filter_fn, self.kwargs = filter_fn, kwargs

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return self.filter_fn(resps, docs, **self.kwargs)
