"""What the features bring, found by name: nobody imports a feature. `mm_eval/features/__init__.py` lists the kinds."""

import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from mm_eval.values.errors import ConfigError


class Option(NamedTuple):
    """An option of verbs: `--NAME`, for the field of a request with this name, whose default it has unless `more` states one.

    metavar: of its value; "" for an option without one. several: the help where it may be given several times, to be compared.
    pairs: its value is K=V,... or JSON; "typed" reads the values as JSON. more: further arguments of `add_argument`.
    is_field: False for an option that is not a field of a request, and has no rule.
    rule: what its value may be: a `Rule` of config/arguments.py, or its name there, or "file:NAME" of the feature. None for what
        no user states.
    elsewhere: the field's value where a model is run by a verb that lacks the option; None for the field's default.

    Of a feature's option, whose field `RunRequest` gets from here:
    default: of the field. beside: the option without which it means nothing.
    of_launch: a recorded run that is scored or repeated has the default. secret: run.json does not have it.
    """

    name: str
    metavar: str
    help: str
    several: str = ""
    pairs: str = ""
    more: Mapping[str, Any] = {}
    is_field: bool = True
    elsewhere: Any = None
    rule: Any = "TEXT"
    default: Any = None
    beside: str = ""
    of_launch: bool = False
    secret: bool = False


@cache
def features() -> tuple[ModuleType, ...]:
    """The features that are installed, by name: the packages in mm_eval/features."""
    folder = Path(__file__).parent.parent / "features"
    names = sorted(found.name for found in os.scandir(folder) if found.is_dir() and found.name[0] != "_")
    return tuple(importlib.import_module(f"mm_eval.features.{name}") for name in names)


def by_feature(kind: str, core: Iterable[str] = ()) -> dict[str, tuple[str, Any]]:
    """{name: (the feature's module, what it states)} of one kind. core: the names that the core has itself.

    Errors: ConfigError where two of them bring the same name.
    """
    found: dict[str, tuple[str, Any]] = {}
    owners = dict.fromkeys(core, "the core")
    for feature in features():
        for name, value in getattr(feature, kind, {}).items():
            if name in owners:
                what = f"two parts bring the same name {name!r} of {kind}: {owners[name]} and {feature.__name__}."
                raise ConfigError(what, hint="Rename it in one of them, or remove that feature's folder.")
            owners[name] = feature.__name__
            found[name] = feature.__name__, value
    return found


def statements(kind: str, core: Iterable[str] = ()) -> dict[str, Any]:
    """{name: what a feature states} of one kind. core, errors: as of `by_feature`."""
    return {name: value for name, (_, value) in by_feature(kind, core).items()}


@cache
def options_of_features() -> tuple[Option, ...]:
    """The options that features bring, of all sets."""
    return tuple(option for _, *options in statements("OPTIONS").values() for option in options)


def of_verbs_without() -> dict[str, Any]:
    """The features' fields of a request where a verb that lacks their options runs a model."""
    return {each.name: each.elsewhere for each in options_of_features() if each.elsewhere is not None}


def import_place(place: str) -> Any:
    """What "package.module:attribute" names; without an attribute the module."""
    module, _, attribute = place.partition(":")
    found: Any = importlib.import_module(module)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found


class LazyMapping(Mapping[str, Any]):
    """Things by name, each imported when it is looked up. places: where each stands as a text, or the thing itself."""

    def __init__(self, places: Mapping[str, Any]) -> None:
        self._places = places
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            place = self._places[name]
            self._found[name] = import_place(place) if isinstance(place, str) else place
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Brought(LazyMapping):
    """What the features bring of one kind, by name."""

    def __init__(self, kind: str) -> None:
        super().__init__({name: f"{module}.{value}" for name, (module, value) in by_feature(kind).items()})


@cache
def brought(kind: str) -> Brought:
    """What the features bring of one kind, such as "EXPORTS"."""
    return Brought(kind)
