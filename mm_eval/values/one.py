"""A value in a list of its own, which metrics of other suites take either way."""

from __future__ import annotations

from typing import Any


class One(list[Any]):
    """A list of one value that can be used as that value too.

    A metric function gets its reference and its answer so, because lm-eval's documents write metrics both ways:
    `predictions[0].strip()` and `predictions.strip()`, `float(references)`.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self[0], name)
        return (lambda *args, **kwargs: found(*map(value_of, args), **kwargs)) if callable(found) else found

    def __eq__(self, other: object) -> bool:
        return bool(self[0] == value_of(other)) or list.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(self[0])

    def __contains__(self, item: object) -> bool:
        item, own = value_of(item), self[0]
        if isinstance(own, str):
            return isinstance(item, str) and item in own
        return item == own or (isinstance(own, (list, tuple, set, dict)) and item in own)

    def __int__(self) -> int:
        return int(self[0])

    def __float__(self) -> float:
        return float(self[0])

    def __str__(self) -> str:
        return str(self[0])


def value_of(thing: Any) -> Any:
    """The only value of a One; anything else is itself."""
    return thing[0] if isinstance(thing, One) else thing
