"""From names to configs: finds what a name refers to, opens groups, applies overrides and formats.

For one task the keys are merged in this order, later ones over earlier ones:

    `include` of the groups around it (outermost first)       defaults
    the task's own file, over the files that it includes      the referred-to config
    the keys that groups state for it (innermost first)       the referring groups
    run-time overrides                                        the command line, TaskManager.load(..., overrides=...)
"""

from __future__ import annotations

import fnmatch
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from mm_eval.config import schema
from mm_eval.config.group import GROUP_KEYS, GroupConfig, GroupNode, Node, TaskNode, descendants, members_named
from mm_eval.config.index import Entry, entry_error, inline_paths
from mm_eval.config.inline import config_of
from mm_eval.config.located import NOWHERE, LocatedDict, located, merge, shown_path, without
from mm_eval.config.suites.habits import with_default_weights
from mm_eval.config.task_config import TASK_KEYS, TaskConfig
from mm_eval.config.tools import answers_with_code, with_python
from mm_eval.values.errors import ConfigError, InvalidValue, Unbounded, did_you_mean
from mm_eval.values.words import counted, listed

log = logging.getLogger(__name__)

MAX_NESTED = 50
"""How deep groups may be nested."""

MAX_OPENED = 1_000
"""How often one name may open the same file: 40 groups that each name the next one twice double at each step."""


ABOUT_A_GROUP = ("group_alias", "aggregate_metric_list", "metadata", "tag", "task_alias", "aliases")
"""Keys that apply to the group itself where they are stated for a group, and not to its members. Stated for a path, they
apply to the node at its end, and not to the groups on the way."""


@dataclass(frozen=True)
class Scope:
    """The groups around a name, and the keys that they state for it.

    path: the path of the group around it.
    group_names, names: all names by which run-time overrides may refer to the groups around it, and to itself.
    defaults, overrides: keys of the groups around it, applied under and over the config. for_members: keys that the
    nearest group states for all its members: over a config from elsewhere, but under one that is defined in the group.
    format: the one requested with @. python: the tool python is added (`@python`).
    open_files: the groups being opened, to find a group within itself. where: file:line of the name.
    """

    path: str = ""
    group_names: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    defaults: LocatedDict = field(default_factory=LocatedDict)
    overrides: LocatedDict = field(default_factory=LocatedDict)
    for_members: LocatedDict = field(default_factory=LocatedDict)
    format: str | None = None
    python: bool = False
    open_files: tuple[Path, ...] = ()
    inline: Mapping[str, tuple[LocatedDict, Path | None]] = field(default_factory=dict)
    open_inline: tuple[str, ...] = ()
    where: str = ""

    def for_reference(self, stated: LocatedDict) -> Scope:
        """The scope of a member that is defined elsewhere. stated: the keys that its group states for it."""
        return replace(
            self, overrides=merge(merge(self.for_members, stated), self.overrides), for_members=LocatedDict()
        )

    def on_the_way(self) -> Scope:
        """The scope of the groups that a path goes through."""
        return replace(self, overrides=without(self.overrides, ABOUT_A_GROUP))

    def below(self, name: str) -> str:
        return f"{self.path}::{name}" if self.path else name


