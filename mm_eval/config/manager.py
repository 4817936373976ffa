"""TaskManager: finds tasks, groups and tags by name, and loads the configs that a run requests.

loaded = TaskManager(include_path="my_tasks").load(["mme", "mmlu::mmlu_stem", "arc_easy@cloze"])
loaded.tasks["mme"], loaded.groups["mmlu_stem"], loaded.group_map["mmlu_stem"], loaded.roots
"""

from __future__ import annotations

import fnmatch
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeAlias

from mm_eval.config import schema
from mm_eval.config.expand import Expander, RuntimeOverrides
from mm_eval.config.group import GroupConfig, Node, TaskNode, leaves_of
from mm_eval.config.index import Entry, build_index, inline_paths
from mm_eval.config.task_config import TaskConfig
from mm_eval.config.values import to_json
from mm_eval.values.errors import ConfigError, faults_of, raise_all
from mm_eval.values.files import digest_of
from mm_eval.values.types import JsonObject

log = logging.getLogger(__name__)

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

Spec: TypeAlias = str | Path | Mapping[str, Any]


@dataclass
class Loaded:
    """The tasks and groups of a run. Each has one key in all of these: its short name, or its path if two share that.

    tasks: every task. groups: every group, inner ones too. group_map: the members of each group, in the YAML's order.
    roots: the requested tasks and groups, in that order. notes: which aliases were used. `loaded["tasks"]` is `loaded.tasks`.
    """

    tasks: dict[str, TaskConfig] = field(default_factory=dict)
    groups: dict[str, GroupConfig] = field(default_factory=dict)
    group_map: dict[str, list[str]] = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, key: str) -> Any:
        if key not in self.keys():
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> tuple[str, ...]:
        """What `loaded[key]` has: with it, `dict(loaded)` is lm-eval's mapping."""
        return "tasks", "groups", "group_map", "roots"

    def leaves(self, name: str) -> list[str]:
        """The tasks below a group, one entry per place; of a task, itself."""
        return leaves_of(name, self.group_map)


