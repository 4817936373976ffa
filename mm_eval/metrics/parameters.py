"""Which arguments a function takes, and which ones an entry of a YAML gives it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from mm_eval.errors import ConfigError, did_you_mean


def filter_kwargs(fn: Callable[..., Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments that a function takes."""
    known = parameters_of(fn)
    return dict(kwargs) if "**" in known else {key: value for key, value in kwargs.items() if key in known}


def parameters_of(fn: Callable[..., Any]) -> frozenset[str]:
    """The names of the arguments that a function takes by keyword; "**" among them if it takes any."""
    try:
        return _cached(fn)
    except TypeError:  # not hashable
        return _cached.__wrapped__(fn)


@cache
def _cached(fn: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return frozenset({"**"})
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return frozenset(names | {"**" for p in parameters if p.kind is p.VAR_KEYWORD})


def arguments_of(entry: Mapping[str, Any], own_keys: Iterable[str]) -> dict[str, Any]:
    """The arguments in an entry of a YAML: its other keys, and those under `kwargs`."""
    return {**{key: value for key, value in entry.items() if key not in own_keys}, **(entry.get("kwargs") or {})}


def check_arguments(what: str, given: Iterable[str], known: frozenset[str], also: frozenset[str]) -> None:
    """Raises ConfigError for the first argument that is not known. also: other keys that the hint may suggest."""
    for key in given:
        if key not in known and "**" not in known:
            raise ConfigError(f"{what} takes no argument {key!r}.", hint=did_you_mean(key, sorted(known | also)))
