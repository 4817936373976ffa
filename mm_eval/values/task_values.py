"""What functions of tasks get in place of plain values: a doc that loads its pictures when one is looked up, and a list of one
value that is that value too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any


class LazyDoc(dict[str, Any]):
    """The entries of a doc without its pictures, and what loads the whole doc."""

    def __init__(self, entries: Mapping[str, object], load: Callable[[], Mapping[str, object]]) -> None:
        super().__init__(entries)
        self._load = load

    def __missing__(self, key: str) -> object:
        for name, value in self._load().items():
            self.setdefault(name, value)
        if key not in self:
            raise KeyError(key)
        return dict.get(self, key)

    def get(self, key: str, default: object = None) -> Any:
        """As of a mapping with the pictures in it."""
        try:
            return self[key]
        except KeyError:
            return default


class WithoutPictures(LazyDoc):
    """A doc whose columns with pictures are known by name: it has them, and loads them each time that one is looked up.

    Nothing else of the doc is loaded, and no picture is held.
    """

    def __init__(
        self, entries: Mapping[str, object], load: Callable[[], Mapping[str, object]], columns: Collection[str] = ()
    ) -> None:
        super().__init__(entries, load)
        self.columns = tuple(columns)

    def __missing__(self, key: str) -> object:
        if key not in self.columns:
            raise KeyError(key)
        return self._load()[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.columns


class One(list[Any]):
    """A list of one value that can be used as that value too.

    A metric function gets its reference and its answer so, because lm-eval's documents write metrics both ways:
    `predictions[0].strip()` and `predictions.strip()`, `float(references)`.
    """

    def __getattr__(self, name: str) -> object:
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


def value_of(thing: object) -> object:
    """The only value of a One; anything else is itself."""
    return thing[0] if isinstance(thing, One) else thing
