"""One registry for models, metrics, aggregations, filters, scorers and formats.

A name comes from one of three places: a decorator that has run; a decorator found by *reading* the files of a package and of
its subfolders (so that listing the models does not import torch); a Python entry point of an installed package.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mm_eval.values.errors import InvalidValue, did_you_mean
from mm_eval.values.files import parse_python

if TYPE_CHECKING:
    import ast
    from importlib.metadata import EntryPoint

T = TypeVar("T")

OURS = "mm_eval."
"""What the name of each of our groups of entry points begins with."""


def import_place(place: str) -> Any:
    """What "package.module:attribute" names; without an attribute the module."""
    module, _, attribute = place.partition(":")
    found: object = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found


@dataclass(frozen=True)
class _Lazy:
    """An object that is not imported yet: "package.module:attribute", and the first line of its docstring."""

    target: str
    summary: str = ""


class Registry(Generic[T]):
    """Names to objects of one kind.

    kind: the word used in error messages ("metric").
    package: packages whose files are read, not imported, for `@decorator("name", ...)` on functions and classes.
    decorator: the name of that decorator ("register_model").
    entry_points: the entry point group of other packages ("mm_eval.models").
    """

    def __init__(
        self, kind: str, *, package: str | tuple[str, ...] = (), decorator: str = "", entry_points: str = ""
    ) -> None:
        self.kind, self.decorator, self.entry_points = kind, decorator, entry_points
        self.packages = (package,) if isinstance(package, str) else package
        self._objects: dict[str, T | _Lazy] = {}
        self._looked_for: set[str] = set()
        self._lock = RLock()

    def register(self, *names: str) -> Callable[[T], T]:
        """A decorator that puts an object under one or more names; a name taken by another object is an error."""

        def put(thing: T) -> T:
            for name in names:
                known = self._objects.get(name)
                if known is not None and not isinstance(known, _Lazy) and not _same_definition(known, thing):
                    raise InvalidValue(f"{self.kind} {name!r} is registered twice: {known!r} and {thing!r}.")
                self._objects[name] = thing
            return thing

        return put

    def get(self, name: str, *, where: str = "") -> T:
        """The object of that name; ConfigError with the closest names when there is none."""
        self._look_for(name)
        found = self._objects.get(name)
        if found is None:
            raise InvalidValue(f"Unknown {self.kind} {name!r}.", where=where, hint=did_you_mean(name, self.names()))
        if isinstance(found, _Lazy):
            try:
                loaded: T = import_place(found.target)
            except ImportError as error:
                raise InvalidValue(f"{self.kind} {name!r} can't be imported: {error}.", where=where) from error
            # A decorator that ran during the import may have registered something richer than the attribute (a Metric).
            with self._lock:
                registered = self._objects[name]
                self._objects[name] = found = loaded if isinstance(registered, _Lazy) else registered
        return found

    def __contains__(self, name: object) -> bool:
        self._look_for(str(name))
        return name in self._objects

    def names(self) -> list[str]:
        """All names, sorted. Imports nothing that is not imported yet."""
        self._look_for()
        return sorted(self._objects.copy())  # another thread may register meanwhile

    def summary(self, name: str) -> str:
        """One line of meaning: the first line of the docstring. Imports nothing."""
        self._look_for()
        found = self._objects[name]
        text = found.summary if isinstance(found, _Lazy) else describe(found)
        return text.strip().split("\n")[0]

    def of_others(self) -> bool:
        """Whether something is registered that is not mm-eval's own, by a plugin or by code that ran in this process."""
        if self.entry_points and any(entry_points(self.entry_points)):
            return True
        with self._lock:
            return any(_module_of(thing).partition(".")[0] != "mm_eval" for thing in self._objects.values())

    def _look_for(self, name: str = "") -> None:
        """Finds the declared names, or one of them: then only files with it in quotes are parsed, since parsing all is slow.

        The sources are read once. A thread that comes meanwhile waits: it would find less than there is.
        """
        if name in self._objects or self._looked_for & {name, ""}:
            return
        with self._lock:
            if self._looked_for & {name, ""}:
                return
            for package in self.packages:
                for found, lazy in _declared(package, self.decorator, f'"{name}"' if name else ""):
                    self._objects.setdefault(found, lazy)
            for point in entry_points(self.entry_points) if self.entry_points else ():
                if name in ("", point.name):
                    self._objects.setdefault(point.name, _Lazy(point.value))
            self._looked_for.add(name)