class RuntimeOverrides:
    """Overrides given at run time: for all tasks, or by the name of a task, group, tag or path."""

    def __init__(
        self, overrides: Mapping[str, object] | None, below: Mapping[str, Mapping[str, object]] | None = None
    ) -> None:
        """below: overrides by name that all others take precedence over, and whose names need not be loaded."""
        self.below = dict(below or {})
        self.for_all = LocatedDict()
        self.by_name: dict[str, LocatedDict] = {}
        self.used: set[str] = set()
        known = {**TASK_KEYS, **schema.ALIASES}
        for key, value in (overrides or {}).items():
            if key in known or not isinstance(value, Mapping):
                self.for_all[key] = value
            else:
                self.by_name[key] = schema.canonical_keys(value)
        if self.for_all:
            self.for_all = schema.canonical_keys(self.for_all)
            schema.check_keys(self.for_all, TASK_KEYS, "the overrides")

    def of(self, group_names: tuple[str, ...], names: tuple[str, ...]) -> LocatedDict:
        """The overrides of a task or group that is known by `names` (most specific last), inside groups with `group_names`."""
        found = LocatedDict()
        is_python = any(schema.split_python(name)[1] for name in names)
        for name in _each_once((*group_names, *names)):
            if schema.split_python(name)[1] == is_python:  # what is stated for a task is not meant for it with Python
                found = merge(found, self.below.get(name, {}))
        of_groups = without(self.about(group_names), ABOUT_A_GROUP)
        return merge(merge(merge(found, self.for_all), of_groups), self.about(names))

    def about(self, names: tuple[str, ...]) -> LocatedDict:
        """The overrides that are given for one of these names."""
        found = LocatedDict()
        for name in _each_once(names):
            if name in self.by_name:
                self.used.add(name)
                found = merge(found, self.by_name[name])
        return found

    def check_used(self, names: Iterable[str]) -> None:
        """ConfigError where an override names nothing that was loaded. names: what was loaded, for the suggestion."""
        for name in self.by_name:
            if name not in self.used:
                what = f"an override names {name!r}, but this run has no task or group of that name."
                raise ConfigError(what, hint=did_you_mean(name, names))


def _each_once(names: Iterable[str]) -> list[str]:
    """Names without doubles, each at its last place: the most specific one is last."""
    return list(dict.fromkeys(reversed([*names])))[::-1]


def without_shown_shots(config: LocatedDict, overrides: Mapping[str, object]) -> LocatedDict:
    """A config without `metadata.num_fewshot` (the n-shot to show), if the overrides set another num_fewshot."""
    metadata = config.get("metadata")
    if "num_fewshot" not in overrides or not isinstance(metadata, Mapping) or "num_fewshot" not in metadata:
        return config
    left = LocatedDict(config)
    left.put("metadata", without(metadata, ["num_fewshot"]), config.places.get("metadata", NOWHERE))
    return left


def _only(mapping: LocatedDict, keys: Iterable[str]) -> LocatedDict:
    """A copy with these keys alone."""
    return without(mapping, mapping.keys() - {*keys})


def _about(stated: LocatedDict) -> LocatedDict:
    """The keys that are about the node itself and not about its members."""
    return _only(stated, ABOUT_A_GROUP)


def _of_group(about: LocatedDict) -> LocatedDict:
    """Keys about a group as its own config has them: a `task_alias` that is stated for a group is its `group_alias`."""
    own = _about(about)
    if "task_alias" in own:
        own.put("group_alias", own["task_alias"], own.places.get("task_alias", NOWHERE))
    return without(own, ["task_alias"])


def _task_config(
    config: LocatedDict, at_run_time: LocatedDict, file: Path | None, path: str, format_asked: str | None
) -> TaskConfig:
    merged = merge(without_shown_shots(config, at_run_time), at_run_time)
    return TaskConfig.from_mapping(merged, file=file, path=path, format_asked=format_asked)


def fault_of_python(config: TaskConfig) -> ConfigError | None:
    """Why a task can't be asked with `@python`; None where it can. config: of the task without it."""
    if config.output_type != "generate_until":
        what = f"{config.name!r} is scored by log-likelihoods, and code runs between generated answers only."
        base = config.path.rpartition("::")[2].partition("@")[0]
        return ConfigError(what, where=config.where("output_type"), hint=f"Ask {base}@generate{schema.WITH_PYTHON}.")
    if config.rounds is not None:
        what = f"{config.name!r} makes its own turns (`rounds`), to which no tool can be added."
        return ConfigError(what, where=config.where("rounds"))
    return None


def _faulty(node: Node) -> Iterator[TaskNode]:
    """The tasks of a node that can't be asked as requested."""
    for each in (node, *descendants(node)):
        if isinstance(each, TaskNode) and each.fault is not None:
            yield each


def _why(nodes: Iterable[Node]) -> str:
    """Why these can't be asked with `@python`, in a few words."""
    faults = [each.fault for node in nodes for each in _faulty(node) if each.fault is not None]
    scored = sum(bool(fault.hint) for fault in faults)
    said = ["log-likelihoods score them"] if scored else []
    said += ["they make their own turns (`rounds`)"] if scored < len(faults) else []
    return " or ".join(said)


