"""The trees that names open to: tasks and groups, each at its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.group import GroupConfig


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
