"""From names to configs: groups opened, members found, overrides laid over each other, formats applied.

For one task the keys are merged in this order, later ones over earlier ones:

    include of the groups around it (outermost first)      defaults
    the task's own file, over what that file includes      the referred-to config
    what the groups say about it (innermost first)         the referring groups
    runtime overrides                                      the command line, TaskManager.load(..., overrides=...)
"""

from __future__ import annotations

import fnmatch
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from mm_eval.catalog import schema
from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.foreign import of_lmms_eval
from mm_eval.catalog.group import GroupConfig
from mm_eval.catalog.index import Entry, entry_error
from mm_eval.catalog.located import NOWHERE, LocatedDict, located, merge, shown_path, without
from mm_eval.catalog.nodes import ABOUT_A_GROUP, GroupNode, Node, Runtime, TaskNode, descendants, without_shown_shots
from mm_eval.errors import ConfigError, Unbounded, did_you_mean

log = logging.getLogger(__name__)

MAX_NESTED = 50
"""How many groups may stand within each other."""

MAX_OPENED = 1_000
"""How often one name may open the same file: 40 groups that each name the next one twice double at each step."""


@dataclass(frozen=True)
class Context:
    """What holds where a name is met.

    path: the path of the group around it.
    around, trail: every name by which a runtime override may mean the groups around it, or what is met here.
    defaults, overrides: what the groups around it say, under and over the config. wide: what the nearest of them says
    of all its members, over the config of one that is defined elsewhere and under one that is defined in the group.
    format: asked for with @.
    open_files: the groups being opened, to find a group within itself. where: file:line of the name.
    """

    path: str = ""
    around: tuple[str, ...] = ()
    trail: tuple[str, ...] = ()
    defaults: LocatedDict = field(default_factory=LocatedDict)
    overrides: LocatedDict = field(default_factory=LocatedDict)
    wide: LocatedDict = field(default_factory=LocatedDict)
    format: str | None = None
    open_files: tuple[Path, ...] = ()
    where: str = ""

    def saying(self, said: LocatedDict) -> Context:
        """This context for a member that is defined elsewhere, with what its group says about it."""
        return replace(self, overrides=merge(merge(self.wide, said), self.overrides), wide=LocatedDict())

    def below(self, name: str) -> str:
        return f"{self.path}::{name}" if self.path else name