def entry_points(group: str) -> Iterable[EntryPoint]:
    """The entry points of a group that installed distributions declare."""
    if group.startswith(OURS) and not _may_have_plugins():
        return ()
    found: Iterable[EntryPoint] = _entry_points().select(group=group)
    return found


@cache
def _entry_points() -> Any:  # its type differs between versions of Python
    """Those of all groups: one reading of every distribution's files serves all registries."""
    import importlib.metadata

    return importlib.metadata.entry_points()


def _may_have_plugins() -> bool:
    """Whether an installed distribution may declare entry points of ours: a file of them names one, or not all can be seen.

    `importlib.metadata` imports the parser of e-mails and reads every distribution: a third of the time of `mm-eval ls`.
    """
    finders = (each for each in sys.meta_path if hasattr(each, "find_distributions"))
    return any(each is not PathFinder for each in finders) or _declares_ours(tuple(sys.path))


@cache
def _declares_ours(path: tuple[str, ...]) -> bool:
    """Whether a distribution in one of these folders has entry points of ours; True for an archive, which is not opened."""
    for folder in path:
        if os.path.isfile(folder):
            return True
        with suppress(OSError):
            for name in os.listdir(folder or "."):
                if name.lower().endswith((".dist-info", "egg-info")):
                    with suppress(OSError), open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                        if f"[{OURS}".encode() in file.read():
                            return True
    return False


def _module_of(thing: object) -> str:
    """The module of what is registered, or of the function it wraps; "" if that is not known."""
    if isinstance(thing, _Lazy):
        return thing.target.partition(":")[0]
    return str(getattr(_inside(thing) or thing, "__module__", None) or "")


def _inside(thing: object) -> object:
    """The function that an object wraps (a Metric, a partial); None if it wraps none."""
    return getattr(thing, "fn", None) or getattr(thing, "func", None)


def describe(thing: object) -> str:
    """The docstring of an object, or of the function it wraps."""
    own = thing if isinstance(thing, type) or callable(thing) and hasattr(thing, "__name__") else None
    return (getattr(own, "__doc__", None) or getattr(_inside(thing), "__doc__", None) or "").strip()


def _same_definition(one: object, other: object) -> bool:
    """Whether two objects are the same source read twice (a module imported again under another name)."""
    keys = ("__module__", "__qualname__")
    return one is other or all(getattr(one, key, one) == getattr(other, key, other) for key in keys)


@cache
def _sources(package: str) -> list[tuple[str, str]]:
    """(module, its source) of a package's files, and of those one folder down."""
    spec = importlib.util.find_spec(package) if package else None
    found = []
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted([*Path(folder).glob("*.py"), *Path(folder).glob("*/*.py")]):
            module = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
            found.append((module, path.read_text(encoding="utf-8")))
    return found


def _declared(package: str, decorator: str, text: str) -> list[tuple[str, _Lazy]]:
    """The names declared with `@decorator("name", ...)` in a package's files that have this text; imports nothing."""
    import ast

    found = []
    for module, source in _sources(package) if decorator else ():
        if decorator not in source or text not in source:
            continue
        for node in parse_python(source).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                lazy = _Lazy(f"{module}:{node.name}", (ast.get_docstring(node) or "").split("\n")[0])
                found += [(name, lazy) for name in _names_in(node, decorator)]
    return found


def _names_in(node: ast.FunctionDef | ast.ClassDef, decorator: str) -> list[str]:
    import ast

    calls = [call for call in node.decorator_list if isinstance(call, ast.Call)]
    return [
        argument.value
        for call in calls
        if getattr(call.func, "id", getattr(call.func, "attr", "")) == decorator
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