def _fault_of_all(faulty: Sequence[TaskNode], spec: str) -> ConfigError:
    """One error for all tasks of a spec that can't be asked with `@python`. spec: as the user wrote it."""
    faults = {each.config.name: each.fault for each in faulty if each.fault is not None}
    first = next(iter(faults.values()))
    if len(faults) == 1:
        return first
    name = schema.split_python(spec)[0]
    what = f"{name!r} has {counted(len(faults), 'task')} to which no tool can be added, since {_why(faulty)}: "
    what += f"{listed(faults, 6)}."
    hint = next((fault.hint for fault in faults.values() if fault.hint), "")
    if all(fault.hint for fault in faults.values()) and not schema.split_format(name)[1]:
        hint = f"{hint.removesuffix('.')}, or {name}@generate{schema.WITH_PYTHON} for all of them."
    return ConfigError(what, where=first.where, hint=hint)


def _group_config(
    config: LocatedDict, about: LocatedDict, at_run_time: LocatedDict, file: Path | None, path: str
) -> GroupConfig:
    merged = merge(without_shown_shots(merge(config, _of_group(about)), at_run_time), _of_group(at_run_time))
    merged.of_lmms_eval = config.of_lmms_eval  # not as what other groups state for it
    return GroupConfig.from_mapping(merged, file=file, path=path)


def _weighted(node: GroupNode) -> GroupNode:
    """The group, with another suite's default weights if it is one of that suite's."""
    node.config = with_default_weights(node)
    return node


def _restated(node: Node, about: LocatedDict, at_run_time: LocatedDict) -> Node:
    """A copy of a node with further keys about itself. Overrides at run time, also those that it has, stay over them."""
    at_run_time = merge(at_run_time, node.at_run_time)
    if isinstance(node, TaskNode):
        task, merged = node.config, merge(node.config.source, about)
        made = _task_config(merged, at_run_time, task.file, task.path, task.format_asked)
        return TaskNode(made, overridden=True, at_run_time=at_run_time, fault=node.fault)
    group = _group_config(node.config.source, about, at_run_time, node.config.file, node.config.path)
    return _weighted(GroupNode(group, node.children, overridden=True, at_run_time=at_run_time))