class Expander:
    """Turns specs into trees of tasks and groups.

    faults: where it is given, the members that can't be read are left out, and why is put here.
    """

    def __init__(self, entries: Mapping[str, Entry], runtime: Runtime, faults: list[ConfigError] | None = None) -> None:
        self.entries, self.runtime, self.faults = entries, runtime, faults
        self._files: dict[Path, LocatedDict] = {}
        self._times: Counter[Path] = Counter()
        self._opened: dict[tuple[str, str | None], list[Node]] = {}

    @cached_property
    def inline_paths(self) -> dict[str, list[str]]:
        """The paths of the members that groups define themselves, by short name."""
        return inline_paths(self.entries)

    def names(self) -> Iterator[str]:
        """Every name that can be asked for."""
        yield from self.entries
        yield from self.inline_paths

    # ------------------------------------------------------------------ specs

    def asked(self, spec: str | Mapping[str, Any] | Path) -> list[Node]:
        """The tasks and groups that one spec of a user means."""
        self._times.clear()
        return self.spec(spec, Context())

    def _kept(self, open_one: Callable[[], list[Node]]) -> list[Node]:
        """What one of several members opens to; nothing where it can't be read and faults are collected."""
        try:
            return open_one()
        except ConfigError as error:
            if self.faults is None or isinstance(error, Unbounded):
                raise
            self.faults.append(error)
            return []

    def spec(self, spec: str | Mapping[str, Any] | Path, context: Context) -> list[Node]:
        """The tasks and groups that a spec means: a name, a path `a::b`, a glob, a file, `name@format`, or a config."""
        if isinstance(spec, Mapping):
            return self.member(located(spec), context, outside=True)
        text = str(spec)
        if isinstance(spec, Path) or text not in self.entries and _is_file(text):
            return [self.file(Path(text).expanduser().absolute(), context)]
        context = replace(context, trail=(*context.trail, text))
        if "::" in text and "@" in text and (found := self._walk(text.split("::"), context, optional=True)):
            return found  # a member that is written with this format in its group
        name, _, asked = text.rpartition("@") if "@" in text.rpartition("::")[2] else (text, "", "")
        if asked:
            context = replace(context, format=context.format or asked, trail=(*context.trail, name))
            if name not in self.entries and _is_file(name):
                return [self.file(Path(name).expanduser().absolute(), context)]
        if "::" in name:
            return self._walk(name.split("::"), context)
        if _is_glob(name):
            return self._glob(name, context)
        return self._named(name, context)

    def _glob(self, pattern: str, context: Context) -> list[Node]:
        """Groups and tasks that match, tasks of a matching group only within it; tags where nothing else matches."""
        found = sorted((e for e in self.entries.values() if fnmatch.fnmatchcase(e.name, pattern)), key=lambda e: e.name)
        broken = [e for e in found if e.kind == "broken"]
        if broken and self.faults is None:
            log.warning("%r leaves out what can't be read: %s", pattern, ", ".join(e.name for e in broken))
        chosen = [e for e in found if e.kind in ("task", "group")] or [e for e in found if e.kind == "tag"]
        chosen += broken if self.faults is not None else []
        if not chosen:
            hint = did_you_mean(pattern.strip("*?"), self.names())
            raise ConfigError(f"no task or group matches {pattern!r}.", where=context.where, hint=hint)
        nodes = [node for e in chosen for node in self._kept(partial(self._named, e.name, context))]
        within = {below.config.name for node in nodes for below in descendants(node)}
        return [node for node in nodes if node.config.name not in within]

    def _named(self, name: str, context: Context) -> list[Node]:
        entry = self.entries.get(name)
        if entry is None:
            if len(paths := self.inline_paths.get(name, [])) == 1:
                return self._walk(paths[0].split("::"), context)
            raise self._unknown(name, context)
        if error := entry_error(entry):
            raise error
        context = replace(context, trail=(*context.trail, name))
        if entry.kind == "tag":
            return [node for name in entry.members for node in self._kept(partial(self.spec, name, context))]
        assert entry.file is not None
        return [self.file(entry.file, context)]

    def _unknown(self, name: str, context: Context) -> ConfigError:
        if name.endswith((".yaml", ".yml")):
            return ConfigError(f"there is no file {name!r}.", where=context.where)
        inline = self.inline_paths.get(name, [])
        hint = "Say " + " or ".join(map(repr, inline)) + "." if inline else did_you_mean(name, self.names())
        return ConfigError(f"unknown task, group or tag {name!r}.", where=context.where, hint=hint)

    def _walk(self, parts: list[str], context: Context, *, optional: bool = False) -> list[Node]:
        """The members that a path means. Each part is a name or a glob among the members of the part before, or, where
        none of those match, among all that is below them: "mmlu::mmlu_anatomy" for "mmlu::mmlu_stem::mmlu_anatomy".
        optional: no such member is no error.
        """
        nodes = self._roots(parts[0], context)
        for depth, part in enumerate(parts[1:], 1):
            outer = "::".join(parts[:depth])
            groups = [node for node in nodes if isinstance(node, GroupNode)]
            if not groups:
                raise ConfigError(f"{outer!r} is no group, so it has no member {part!r}.", where=context.where)
            nodes = _members(groups, part)
            if not nodes:
                if optional:
                    return []
                below = [child.config.name for group in groups for child in descendants(group)]
                hint = did_you_mean(part, below)
                raise ConfigError(f"{outer!r} has no member {part!r}.", where=context.where, hint=hint)
            if len({node.path for node in nodes}) > 1 and not _is_glob(part) and not _is_glob(outer):
                named = " or ".join(repr(node.path) for node in nodes)
                raise ConfigError(f"{outer!r} has several members {part!r}.", where=context.where, hint=f"Say {named}.")
        return nodes

    def _roots(self, name: str, context: Context) -> list[Node]:
        """What the first part of a path means; opened once for all paths that are asked for outside of a group."""
        if context.around or context.overrides or self.runtime.by_name:
            return self.spec(name, context)
        key = (name, context.format)
        if key not in self._opened:
            self._opened[key] = self.spec(name, context)
        return self._opened[key]

    # ---------------------------------------------------------------- members

    def file(self, path: Path, context: Context) -> Node:
        """The task or group that a YAML file defines."""
        from mm_eval.catalog.yaml import is_group, load_for_use

        self._times[path] += 1
        if self._times[path] > MAX_OPENED:
            what = f"the groups around {shown_path(path)} name it more than {MAX_OPENED:,} times."
            raise Unbounded(what, where=context.where, hint="List each member once.")
        if path not in self._files:
            self._files[path] = load_for_use(path)
        config = self._files[path]
        if is_group(config):
            if path in context.open_files:
                circle = [*context.open_files[context.open_files.index(path) :], path]
                names = " -> ".join(str(self._files[file]["group"]) for file in circle)
                raise ConfigError(f"a group is a member of itself: {names}.", where=context.where)
            return self.group(config, path, replace(context, open_files=(*context.open_files, path)))
        if isinstance(config.get("task"), list):
            raise ConfigError("a list under `task` needs a `group` beside it.", where=config.where("task"))
        if config.get("task") is None:
            what = "the file defines no task: it has no `task` key."
            raise ConfigError(what, where=context.where or str(config.place))
        return self.task(config, path, context)

    def task(self, config: LocatedDict, path: Path | None, context: Context) -> TaskNode:
        """A task: its own keys between the defaults and the overrides that hold here."""
        name, _, named_format = str(config.get("task") or "").partition("@")
        asked = context.format or named_format or None
        identity = context.below(name) + (f"@{asked}" if asked else "")
        names = (*context.trail, name, context.below(name), identity)
        own = schema.canonical_keys(config)
        merged = merge(merge(context.defaults, own), context.overrides)
        asked_now = without(self.runtime.of(context.around, names), ["task"])
        merged = merge(without_shown_shots(merged, asked_now), asked_now)
        merged.put("task", name, own.places.get("task", own.place))
        made = TaskConfig.from_mapping(merged, file=path, path=identity, format_asked=asked)
        return TaskNode(made, overridden=bool(context.overrides or self.runtime.about((*context.around, *names))))

    def group(self, config: LocatedDict, path: Path | None, context: Context) -> GroupNode:
        """A group with its members."""
        name = str(config.get("group"))
        full = context.below(name)
        if full.count("::") >= MAX_NESTED:
            what = f"more than {MAX_NESTED} groups stand within each other."
            raise Unbounded(what, where=context.where or config.where("group"))
        names = (*context.trail, name, full)
        said = merge(context.overrides, self.runtime.about(names))
        about = LocatedDict({key: value for key, value in said.items() if key in ABOUT_A_GROUP}, said.place)
        about.places = said.places
        if "task_alias" in about:
            about.put("group_alias", about["task_alias"], about.places.get("task_alias", NOWHERE))
        own = without_shown_shots(schema.canonical_keys(config), self.runtime.of(context.around, names))
        merged = merge(own, without(about, ["task_alias"]))
        identity = full + (f"@{context.format}" if context.format else "")
        made = GroupConfig.from_mapping(merged, file=path, path=identity)
        inner = replace(
            context,
            path=full,
            around=(*context.around, *names),
            trail=(),
            defaults=merge(context.defaults, self._defaults(made)),
            overrides=without(context.overrides, ABOUT_A_GROUP),
            wide=merge(context.wide, made.overrides),
        )
        node = GroupNode(made, overridden=bool(said))
        for index, member in enumerate(made.members):
            where = made.where_member(index)
            at = replace(inner, where=where)
            if isinstance(member, Mapping):
                open_one = partial(self.member, located(member), at, outside=False, file=path)
            else:
                open_one = partial(self.spec, str(member), at.saying(LocatedDict()))
            node.children += self._kept(open_one)
        if made.unweighted and _is_lmms_evals(node):
            node.config = made.as_in_lmms_eval()
        return node

    def member(self, member: LocatedDict, context: Context, *, outside: bool, file: Path | None = None) -> list[Node]:
        """A mapping among a group's members, or given in Python: a reference with overrides, or a definition.

        outside: given in Python, not written in a group.
        """
        from mm_eval.catalog.yaml import is_group

        key = "group" if "group" in member and (is_group(member) or "task" not in member) else "task"
        name = member.get(key)
        where = context.where or member.where(key)
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a member needs a name under `task` or `group`, not {name!r:.60}.", where=where)
        context = replace(context, where=where)
        if key == "group" and "task" in member:
            return [self.group(member, file, context)]
        base = name.rpartition("@")[0] or name
        defines = schema.defines_task(member)
        if base in self.entries or "::" in base or base in self.inline_paths and not defines:
            said = schema.canonical_keys(without(member, [key]))
            _check_override(said, base)
            return self.spec(name, context.saying(said))
        if key == "task" and defines:
            below = self._included(member, file) if "include" in member else LocatedDict()
            own = merge(merge(context.wide, below), without(member, ["include"]))
            return [self.task(own, file, replace(context, wide=LocatedDict()))]
        error = self._unknown(base, context)
        if outside:
            error.hint = f"{error.hint} A config of your own needs dataset_path."
        raise error

    @staticmethod
    def _included(stated: LocatedDict, file: Path | None) -> LocatedDict:
        """The keys of the files that `include` names, or of the mapping that stands there."""
        from mm_eval.catalog.yaml import include_paths, included

        if isinstance(stated["include"], Mapping):
            return schema.canonical_keys(located(stated["include"]))
        merged = LocatedDict()
        for path in include_paths(stated, file.parent if file else Path.cwd()):
            merged = merge(merged, included(path))
        return merged

    def _defaults(self, group: GroupConfig) -> LocatedDict:
        """What `include` of a group gives its members where they state nothing."""
        if group.include is None:
            return LocatedDict()
        found = self._included(group.source, group.file)
        schema.check_keys(found, schema.TASK_KEYS, f"the include of group {group.name!r}")
        return found


