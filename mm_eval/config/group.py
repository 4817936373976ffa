"""Groups: the checked config of one with its metrics, and the tree of its members.

`leaves_of` lists the tasks below a group; a tree is built in `expand`.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.config import schema
from mm_eval.config.foreign_code import ForeignCode
from mm_eval.config.located import LocatedDict, located, shown_path, where_item, without
from mm_eval.config.task_config import TASK_KEYS, TaskConfig
from mm_eval.config.values import resolve, to_json
from mm_eval.values.errors import ConfigError, check_all, did_you_mean
from mm_eval.values.types import MetricKey, Options

GROUP_KEYS = {**TASK_KEYS, **schema.GROUP_ONLY_KEYS}
"""The keys of group files: those of tasks are stated for all members."""


@dataclass(frozen=True)
class MemberMetric:
    """What one member adds to an average of unlike metrics: its number under `key`, times `scale`."""

    member: str
    key: MetricKey
    scale: float = 1.0


@dataclass(frozen=True)
class GroupMetric:
    """An entry of `aggregate_metric_list`: one number of a group.

    metric: a metric of the members. "exact_match" also means "pass@1(exact_match)" and the like where repeats were reduced.
    aggregation: "mean", another registered name, or a function of the members' values, which may also take their sizes and
        weight_by_size.
    weight_by_size: each doc counts once (micro), else each task (macro).
    filter_list: the filter pipelines to aggregate; None: all that have the metric.
    of: for a mean of unlike metrics, which number of each direct member counts; `metric` is then the name of that mean.
    where: file:line.
    """

    metric: str
    aggregation: str | Callable[..., float] = "mean"
    weight_by_size: bool = True
    filter_list: tuple[str, ...] | None = None
    higher_is_better: bool | None = None
    of: tuple[MemberMetric, ...] = ()
    where: str = field(default="", compare=False)

    @property
    def key(self) -> MetricKey:
        """The key of a mean of unlike metrics."""
        return MetricKey(self.metric, "none")

    @classmethod
    def from_dict(cls, entry: Mapping[str, object], where: str = "") -> GroupMetric:
        """An entry of a group's YAML; ConfigError on an unknown key or a wrong type."""
        entry = located(entry)
        schema.check_keys(entry, schema.AGGREGATE_KEYS, "aggregate_metric_list")
        given = {key: value for key, value in entry.items() if value is not None}
        if "metric" not in given:
            raise ConfigError("each entry of aggregate_metric_list needs a `metric`.", where=where)
        if "filter_list" in given:
            given["filter_list"] = tuple(schema.texts(given["filter_list"]))
        if "of" in given:
            given["of"] = _parts(given, where)
            given.setdefault("higher_is_better", True)
        return cls(**given, where=where)