class TaskManager:
    """The catalogue of tasks.

    include_path: folders with tasks of your own; a task there replaces a built-in one of the same name.
    include_defaults: whether the built-in tasks, and those of installed packages, are included.
    metadata: keys for the `metadata` of every task that is loaded.
    verbosity, model_name: of other suites' managers, whose first argument is the verbosity; they have no effect.
    """

    def __init__(
        self,
        include_path: str | Path | Sequence[str | Path] | None = None,
        include_defaults: bool = True,
        metadata: Mapping[str, object] | None = None,
        verbosity: str | None = None,
        model_name: str | None = None,
    ) -> None:
        if isinstance(include_path, str) and include_path.upper() in LEVELS:
            include_path = None
        self.include_path = [include_path] if isinstance(include_path, (str, Path)) else list(include_path or ())
        self.include_defaults = include_defaults
        self.metadata = dict(metadata or {})
        if not include_defaults or self.include_path:
            _ = self.entries  # so that a missing folder is reported at once

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """All declared names."""
        return build_index(self.include_path, self.include_defaults)

    @property
    def all_tasks(self) -> list[str]:
        """The names of all tasks, including those that are defined inside a group."""
        return self._names("task")

    @property
    def all_groups(self) -> list[str]:
        """The names of all groups, including those that are defined inside a group."""
        return self._names("group")

    @property
    def all_tags(self) -> list[str]:
        """The names of all tags."""
        return self._names("tag")

    @property
    def all_subtasks(self) -> list[str]:
        """The same as `all_tasks`, by lm-eval's name."""
        return self.all_tasks

    def match_tasks(self, task_list: str | Iterable[str]) -> list[str]:
        """The names of tasks, groups and tags that fit any of these names or globs. One that fits none is left out."""
        names = [*self.all_tasks, *self.all_groups, *self.all_tags]
        patterns = [task_list] if isinstance(task_list, str) else list(task_list)
        return sorted({name for pattern in patterns for name in fnmatch.filter(names, pattern)})

    def list_all_tasks(self, list_groups: bool = True, list_tags: bool = True, list_subtasks: bool = True) -> str:
        """The catalogue as Markdown tables: groups, tags, tasks."""
        tables = (("Group", self.all_groups, list_groups), ("Tag", self.all_tags, list_tags))
        shown = (*tables, ("Task", self.all_tasks, list_subtasks))
        return "\n\n".join(self._table(title, names) for title, names, is_wanted in shown if is_wanted)

    def _table(self, title: str, names: Sequence[str]) -> str:
        rows = [(name, self.summary(name).replace("|", "\\|")) for name in names]
        return "\n".join([f"| {title} | |", "|---|---|", *(f"| {name} | {about} |" for name, about in rows)])

    def load_task_or_group(self, task_list: Spec | Iterable[Spec]) -> JsonObject:
        """The configs as a mapping: a task by its name, a group by its name with the mapping of its members.

        Arguments and errors: those of `load`.
        """
        loaded = self.load(task_list)

        def below(name: str) -> object:
            return (
                {child: below(child) for child in loaded.group_map[name]}
                if name in loaded.groups
                else loaded.tasks[name]
            )

        return {name: below(name) for name in loaded.roots}

    @property
    def broken(self) -> dict[str, str]:
        """The unreadable files with their errors, by the name that they seem to declare."""
        return {e.name: f"{e.file}: {e.error}" for e in self.entries.values() if e.kind == "broken"}

    def _names(self, kind: str) -> list[str]:
        """Names that can be requested; a group's own member is named by its path if its short name is ambiguous."""
        names = {entry.name for entry in self.entries.values() if entry.kind == kind}
        for name, paths in self._inline_paths.items():
            names |= {name if len(paths) == 1 else path for path in paths if self._inline_kinds[path] == kind}
        return sorted(names)

    @cached_property
    def _inline_paths(self) -> dict[str, list[str]]:
        return inline_paths(self.entries)

    @cached_property
    def _inline_kinds(self) -> dict[str, str]:
        return {path: what for entry in self.entries.values() for path, what, _ in entry.inline}

    def summary(self, name: str) -> str:
        """One line about a name."""
        entry = self.entries.get(name)
        if entry is None:
            paths = self._inline_paths.get(name, [name])
            return f"member of {paths[0].rpartition('::')[0]}" if "::" in paths[0] else ""
        if entry.kind == "broken":
            return f"BROKEN {entry.error}"
        tags = f" [{', '.join(entry.tags)}]" if entry.tags else ""
        if entry.rivals:
            return f"DECLARED {1 + len(entry.rivals)} TIMES {entry.about}{tags}"
        return f"{entry.about}: {', '.join(entry.members[:6])}" if entry.kind == "tag" else f"{entry.about}{tags}"

    def load(
        self,
        specs: Spec | Iterable[Spec],
        overrides: Mapping[str, Any] | None = None,
        faults: list[tuple[str, ConfigError]] | None = None,
        below: Mapping[str, Mapping[str, object]] | None = None,
        python: bool = False,
    ) -> Loaded:
        """The configs of the given specs.

        specs: names of tasks, groups and tags; paths `group::member`; globs; YAML files; `name@format`; several of these
            separated by commas; or mappings: a config, or `{"task": name, key: value}` to override some keys.
        overrides: keys for all tasks (`{"num_fewshot": 5}`) or by name (`{"arc_easy": {"num_fewshot": 5}}`); they take
            precedence over every file.
        below: keys by name that the overrides take precedence over; a name that the specs do not load is ignored.
        python: every spec is meant with `@python`.
        faults: if given, specs and members with errors are left out, and (spec, error) is appended here.
        Errors: ConfigError on anything unknown or invalid, with file, line and a suggestion. Nothing is imported.
        """
        if self.metadata:
            overrides = {
                **(overrides or {}),
                "metadata": {**self.metadata, **((overrides or {}).get("metadata") or {})},
            }
        runtime = RuntimeOverrides(overrides, below)
        expander = Expander(self.entries, runtime, faults, python)
        listed: list[Spec] = [specs] if isinstance(specs, (str, Path, Mapping)) else list(specs)
        requested = [part for spec in listed for part in parts_of_spec(spec)]
        if not requested:
            raise ConfigError("no task is named.")
        nodes = list[Node]()
        raise_all(faults_of(partial(lambda spec: nodes.extend(expander.requested(spec)), spec) for spec in requested))
        loaded = _collect(nodes)
        loaded.notes += expander.notes
        runtime.check_used([*loaded.tasks, *loaded.groups])
        return loaded