class Expander:
    """Turns specs into trees of tasks and groups.

    faults: if given, specs and members with errors are left out, and (requested spec, error) is appended here.
    notes: the aliases that were used, in order.
    """

    def __init__(
        self,
        entries: Mapping[str, Entry],
        runtime: RuntimeOverrides,
        faults: list[tuple[str, ConfigError]] | None = None,
        python: bool = False,
    ) -> None:
        self.entries, self.runtime, self.faults = entries, runtime, faults
        self._outside = Scope(python=python)
        self.inline_paths = inline_paths(entries)
        self.notes: dict[str, None] = {}
        self._requested = ""
        self._files: dict[Path, LocatedDict] = {}
        self._times_opened: Counter[Path] = Counter()
        self._opened: dict[tuple[str, str | None, bool], list[Node]] = {}

    # ------------------------------------------------------------------ specs

    def requested(self, spec: str | Mapping[str, object] | Path) -> list[Node]:
        """The tasks and groups of one spec of a user."""
        self._times_opened.clear()
        self._requested = str(spec)
        try:
            nodes = self.spec(spec, self._outside)
            if faulty := [each for node in nodes for each in _faulty(node)]:
                raise _fault_of_all(faulty, str(spec))
            return nodes
        except ConfigError as error:
            if self.faults is None:
                raise
            self.faults.append((self._requested, error))
            return []

    def _open_member(self, open_one: Callable[[], list[Node]]) -> list[Node]:
        """The nodes of one of several members; none if it has an error and faults are collected."""
        try:
            return open_one()
        except ConfigError as error:
            if self.faults is None or isinstance(error, Unbounded):
                raise
            self.faults.append((self._requested, error))
            return []

    def spec(self, spec: str | Mapping[str, object] | Path, scope: Scope) -> list[Node]:
        """The tasks and groups of a spec: a name, a path `a::b`, a glob, a file, `name@format`, or a config."""
        if isinstance(spec, Mapping):
            return self.member(config_of(spec), scope, outside=True)
        text = str(spec)
        if isinstance(spec, Path) or self._is_file(text):
            return [self.file(Path(text).expanduser().absolute(), scope)]
        scope = replace(scope, names=(*scope.names, text))
        if "::" in text and "@" in text and (found := self._walk(text.split("::"), scope, optional=True)):
            return found  # a member that is written with this format in its group
        text, python = schema.split_python(text)
        name, requested = schema.split_format(text)
        plain, is_first = schema.split_python(name)
        if requested and is_first:
            what = f"{schema.WITH_PYTHON} comes after the format in a name."
            raise InvalidValue(what, where=scope.where, hint=f"Ask {plain}@{requested}{schema.WITH_PYTHON}.")
        if requested or python:
            format_, names = scope.format or requested, dict.fromkeys((*scope.names, text, name))
            scope = replace(scope, format=format_, python=scope.python or python, names=tuple(names))
            if self._is_file(name):
                return [self.file(Path(name).expanduser().absolute(), scope)]
        if requested and "@" in name and name not in self.entries:
            hint = did_you_mean(requested, [schema.WITH_PYTHON.removeprefix("@")])
            raise InvalidValue(f"{name!r} has a format, and {requested!r} is no tool.", where=scope.where, hint=hint)
        if "::" in name:
            nodes = self._walk(name.split("::"), scope)
            return self._askable(nodes, text, scope) if _is_glob(name) else nodes
        if _is_glob(name):
            return self._glob(name, text, scope)
        entry = self.entries.get(name)
        nodes = self._named(name, scope)
        return self._askable(nodes, text, scope) if entry is not None and entry.kind == "tag" else nodes

    def _askable(self, nodes: list[Node], spec: str, scope: Scope) -> list[Node]:
        """The nodes of a glob or tag that can be asked as requested: with `@python` not all can, and a note names the others.

        A group is left out as a whole, since its number would be of other tasks than its name says. For the same reason nothing
        is left out within a group, nor where nothing would be left: then it is an error.
        """
        left_out = [node for node in nodes if any(_faulty(node))]
        if scope.path or not left_out or len(left_out) == len(nodes):
            return nodes
        names = dict.fromkeys(node.config.name for node in left_out)
        are = "is" if len(names) == 1 else "are"
        said = f"{spec}{schema.WITH_PYTHON}: {listed(names, 10)} {are} left out, since {_why(left_out)}"
        self.notes[said] = None
        return [node for node in nodes if not any(_faulty(node))]

    def _is_file(self, text: str) -> bool:
        entry = self.entries.get(text)
        is_yaml = text.endswith((".yaml", ".yml")) and (entry is None or entry.kind == "replaced")
        return is_yaml and os.path.isfile(os.path.expanduser(text))

    def _glob(self, pattern: str, spec: str, scope: Scope) -> list[Node]:
        """Groups and tasks that match, tasks of a matching group only within it; tags where nothing else matches.

        spec: the pattern with its format.
        """
        found = sorted((e for e in self.entries.values() if fnmatch.fnmatchcase(e.name, pattern)), key=lambda e: e.name)
        broken = [e for e in found if e.kind == "broken"]
        if broken and self.faults is None:
            log.warning("%r skips entries with errors: %s", pattern, ", ".join(e.name for e in broken))
        chosen = [e for e in found if e.kind in ("task", "group")] or [e for e in found if e.kind == "tag"]
        chosen += broken if self.faults is not None else []
        if not chosen:
            hint = did_you_mean(pattern.strip("*?"), [*self.entries, *self.inline_paths])
            raise InvalidValue(f"no task or group matches {pattern!r}.", where=scope.where, hint=hint)
        nodes = [node for e in chosen for node in self._open_member(partial(self._named, e.name, scope))]
        nodes = self._askable(nodes, spec, scope)
        within = {below.config.name for node in nodes for below in descendants(node)}
        return [node for node in nodes if node.config.name not in within]

    def _named(self, name: str, scope: Scope) -> list[Node]:
        entry = self.entries.get(name)
        if entry is None:
            if name in scope.inline:
                return self._inline(name, scope)
            if len(paths := self.inline_paths.get(name, [])) == 1:
                return self._walk(paths[0].split("::"), scope)
            if not paths and (nodes := self._of_others(name, scope)):
                return nodes
            raise self._unknown(name, scope)
        if error := entry_error(entry) or self._clash_of_aliases(entry):
            raise error
        if entry.kind == "alias":
            self.notes[f"{name} is another name of {entry.members[0]}"] = None
            return self.spec(entry.members[0], scope)
        scope = replace(scope, names=(*scope.names, name))
        if entry.kind == "tag":
            return [node for name in entry.members for node in self._open_member(partial(self.spec, name, scope))]
        assert entry.file is not None
        return [self.file(entry.file, scope)]

    def _inline(self, name: str, scope: Scope) -> list[Node]:
        """A task or group that a group around defines, as a member of this one, too."""
        if name in scope.open_inline:
            circle = " -> ".join((*scope.open_inline[scope.open_inline.index(name) :], name))
            raise ConfigError(f"a group is a member of itself: {circle}.", where=scope.where)
        definition, file = scope.inline[name]
        stated, scope = scope.overrides, replace(scope, open_inline=(*scope.open_inline, name), overrides=LocatedDict())
        own = merge(definition, without(stated, ["task", "group"]))
        if "group" in definition:
            return [self.group(definition, file, replace(scope, overrides=stated))]
        return self.member(own, scope, outside=False, file=file)

    def _of_others(self, name: str, scope: Scope) -> list[Node]:
        """The nodes of a name that another program uses; none where none does."""
        from mm_eval.aliases.names import find

        try:
            found = find(name, self.entries)
        except ConfigError as error:
            raise ConfigError(error.what, where=scope.where, hint=error.hint) from error
        if found is not None:
            ours = found.ours.split(",")
            self.notes[f"{name} is {', '.join(ours)} here{found.note and f': {found.note}'}"] = None
            return [node for each in ours for node in self._open_member(partial(self.spec, each, scope))]
        return []

    def _clash_of_aliases(self, entry: Entry) -> ConfigError | None:
        """The error of an alias of this entry that another file declares, too."""
        found = (self.entries[alias] for alias, _ in entry.aliases if alias in self.entries)
        clashes = (entry_error(other) for other in found if entry.file in (other.file, *other.rivals))
        return next((error for error in clashes if error), None)

    def _unknown(self, name: str, scope: Scope) -> ConfigError:
        if name.endswith((".yaml", ".yml")):
            return ConfigError(f"there is no file {name!r}.", where=scope.where)
        inline = self.inline_paths.get(name, [])
        hint = (
            "Say " + " or ".join(map(repr, inline)) + "."
            if inline
            else did_you_mean(name, [*self.entries, *self.inline_paths])
        )
        return InvalidValue(f"unknown task, group or tag {name!r}.", where=scope.where, hint=hint)

    def _walk(self, parts: list[str], scope: Scope, *, optional: bool = False) -> list[Node]:
        """The members that a path names. Each part is a name or a glob among the members of the part before it; if none
        of those match, among all tasks and groups below them: "mmlu::mmlu_anatomy" for "mmlu::mmlu_stem::mmlu_anatomy". The
        path by which results name a node is always understood, also where it goes through a group that is not a member itself.
        optional: a missing member gives an empty list, not an error.
        """
        nodes = self._roots(parts[0], scope.on_the_way())
        if whole := _of_path(scope.below("::".join(parts)), nodes):
            return self._with_keys_about_them(whole, scope)
        for depth, part in enumerate(parts[1:], 1):
            outer = "::".join(parts[:depth])
            groups = [node for node in nodes if isinstance(node, GroupNode)]
            if not groups:
                raise ConfigError(f"{outer!r} is not a group, so it has no member {part!r}.", where=scope.where)
            nodes = members_named(groups, part)
            if not nodes:
                if optional:
                    return []
                below = [child.config.name for group in groups for child in descendants(group)]
                hint = did_you_mean(part, below)
                raise ConfigError(f"{outer!r} has no member {part!r}.", where=scope.where, hint=hint)
            if len({node.path for node in nodes}) > 1 and not _is_glob(part) and not _is_glob(outer):
                named = " or ".join(repr(node.path) for node in nodes)
                raise ConfigError(f"{outer!r} has several members {part!r}.", where=scope.where, hint=f"Say {named}.")
        return self._with_keys_about_them(nodes, scope)

    def _with_keys_about_them(self, nodes: list[Node], scope: Scope) -> list[Node]:
        """The nodes at the end of a path, with the keys of its scope that were held back from the groups on the way."""
        stated, at_run_time = _about(scope.overrides), _about(self.runtime.about(scope.names))
        return [_restated(node, stated, at_run_time) for node in nodes] if stated or at_run_time else nodes

    def _roots(self, name: str, scope: Scope) -> list[Node]:
        """The nodes of the first part of a path; opened once for all paths that are requested outside of a group."""
        if scope.group_names or scope.overrides or self.runtime.by_name:
            return self.spec(name, scope)
        key = (name, scope.format, scope.python)
        if key not in self._opened:
            self._opened[key] = self.spec(name, scope)
        return self._opened[key]

    # ---------------------------------------------------------------- members

    def file(self, path: Path, scope: Scope) -> Node:
        """The task or group that a YAML file defines."""
        from mm_eval.config.yaml import load_for_use

        self._times_opened[path] += 1
        if self._times_opened[path] > MAX_OPENED:
            what = f"the groups around {shown_path(path)} list it more than {MAX_OPENED:,} times."
            raise Unbounded(what, where=scope.where, hint="List each member once.")
        if path not in self._files:
            self._files[path] = load_for_use(path)
        config = self._files[path]
        if schema.is_group(config):
            if path in scope.open_files:
                circle = [*scope.open_files[scope.open_files.index(path) :], path]
                names = " -> ".join(str(self._files[file]["group"]) for file in circle)
                raise ConfigError(f"a group is a member of itself: {names}.", where=scope.where)
            return self.group(config, path, replace(scope, open_files=(*scope.open_files, path)))
        if isinstance(config.get("task"), list):
            raise ConfigError("a list under `task` needs a `group` beside it.", where=config.where("task"))
        if (fault := schema.fault_of_name(config, "task")) is not None:
            raise fault
        if config.get("task") is None:
            what = "the file defines no task: it has no `task` key."
            raise ConfigError(what, where=scope.where or str(config.place))
        return self.task(config, path, scope)

    def task(self, config: LocatedDict, path: Path | None, scope: Scope) -> TaskNode:
        """A task: its own keys, which are canonical, over the defaults and under the overrides of its scope."""
        name, named_format = schema.split_format(str(config.get("task") or ""))
        requested = scope.format or named_format
        python = scope.python or schema.split_python(str(config.get("task") or ""))[1]
        identity = scope.below(name) + (f"@{requested}" if requested else "") + (schema.WITH_PYTHON if python else "")
        names = (*scope.names, name, scope.below(name), identity)
        merged = merge(merge(scope.defaults, config), scope.overrides)
        merged.put("task", name, config.places.get("task", config.place))
        runtime = without(self.runtime.of(scope.group_names, names), ["task"])
        if python:
            plain = _task_config(merged, runtime, path, identity, requested)
            if fault := fault_of_python(plain):
                if self.faults is not None:
                    raise fault
                return TaskNode(plain, at_run_time=runtime, fault=fault)
            places = config.places
            merged.put("tools", with_python(merged.get("tools")), places.get("tools", config.place))
            options = answers_with_code(merged.get("generation_kwargs"))
            merged.put("generation_kwargs", options, places.get("generation_kwargs", config.place))
        made = _task_config(merged, runtime, path, identity, requested)
        overridden = bool(scope.overrides or self.runtime.about((*scope.group_names, *names)))
        return TaskNode(made, overridden, at_run_time=runtime)

    def group(self, config: LocatedDict, path: Path | None, scope: Scope) -> GroupNode:
        """A group, whose keys are canonical, with its members."""
        name = str(config.get("group"))
        full = scope.below(name)
        if full.count("::") >= MAX_NESTED:
            what = f"more than {MAX_NESTED} groups are nested in each other."
            raise Unbounded(what, where=scope.where or config.where("group"))
        names = (*scope.names, name, full)
        about_it = self.runtime.about(names)
        runtime = merge(_only(self.runtime.of(scope.group_names, names), ["num_fewshot"]), _about(about_it))
        identity = full + (f"@{scope.format}" if scope.format else "") + (schema.WITH_PYTHON if scope.python else "")
        made = _group_config(config, _about(scope.overrides), runtime, path, identity)
        defaults = scope.defaults
        if made.include is not None:
            included = self._keys_of_includes(made.source, made.file)
            schema.check_keys(included, TASK_KEYS, f"the include of group {made.name!r}")
            defaults = merge(defaults, included)
        inner = replace(
            scope,
            path=full,
            group_names=(*scope.group_names, *names),
            names=(),
            defaults=defaults,
            overrides=without(scope.overrides, ABOUT_A_GROUP),
            for_members=merge(scope.for_members, made.overrides),
        )
        inner = replace(inner, inline={**scope.inline, **self._defined(made, path)})
        node = GroupNode(made, overridden=bool(scope.overrides or about_it), at_run_time=runtime)
        for index, member in enumerate(made.members):
            where = made.where_member(index)
            at = replace(inner, where=where)
            if isinstance(member, Mapping):
                open_one = partial(self.member, located(member), at, outside=False, file=path)
            else:
                open_one = partial(self.spec, str(member), at.for_reference(LocatedDict()))
            node.children += self._open_member(open_one)
        return _weighted(node)

    def member(self, member: LocatedDict, scope: Scope, *, outside: bool, file: Path | None = None) -> list[Node]:
        """A mapping among a group's members, or given in Python: a reference with overrides, or a definition.

        outside: it was given in Python, not in a group.
        """
        member = schema.canonical_keys(member)
        key = "group" if "group" in member and (schema.is_group(member) or "task" not in member) else "task"
        name = member.get(key)
        where = scope.where or member.where(key)
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a member needs a name under `task` or `group` (got {name!r:.60}).", where=where)
        scope = replace(scope, where=where)
        if key == "group" and "task" in member:
            return [self.group(member, file, scope)]
        base = schema.split_format(name)[0] or name
        defines = schema.defines_task(member)
        known = base in self.inline_paths or base in scope.inline
        if base in self.entries or "::" in base or known and not defines:
            stated = without(member, [key])
            schema.check_keys(without(stated, ["class"]), GROUP_KEYS, f"the overrides of {base!r}")
            return self.spec(name, scope.for_reference(stated))
        if key == "task" and defines:
            below = self._keys_of_includes(member, file) if "include" in member else LocatedDict()
            own = merge(merge(scope.for_members, below), without(member, ["include"]))
            return [self.task(own, file, replace(scope, for_members=LocatedDict()))]
        error = self._unknown(base, scope)
        if outside:
            error.hint = f"{error.hint} A config of your own needs dataset_path."
        raise error

    @staticmethod
    def _defined(group: GroupConfig, file: Path | None) -> dict[str, tuple[LocatedDict, Path | None]]:
        """The tasks and groups that a group defines among its members, by name."""
        found = dict[str, tuple[LocatedDict, Path | None]]()
        for stated in group.members:
            if not isinstance(stated, Mapping):
                continue
            member = schema.canonical_keys(located(stated))
            is_group = "group" in member and "task" in member
            name = member.get("group" if is_group else "task")
            if isinstance(name, str) and (is_group or schema.defines_task(member)):
                found[schema.split_format(name)[0] or name] = (member, file)
        return found

    @staticmethod
    def _keys_of_includes(stated: LocatedDict, file: Path | None) -> LocatedDict:
        """The keys of the files that `include` names, or of the mapping under it."""
        from mm_eval.config.yaml import defaults_in, include_paths

        if isinstance(stated["include"], Mapping):
            return schema.canonical_keys(located(stated["include"]))
        merged = LocatedDict()
        for path in include_paths(stated, file.parent if file else Path.cwd()):
            merged = merge(merged, defaults_in(path))
        return merged


def _of_path(path: str, roots: list[Node]) -> list[Node]:
    """The nodes below these whose path this is, with the format that it names, else with any."""
    below = [node for root in roots for node in descendants(root)]
    exact = [node for node in below if node.path == path]
    return exact or [node for node in below if schema.split_format(node.path)[0] == path]


def _is_glob(text: str) -> bool:
    return any(sign in text for sign in "*?[")
