"""A doc whose pictures are loaded when one is looked up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any


class LazyDoc(dict[str, Any]):
    """The entries of a doc without its pictures, and what loads the whole doc."""

    def __init__(self, entries: Mapping[str, Any], load: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__(entries)
        self._load = load

    def __missing__(self, key: str) -> Any:
        for name, value in self._load().items():
            self.setdefault(name, value)
        if key not in self:
            raise KeyError(key)
        return dict.get(self, key)

    def get(self, key: str, default: Any = None) -> Any:
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
        self, entries: Mapping[str, Any], load: Callable[[], Mapping[str, Any]], columns: Collection[str] = ()
    ) -> None:
        super().__init__(entries, load)
        self.columns = tuple(columns)

    def __missing__(self, key: str) -> Any:
        if key not in self.columns:
            raise KeyError(key)
        return self._load()[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.columns
