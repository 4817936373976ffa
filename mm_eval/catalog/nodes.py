"""The trees that names open to: tasks and groups, each at its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mm_eval.catalog import schema
from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.group import GroupConfig
from mm_eval.catalog.located import NOWHERE, LocatedDict, located, merge, without
from mm_eval.errors import ConfigError, did_you_mean


@dataclass
class TaskNode:
    """A task at one place. overridden: whether something there says other than its file."""

    config: TaskConfig
    overridden: bool = False

    @property
    def path(self) -> str:
        return self.config.path


@dataclass
class GroupNode:
    """A group at one place, with its members in the YAML's order."""

    config: GroupConfig
    children: list[Node] = field(default_factory=list)
    overridden: bool = False

    @property
    def path(self) -> str:
        return self.config.path


Node = TaskNode | GroupNode


def descendants(node: Node) -> Iterator[Node]:
    """The tasks and groups strictly below a node."""
    for child in node.children if isinstance(node, GroupNode) else ():
        yield child
        yield from descendants(child)


ABOUT_A_GROUP = ("group_alias", "aggregate_metric_list", "metadata", "tag", "task_alias")
"""Keys that, said about a group, are about the group and not about its members."""


class Runtime:
    """Overrides given at run time: for all tasks, or by the name of a task, group, tag or path."""

    def __init__(self, overrides: Mapping[str, Any] | None) -> None:
        self.for_all = LocatedDict()
        self.by_name: dict[str, Mapping[str, Any]] = {}
        self.used: set[str] = set()
        known = {**schema.TASK_KEYS, **schema.ALIASES}
        for key, value in (overrides or {}).items():
            if key in known or not isinstance(value, Mapping):
                self.for_all[key] = value
            else:
                self.by_name[key] = value
        if self.for_all:
            self.for_all = schema.canonical_keys(self.for_all)
            schema.check_keys(self.for_all, schema.TASK_KEYS, "the overrides")

    def of(self, around: tuple[str, ...], names: tuple[str, ...]) -> LocatedDict:
        """What holds for what is met under `names`, the last one being the most specific, in the groups `around`."""
        found = LocatedDict(self.for_all)
        for name in dict.fromkeys(around):
            if name in self.by_name:
                found = merge(found, without(self._named(name), ABOUT_A_GROUP))
        return merge(found, self.about(names))

    def about(self, names: tuple[str, ...]) -> LocatedDict:
        """What is said by name alone."""
        found = LocatedDict()
        for name in dict.fromkeys(names):
            if name in self.by_name:
                found = merge(found, self._named(name))
        return found

    def _named(self, name: str) -> LocatedDict:
        self.used.add(name)
        return schema.canonical_keys(located(self.by_name[name]))

    def check_used(self, names: Iterable[str]) -> None:
        """ConfigError where an override names nothing of this load."""
        for name in self.by_name:
            if name not in self.used:
                what = f"an override names {name!r}, which is no task or group of this run."
                raise ConfigError(what, hint=did_you_mean(name, names))


def without_shown_shots(config: LocatedDict, said: Mapping[str, Any]) -> LocatedDict:
    """A config without the n-shot that its `metadata` tells to be shown, where another number is asked for at run time."""
    metadata = config.get("metadata")
    if "num_fewshot" not in said or not isinstance(metadata, Mapping) or "num_fewshot" not in metadata:
        return config
    left = LocatedDict(config)
    left.put("metadata", without(metadata, ["num_fewshot"]), config.places.get("metadata", NOWHERE))
    return left