def parts_of_spec(spec: Spec) -> list[Spec]:
    """A text split at its commas; the name of an existing file is not split."""
    if not isinstance(spec, str) or os.path.isfile(spec):
        return [spec]
    return [part.strip() for part in spec.split(",") if part.strip()]


def _collect(nodes: list[Node]) -> Loaded:
    """The trees as one catalogue, in which equal tasks and equal groups share one entry.

    A member that a group lists twice (by name or by a tag) counts once there, as in lm-eval; below two members it counts twice.
    """
    first: dict[str, Node] = {}
    identities: dict[int, str] = {}
    for node in nodes:
        _identify(node, identities, first)
    keys = _keys(first)
    loaded = Loaded()

    def add(node: Node) -> str:
        key, path = keys[identities[id(node)]]
        original = first[identities[id(node)]]
        if isinstance(original, TaskNode):
            loaded.tasks.setdefault(key, replace(original.config, path=path, key=key))
        elif key not in loaded.groups:
            loaded.groups[key] = replace(original.config, path=path)
            members = Counter(add(child) for child in original.children)
            loaded.group_map[key] = list(members)
            if twice := [member for member, places in members.items() if places > 1]:
                where = original.config.where("task")
                log.warning("%s: group %r lists %s twice; it counts once.", where, key, ", ".join(twice))
        return key

    loaded.roots = list(dict.fromkeys([add(node) for node in nodes]))
    return loaded


def _identify(node: Node, identities: dict[int, str], first: dict[str, Node]) -> str:
    """A digest that two nodes share if and only if they are equal, wherever they are in the trees."""
    if isinstance(node, TaskNode):
        identity = node.config.identity()
    else:
        members = [_identify(child, identities, first) for child in node.children]
        about = {key: value for key, value in node.config.source.items() if key not in ("task", "include")}
        identity = digest_of([node.config.name, to_json(about), members])
    identities[id(node)] = identity
    first.setdefault(identity, node)
    return identity


def _keys(nodes: Mapping[str, Node]) -> dict[str, tuple[str, str]]:
    """The key and the path of each identity. The key is the short name if that is unique, else the path.

    Of nodes that share even the path, the one without overrides keeps it; the others get a digest of their content
    appended: "t#1f2e3d4c".
    """
    short = {identity: _short(node) for identity, node in nodes.items()}
    names = Counter(short.values())
    paths = Counter(node.path for node in nodes.values())
    plain = Counter(node.path for node in nodes.values() if not node.overridden)
    keys = {}
    for identity, node in nodes.items():
        kept = paths[node.path] == 1 or not node.overridden and plain[node.path] == 1
        path = node.path if kept else f"{node.path}#{identity[:8]}"
        keys[identity] = (short[identity] if names[short[identity]] == 1 else path, path)
    return keys


def _short(node: Node) -> str:
    """The short name of a node: `task`, and `task@python` where the tool was added."""
    return node.config.name + (schema.WITH_PYTHON if schema.split_python(node.path)[1] else "")