def _is_lmms_evals(group: GroupNode) -> bool:
    """Whether a group's file is lmms-eval's: by itself, or since all of its tasks are and lie in its folder or below."""
    file = group.config.file
    if of_lmms_eval(group.config.source, file):
        return True
    tasks = [node.config for node in descendants(group) if isinstance(node, TaskNode)]
    return (
        file is not None
        and bool(tasks)
        and all(task.file is not None and task.file.is_relative_to(file.parent) and task.of_lmms_eval for task in tasks)
    )


def _check_override(said: LocatedDict, name: str) -> None:
    rules = {**schema.TASK_KEYS, **schema.GROUP_ONLY_KEYS}
    schema.check_keys(without(said, ["class"]), rules, f"the overrides of {name!r}")


def _members(groups: list[GroupNode], part: str) -> list[Node]:
    """The direct members that one part of a path means, else those further below."""
    direct = [child for group in groups for child in group.children if _matches(child, part)]
    return direct or [child for group in groups for child in descendants(group) if _matches(child, part)]


def _matches(node: Node, part: str) -> bool:
    own = (node.config.name, node.config.path.rpartition("::")[2])
    return any(name == part or fnmatch.fnmatchcase(name, part) for name in own)


def _is_glob(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def _is_file(text: str) -> bool:
    return text.endswith((".yaml", ".yml")) and os.path.isfile(os.path.expanduser(text))


def inline_paths(entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    """The paths of the members that groups define themselves, by short name.

    A member with a registered name is a reference, and no definition.
    """
    found: dict[str, list[str]] = {}
    for entry in entries.values():
        for path, _, _ in entry.inline:
            name = path.rpartition("::")[2]
            if name not in entries:
                found.setdefault(name, []).append(path)
    return found