def _parts(entry: Mapping[str, Any], where: str) -> tuple[MemberMetric, ...]:
    """The parts of a mean of unlike metrics: `of: {task: metric}` or `of: {task: {metric: ..., scale: ...}}`."""
    if unread := sorted({"aggregation", "weight_by_size", "filter_list"} & entry.keys()):
        hint = "A pipeline is named in `of`, as in `gsm8k: exact_match,strict-match`."
        raise ConfigError(
            f"`of` is a mean over members, so {unread[0]!r} has no meaning beside it.", where=where, hint=hint
        )
    parts = []
    for member, stated in entry["of"].items():
        wanted = located(
            {"metric": stated} if isinstance(stated, str) else stated if isinstance(stated, Mapping) else {}
        )
        schema.check_keys(wanted, schema.PART_KEYS, f"the part {member!r} of {entry['metric']!r}")
        if wanted.get("metric") is None:
            hint = "Write `task: metric` or `task: {metric: name, scale: 0.001}`."
            raise ConfigError(f"`of` states {stated!r} for {member!r}.", where=where, hint=hint)
        scale = wanted.get("scale")
        key = MetricKey.parse(wanted["metric"]) or MetricKey(wanted["metric"], "none")
        parts.append(MemberMetric(str(member), key, 1.0 if scale is None else float(scale)))
    return tuple(parts)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupConfig:
    """One group.

    name: the short name. path: the identity, with the groups around it. members: the entries of `task`, as written.
    overrides: task keys that the group states for all of its members. include: their defaults, a mapping or file names.
    note: a remark that is shown beside its numbers.
    """

    name: str
    path: str
    source: LocatedDict = field(repr=False)
    file: Path | None = None
    members: list[Any] = field(default_factory=list)
    aggregate_metric_list: tuple[GroupMetric, ...] = ()
    tag: tuple[str, ...] = ()
    include: object = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    overrides: LocatedDict = field(default_factory=LocatedDict, repr=False)
    note: str = ""

    @classmethod
    def from_mapping(cls, config: Options, *, file: Path | None = None, path: str | None = None) -> GroupConfig:
        """A checked group; ConfigError with file:line on an unknown key, a wrong type or a missing function."""
        source = schema.canonical_keys(located(config))
        name = source.get("group")
        if (fault := schema.fault_of_name(source, "group")) is not None:
            raise fault
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a group needs a name under `group` (got {name!r}).", where=source.where("group"))
        stated = {k: v for k, v in source.items() if k not in ("task", "include")}
        checks = [reference.check for reference in schema.functions_in(stated)]
        check_all([lambda: schema.check_keys(source, GROUP_KEYS, f"group {name!r}"), *checks])
        members = source.get("task")
        if not members:
            raise ConfigError(f"group {name!r} has no members under `task`.", where=source.where("task"))
        return cls(
            name=name,
            path=path or name,
            source=source,
            file=file,
            members=[members] if isinstance(members, str) else members,
            aggregate_metric_list=_aggregates(source),
            tag=tuple(schema.texts(source.get("tag"))),
            include=source.get("include"),
            metadata=schema.one_mapping(source.get("metadata")),
            overrides=without(source, [*schema.GROUP_ONLY_KEYS, "task_alias"]),
        )

    @property
    def group(self) -> str:
        """The short name, as lm-eval calls it."""
        return self.name

    @property
    def aliases(self) -> list[str]:
        """Its other names."""
        return schema.texts(self.source.get("aliases"))

    @property
    def version(self) -> object:
        """`metadata.version`, None where there is none."""
        return self.metadata.get("version")

    @property
    def shown_num_fewshot(self) -> int | None:
        """`metadata.num_fewshot`, the n-shot to show for the group; None: the n-shot that its members share."""
        return self.metadata.get("num_fewshot")

    @property
    def file_name(self) -> str:
        """The YAML file, relative to the working directory where possible."""
        return shown_path(self.file) if self.file else "a config without a file"

    def where(self, key: str) -> str:
        """`file:line` of a key, or of the group where the key isn't written."""
        return self.source.where(key if key in self.source else "group")

    def where_member(self, index: int) -> str:
        """`file:line` of a member."""
        return where_item(self.source["task"], index, self.where("task"))

    def resolved(self, code: ForeignCode) -> GroupConfig:
        """The same config with its aggregation functions imported. code: what runs those that can't run in this process."""
        found = tuple(
            replace(entry, aggregation=resolve(entry.aggregation, code)) for entry in self.aggregate_metric_list
        )
        return replace(self, aggregate_metric_list=found)

    @property
    def unweighted(self) -> tuple[GroupMetric, ...]:
        """The numbers for which the file states no `weight_by_size`."""
        entries = _aggregate_entries(self.source)
        pairs = zip(self.aggregate_metric_list, entries, strict=True)
        return tuple(metric for metric, entry in pairs if entry.get("weight_by_size") is None and not metric.of)

    def to_json(self) -> dict[str, object]:
        """The group for results.json: the keys as written, members in full, functions by name."""
        stated: dict[str, object] = to_json({k: v for k, v in self.source.items() if v is not None})
        return {**stated, "group": self.name}


