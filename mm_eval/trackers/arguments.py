"""Checks of a tracker's arguments against the function that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping

from mm_eval.values.errors import ConfigError, did_you_mean


def check_names(
    args: Mapping[str, object], function: Callable[..., object] | Iterable[str], ours: Iterable[str] = ()
) -> None:
    """ConfigError for an argument that the function does not take, or that is stated here. function: or the known names."""
    known = set(inspect.signature(function).parameters) if callable(function) else set(function)
    known -= set(ours)
    for name in args:
        if name not in known:
            raise ConfigError(f"there is no argument {name!r}.", hint=did_you_mean(name, sorted(known)))
