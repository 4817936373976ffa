"""A strict reader of YAML files: plain data and `!function`, each value with its line.

It rejects what PyYAML's safe loader accepts (duplicate keys, alias bombs, depth that overflows the C stack) and every
tag but `!function`, which it does not import. Values are built from libyaml's events, since its composer recurses in C
without a limit (measured: 100,000 nested lists end the process). Only this module imports the YAML library; others
import it inside functions, so that listing tasks from the cache stays fast.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import LocatedDict, LocatedList, Place, located, merge, without
from mm_eval.config.schema import canonical_keys, is_group
from mm_eval.values.errors import ConfigError, Unbounded, did_you_mean, first_line, raise_all

log = logging.getLogger(__name__)

MAX_BYTES = 4_000_000
MAX_DEPTH = 40
MAX_ALIASED = 10_000
"""How many values a file may gain by its aliases."""

MAX_INCLUDES = 50
"""How many files may include each other in a row."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"
_NULLS, _MERGE = _STANDARD + "null", _STANDARD + "merge"
_KEPT_AS_TEXT = {_STANDARD + "str", _STANDARD + "timestamp", _STANDARD + "value"}


def load_config(path: Path) -> tuple[LocatedDict, list[Path]]:
    """A file merged with the files that it includes, and the list of all files that were read.

    `include` is a path or a list of paths, relative to the file that contains it. Own keys take precedence over
    included ones, later includes over earlier ones; mappings are merged in depth. A group file keeps its `include`,
    which holds the defaults of its members. The same file may be included twice, but not in a circle. `aliases` are not
    included: they are names of one task. `warnings` has those of all files; they are not logged yet.
    """
    known: dict[Path, LocatedDict] = {}
    config = _with_includes(path, (), known)
    return config, list(known)


def load_for_use(path: Path) -> LocatedDict:
    """`load_config` of a requested file; logs its warnings."""
    return _warn_once(load_config(path)[0])


def load_file(path: Path) -> LocatedDict:
    """One file, without its includes; logs its warnings."""
    return _warn_once(_read_file(path))


def _warn_once(config: LocatedDict) -> LocatedDict:
    for warning in config.warnings:
        _warn(warning)
    return config


@lru_cache(maxsize=4096)
def _warn(warning: str) -> None:
    """Logs a warning, once per process."""
    log.warning("%s", warning)


def defaults_in(path: Path) -> LocatedDict:
    """A file that a group includes for its members' defaults, without the keys that name a task or group."""
    return without(load_for_use(path), ("task", "group", "tag", "aliases"))


def _with_includes(path: Path, chain: tuple[Path, ...], known: dict[Path, LocatedDict]) -> LocatedDict:
    """A file merged with its includes. chain: the files that include it. known: the files read so far, merged."""
    if path in known:
        return known[path]
    config = known[path] = canonical_keys(_read_file(path))
    if "include" not in config or is_group(config):
        return config
    merged, chain, warnings = LocatedDict(place=config.place), (*chain, path), list(config.warnings)
    for below in include_paths(config, path.parent):
        if below in chain:
            circle = " -> ".join(p.name for p in (*chain[chain.index(below) :], below))
            raise ConfigError(f"include goes in a circle: {circle}.", where=config.where("include"))
        if len(chain) > MAX_INCLUDES:
            what = f"more than {MAX_INCLUDES} files include each other in a row."
            raise Unbounded(what, where=config.where("include"))
        merged = merge(merged, without(_with_includes(below, chain, known), ["aliases"]))
        warnings += [warning for warning in known[below].warnings if warning not in warnings]
    merged = merge(merged, without(config, ["include"]))
    merged.warnings = warnings
    known[path] = merged
    return merged