def leaves_of(name: str, group_map: Mapping[str, Sequence[str]]) -> list[str]:
    """The tasks below a group, in order: one entry per place, so a task with two places is listed twice.

    group_map: the direct members of each group. A name that is not in it is a task, and its own only leaf.
    """
    if name not in group_map:
        return [name]
    return [leaf for member in group_map[name] for leaf in leaves_of(member, group_map)]


def _aggregate_entries(source: LocatedDict) -> list[Mapping[str, object]]:
    """The entries of `aggregate_metric_list` as written; a single mapping is a list of one."""
    stated = source.get("aggregate_metric_list")
    return [stated] if isinstance(stated, Mapping) else stated or []


def _aggregates(source: LocatedDict) -> tuple[GroupMetric, ...]:
    made: list[GroupMetric] = []
    for index, entry in enumerate(_aggregate_entries(source)):
        where = where_item(source["aggregate_metric_list"], index, source.where("aggregate_metric_list"))
        metric = GroupMetric.from_dict(entry, where)
        names = _member_names(source)
        if unknown := [part.member for part in metric.of if None not in names and part.member not in names]:
            what = f"{metric.metric!r} is a mean of {unknown[0]!r}, which is not a member of the group."
            raise ConfigError(what, where=where, hint=did_you_mean(unknown[0], map(str, names)))
        for other in made:
            every = metric.filter_list is None or other.filter_list is None
            shared = every or set(metric.filter_list or ()) & set(other.filter_list or ())
            if metric.metric == other.metric and shared:
                what = f"aggregate_metric_list has {metric.metric!r} twice for the same pipelines."
                raise ConfigError(what, where=where)
        made.append(metric)
    return tuple(made)


def _member_names(source: LocatedDict) -> set[str | None]:
    """The names of a group's members; with None among them where a glob or tag may stand for others."""
    stated = source.get("task") or []
    entries = [stated] if isinstance(stated, str) else stated
    named = [(e,) if isinstance(e, str) else (e.get("task"), e.get("group")) for e in entries]
    names = [next((name for name in pair if isinstance(name, str)), None) for pair in named]
    return {None if name is None or "*" in name else name for name in names}


# ---------------------------------------------------------------- trees


@dataclass
class TaskNode:
    """A task at one place in a tree.

    overridden: whether something there overrides its file. at_run_time: the overrides of the run that it has.
    fault: why it can't be asked as it is requested, which is an error only where this member of its group is chosen.
    """

    config: TaskConfig
    overridden: bool = False
    at_run_time: LocatedDict = field(default_factory=LocatedDict)
    fault: ConfigError | None = None

    @property
    def path(self) -> str:
        return self.config.path


@dataclass
class GroupNode:
    """A group at one place in a tree, with its members in the YAML's order. Other fields: as of TaskNode."""

    config: GroupConfig
    children: list[Node] = field(default_factory=list)
    overridden: bool = False
    at_run_time: LocatedDict = field(default_factory=LocatedDict)

    @property
    def path(self) -> str:
        return self.config.path


Node = TaskNode | GroupNode


def descendants(node: Node) -> Iterator[Node]:
    """The tasks and groups strictly below a node."""
    for child in node.children if isinstance(node, GroupNode) else ():
        yield child
        yield from descendants(child)


def members_named(groups: list[GroupNode], part: str) -> list[Node]:
    """The direct members that match one part of a path; if there are none, those further below that do."""
    direct = [child for group in groups for child in group.children if _matches(child, part)]
    return direct or [child for group in groups for child in descendants(group) if _matches(child, part)]


def _matches(node: Node, part: str) -> bool:
    own = (node.config.name, node.config.path.rpartition("::")[2])
    return any(fnmatch.fnmatchcase(name, part) for name in own) or part in (*own, *schema.texts(node.config.aliases))
