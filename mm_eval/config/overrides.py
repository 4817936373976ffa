"""What reaches a task or group from around it: the keys that its groups state for it, and the overrides given at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.config import schema
from mm_eval.config.located import NOWHERE, LocatedDict, located, merge, without
from mm_eval.config.task_config import TASK_KEYS
from mm_eval.values.errors import ConfigError, did_you_mean

ABOUT_A_GROUP = ("group_alias", "aggregate_metric_list", "metadata", "tag", "task_alias", "aliases")
"""Keys that apply to the group itself where they are stated for a group, and not to its members."""


@dataclass(frozen=True)
class Scope:
    """The groups around a name, and the keys that they state for it.

    path: the path of the group around it.
    group_names, names: all names by which run-time overrides may refer to the groups around it, and to itself.
    defaults, overrides: keys of the groups around it, applied under and over the config. for_members: keys that the
    nearest group states for all its members: over a config from elsewhere, but under one that is defined in the group.
    format: the one requested with @.
    open_files: the groups being opened, to find a group within itself. where: file:line of the name.
    """

    path: str = ""
    group_names: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    defaults: LocatedDict = field(default_factory=LocatedDict)
    overrides: LocatedDict = field(default_factory=LocatedDict)
    for_members: LocatedDict = field(default_factory=LocatedDict)
    format: str | None = None
    open_files: tuple[Path, ...] = ()
    where: str = ""

    def for_reference(self, stated: LocatedDict) -> Scope:
        """The scope of a member that is defined elsewhere. stated: the keys that its group states for it."""
        return replace(
            self, overrides=merge(merge(self.for_members, stated), self.overrides), for_members=LocatedDict()
        )

    def below(self, name: str) -> str:
        return f"{self.path}::{name}" if self.path else name


class RuntimeOverrides:
    """Overrides given at run time: for all tasks, or by the name of a task, group, tag or path."""

    def __init__(
        self, overrides: Mapping[str, Any] | None, below: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        """below: overrides by name that all others take precedence over, and whose names need not be loaded."""
        self.below = dict(below or {})
        self.for_all = LocatedDict()
        self.by_name: dict[str, Mapping[str, Any]] = {}
        self.used: set[str] = set()
        known = {**TASK_KEYS, **schema.ALIASES}
        for key, value in (overrides or {}).items():
            if key in known or not isinstance(value, Mapping):
                self.for_all[key] = value
            else:
                self.by_name[key] = value
        if self.for_all:
            self.for_all = schema.canonical_keys(self.for_all)
            schema.check_keys(self.for_all, TASK_KEYS, "the overrides")

    def of(self, group_names: tuple[str, ...], names: tuple[str, ...]) -> LocatedDict:
        """The overrides of a task or group that is known by `names` (most specific last), inside groups with `group_names`."""
        found = LocatedDict()
        for name in dict.fromkeys((*group_names, *names)):
            found = merge(found, self.below.get(name, {}))
        found = merge(found, self.for_all)
        for name in dict.fromkeys(group_names):
            if name in self.by_name:
                found = merge(found, without(self._named(name), ABOUT_A_GROUP))
        return merge(found, self.about(names))

    def about(self, names: tuple[str, ...]) -> LocatedDict:
        """The overrides that are given for one of these names."""
        found = LocatedDict()
        for name in dict.fromkeys(names):
            if name in self.by_name:
                found = merge(found, self._named(name))
        return found

    def _named(self, name: str) -> LocatedDict:
        self.used.add(name)
        return schema.canonical_keys(located(self.by_name[name]))

    def check_used(self, names: Iterable[str]) -> None:
        """ConfigError where an override names nothing that was loaded. names: what was loaded, for the suggestion."""
        for name in self.by_name:
            if name not in self.used:
                what = f"an override names {name!r}, but this run has no task or group of that name."
                raise ConfigError(what, hint=did_you_mean(name, names))


def without_shown_shots(config: LocatedDict, overrides: Mapping[str, Any]) -> LocatedDict:
    """A config without `metadata.num_fewshot` (the n-shot to show), if the overrides set another num_fewshot."""
    metadata = config.get("metadata")
    if "num_fewshot" not in overrides or not isinstance(metadata, Mapping) or "num_fewshot" not in metadata:
        return config
    left = LocatedDict(config)
    left.put("metadata", without(metadata, ["num_fewshot"]), config.places.get("metadata", NOWHERE))
    return left