def include_paths(config: LocatedDict, folder: Path) -> list[Path]:
    """The files that `include` names; ConfigError if one is missing."""
    value = config["include"]
    names = value if isinstance(value, list) else [value]
    paths = []
    for name in names:
        if not isinstance(name, str):
            what = f"include must name a file or a list of files (got {name!r})."
            raise ConfigError(what, where=config.where("include"))
        path = Path(os.path.normpath(folder / name))
        if not path.is_file():
            beside = [p.name for p in folder.iterdir() if "yaml" in p.name or "yml" in p.name]
            hint = did_you_mean(name, beside)
            raise ConfigError(f"include: there is no file {name!r}.", where=config.where("include"), hint=hint)
        paths.append(path)
    return paths


def _read_file(path: Path) -> LocatedDict:
    """One file, without its includes."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)  # a device such as /dev/zero has a size of 0 and no end
        if len(data) > MAX_BYTES:
            raise ConfigError(f"the file has more than {MAX_BYTES:,} bytes.", where=str(Place(path)))
    except OSError as error:
        raise ConfigError(f"the file is unreadable: {error.strerror}.", where=str(Place(path))) from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError("the file is not UTF-8.", where=str(Place(path, line))) from error
    return load_text(text, path)


def load_text(text: str, path: Path) -> LocatedDict:
    """The mapping of a YAML text; `path` is its file. ConfigError with file and line if the text is invalid."""
    loader = _LOADER(text)
    try:
        value = _Builder(loader, path).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"invalid YAML: {what}.", where=str(Place(path, mark.line + 1 if mark else 0))) from error
    except yaml.YAMLError as error:
        raise ConfigError(f"invalid YAML: {first_line(error)}.", where=str(Place(path))) from error
    finally:
        loader.dispose()
    if not isinstance(value, LocatedDict):
        found = "is empty" if value is None else f"contains {value!r:.60}"
        raise ConfigError(f"the file {found}; expected a mapping of keys.", where=str(Place(path, 1)))
    return value


class _Builder:
    """Builds the value of one document from the parser's events, in one pass."""

    def __init__(self, loader: Any, path: Path) -> None:
        self.loader, self.path = loader, path
        self.anchors: dict[str, tuple[object, int]] = {}
        self.size = self.aliased = 0
        self.warnings: list[str] = []
        self.faults: list[ConfigError] = []

    def document(self) -> object:
        """The value of the only document, None for an empty file."""
        self.loader.get_event()  # the start of the stream
        if self.loader.check_event(yaml.StreamEndEvent):
            return None
        self.loader.get_event()  # the start of the document
        value = self.value(self.loader.get_event(), 0)
        self.loader.get_event()  # its end
        event = self.loader.get_event()
        if not isinstance(event, yaml.StreamEndEvent):
            raise self.error("the file holds more than one document", event)
        if isinstance(value, LocatedDict):
            value.warnings = self.warnings
        raise_all(self.faults)
        return value

    def error(self, what: str, event: object, hint: str = "") -> ConfigError:
        return ConfigError(f"{what}.", where=str(self.place(event)), hint=hint)

    def place(self, event: Any) -> Place:
        return Place(self.path, event.start_mark.line + 1)

    def value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml.AliasEvent):
            return self.value_of_alias(event)
        before = self.size
        self.size += 1
        if depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels", event)
        if event.anchor is not None:
            self.anchors[event.anchor] = (None, -1)  # until the value is complete: an alias inside it would be circular
        value: object
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event)
        elif event.tag not in (None, "!", _STANDARD + "seq", _STANDARD + "map"):
            raise self.refused_tag(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = LocatedList()
            for item in self.events(yaml.SequenceEndEvent):
                value.places.append(self.place(item))
                value.append(self.value(item, depth + 1))
        else:
            value = self.mapping(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.size - before)
        return value

    def events(self, end: type) -> Iterator[object]:
        while not isinstance(event := self.loader.get_event(), end):
            yield event

    def value_of_alias(self, event: Any) -> object:
        if event.anchor not in self.anchors:
            raise self.error(f"alias {event.anchor!r} has no anchor", event)
        value, size = self.anchors[event.anchor]
        if size < 0:
            raise self.error(f"alias {event.anchor!r} is inside its own anchor", event)
        self.size += size
        self.aliased += size
        if self.aliased > MAX_ALIASED:
            raise self.error(f"aliases add more than {MAX_ALIASED:,} values to this file", event)
        return value

    def mapping(self, start: object, depth: int) -> LocatedDict:
        mapping = LocatedDict(place=self.place(start))
        below: list[LocatedDict] = []
        for event in self.events(yaml.MappingEndEvent):
            if isinstance(event, yaml.ScalarEvent) and self.tag(event) == _MERGE:
                below += self.merged(self.loader.get_event(), depth)
                continue
            key = self.value(event, depth + 1)
            if isinstance(key, (dict, list, FunctionRef)):
                raise self.error("a key must be plain text or a number", event)
            value = self.value(self.loader.get_event(), depth + 1)
            if key in mapping:
                self.written_twice(mapping, key, value, event)
            else:
                mapping.put(key, value, self.place(event))
        for source in below:
            for key, value in source.items():
                if key not in mapping:
                    mapping.put(key, value, source.places.get(key, source.place))
        return mapping

    def written_twice(self, mapping: LocatedDict, key: object, value: object, event: object) -> None:
        """A duplicate key: with the same value it is a warning, with another value an error."""
        first = mapping.where(key).rpartition(":")[2]
        same_key = any(type(known) is type(key) and known == key for known in mapping)  # 1 and true are equal in Python
        if same_key and _same(mapping[key], value):
            what = f"the key {key!r} is written twice with the same value (first on line {first})."
            self.warnings.append(f"{self.place(event)}: {what}")
        else:
            self.faults.append(self.error(f"the key {key!r} is written twice (first on line {first})", event))

    def merged(self, event: object, depth: int) -> list[LocatedDict]:
        """The mappings after `<<:`, which are defaults of this one."""
        value = self.value(event, depth + 1)
        values = value if isinstance(value, list) else [value]
        if not all(isinstance(item, dict) for item in values):
            raise self.error("<<: needs a mapping or a list of mappings", event)
        return [located(item) for item in values]

    def tag(self, event: Any) -> str:
        if event.tag == "!":
            return _STANDARD + "str"
        if event.tag is None:
            return str(self.loader.resolve(yaml.ScalarNode, event.value, event.implicit))
        return str(event.tag)

    def scalar(self, event: Any) -> object:
        tag, text = self.tag(event), event.value
        if tag == "!function":
            return FunctionRef(text.strip(), self.path, event.start_mark.line + 1)
        if tag in _KEPT_AS_TEXT:  # a date stays the text that was written
            return text
        if tag == _NULLS:
            return None
        try:
            if tag == _STANDARD + "bool":
                return yaml.SafeLoader.bool_values[text.lower()]
            if tag in (_STANDARD + "int", _STANDARD + "float"):  # 12:30 stays text: YAML 1.1 reads it as base 60
                return text if ":" in text else self.number(f"construct_yaml_{tag.removeprefix(_STANDARD)}", event)
        except (ValueError, KeyError) as error:
            raise self.error(f"{text!r:.80} is not a valid {tag.removeprefix(_STANDARD)}", event) from error
        raise self.refused_tag(event)

    def number(self, constructor: str, event: Any) -> Any:
        return getattr(self.loader, constructor)(yaml.ScalarNode(event.tag, event.value))

    def refused_tag(self, event: Any) -> ConfigError:
        tag = str(event.tag).replace(_STANDARD, "!!")
        return self.error(f"the tag {tag} is not allowed", event, hint="Only !function, with a name, is allowed.")


def _same(one: object, other: object) -> bool:
    """Whether two values of a file are equal in type and value (1, 1.0 and true differ); functions compare by name."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [(type(key), key) for key in one]
        return keys == [(type(key), key) for key in other] and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other)  # .nan is not equal to itself; a function's line is not part of it
