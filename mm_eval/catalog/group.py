"""What a group file says, checked: its members, and which of their numbers are put together how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.catalog import schema
from mm_eval.catalog.config import resolve, to_json
from mm_eval.catalog.located import LocatedDict, located, shown_path, where_item, without
from mm_eval.errors import ConfigError, collected, raise_all


@dataclass(frozen=True)
class AggregateMetric:
    """One number of a group: a metric of its members, put together.

    aggregation: "mean", another registered name, or a function of the members' values.
    weight_by_size: each doc counts once (micro), else each member (macro).
    filter_list: the filter pipelines that are meant; None: all that have the metric.
    where: file:line.
    """

    metric: str
    aggregation: Any = "mean"
    weight_by_size: bool = True
    filter_list: tuple[str, ...] | None = None
    higher_is_better: bool | None = None
    where: str = field(default="", compare=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupConfig:
    """One group.

    name: the short name. path: the identity, with the groups around it. members: the entries of `task`, as written.
    overrides: task keys that the group states for all of its members; defaults: what they have where they state nothing
    (`include`), a mapping, or the names of files.
    note: what a reader of its numbers must know.
    """

    name: str
    path: str
    source: LocatedDict = field(repr=False)
    file: Path | None = None
    group_alias: str | None = None
    members: list[Any] = field(default_factory=list)
    aggregate_metric_list: tuple[AggregateMetric, ...] = ()
    tag: tuple[str, ...] = ()
    include: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    overrides: LocatedDict = field(default_factory=LocatedDict, repr=False)
    note: str = ""

    @classmethod
    def from_mapping(
        cls, config: Mapping[str, Any], *, file: Path | None = None, path: str | None = None
    ) -> GroupConfig:
        """A checked group; ConfigError with file:line on an unknown key, a wrong type or a missing function."""
        source = schema.canonical_keys(located(config))
        name = source.get("group")
        if not isinstance(name, str) or not name:
            raise ConfigError(f"a group needs a name under `group`, not {name!r}.", where=source.where("group"))
        rules = {**schema.TASK_KEYS, **schema.GROUP_ONLY_KEYS}
        stated = {k: v for k, v in source.items() if k not in ("task", "include")}
        checks = [reference.check for reference in schema.functions_in(stated)]
        raise_all(collected([lambda: schema.check_keys(source, rules, f"group {name!r}"), *checks]))
        members = source.get("task")
        if not members:
            raise ConfigError(f"group {name!r} has no members under `task`.", where=source.where("task"))
        return cls(
            name=name,
            path=path or name,
            source=source,
            file=file,
            group_alias=source.get("group_alias") or source.get("task_alias"),
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
    def display_name(self) -> str:
        """The row's name in a table."""
        return self.group_alias or self.name

    @property
    def version(self) -> Any:
        """`metadata.version`, None where there is none."""
        return self.metadata.get("version")

    @property
    def shown_num_fewshot(self) -> int | None:
        """`metadata.num_fewshot`, the n-shot to show for the group; None: what its members have in common."""
        return self.metadata.get("num_fewshot")

    @property
    def file_name(self) -> str:
        """The YAML file as people read it."""
        return shown_path(self.file) if self.file else "a config without a file"

    def where(self, key: str) -> str:
        """`file:line` of a key, or of the group where the key isn't written."""
        return self.source.where(key if key in self.source else "group")

    def where_member(self, index: int) -> str:
        """`file:line` of a member."""
        return where_item(self.source["task"], index, self.where("task"))

    def resolved(self) -> GroupConfig:
        """The same with its aggregation functions imported."""
        found = tuple(replace(entry, aggregation=resolve(entry.aggregation)) for entry in self.aggregate_metric_list)
        return replace(self, aggregate_metric_list=found)

    @property
    def unweighted(self) -> tuple[AggregateMetric, ...]:
        """The numbers for which the file does not say whether each doc or each task counts once."""
        stated = self.source.get("aggregate_metric_list")
        entries = [stated] if isinstance(stated, Mapping) else stated or []
        pairs = zip(self.aggregate_metric_list, entries, strict=True)
        return tuple(metric for metric, entry in pairs if entry.get("weight_by_size") is None)

    def as_in_lmms_eval(self) -> GroupConfig:
        """The group with lmms-eval's default: where the file does not say, each task counts once, whatever its size."""
        silent = self.unweighted
        found = tuple(replace(m, weight_by_size=False) if m in silent else m for m in self.aggregate_metric_list)
        names = ", ".join(metric.metric for metric in silent if metric.aggregation == "mean")
        note = (
            f"{names}: the mean over tasks, each of which counts the same, as lmms-eval has it for its own groups; "
            "`weight_by_size: true` in the group's file gives the mean over docs."
        )
        return replace(self, aggregate_metric_list=found, note=note if names else "")

    def to_json(self) -> dict[str, Any]:
        """The group for results.json: what was written, members in full, functions by name."""
        stated: dict[str, Any] = to_json({k: v for k, v in self.source.items() if v is not None})
        return {**stated, "group": self.name}


def leaves_of(name: str, group_map: Mapping[str, Sequence[str]]) -> list[str]:
    """The tasks below a group, in order: one entry per place, so a task that stands there twice is listed twice.

    group_map: the direct members of each group. A name that is not in it is a task, and its own only leaf.
    """
    if name not in group_map:
        return [name]
    return [leaf for member in group_map[name] for leaf in leaves_of(member, group_map)]


def _aggregates(source: LocatedDict) -> tuple[AggregateMetric, ...]:
    stated = source.get("aggregate_metric_list")
    entries = [stated] if isinstance(stated, Mapping) else stated or []
    made: list[AggregateMetric] = []
    for index, entry in enumerate(entries):
        where = where_item(stated, index, source.where("aggregate_metric_list"))
        schema.check_keys(located(entry), schema.AGGREGATE_KEYS, "aggregate_metric_list")
        given = {key: value for key, value in entry.items() if value is not None}
        if "metric" not in given:
            raise ConfigError("each entry of aggregate_metric_list needs a `metric`.", where=where)
        if "filter_list" in given:
            given["filter_list"] = tuple(schema.texts(given["filter_list"]))
        entry = AggregateMetric(**given, where=where)
        if any(_overlap(entry, other) for other in made):
            raise ConfigError(f"aggregate_metric_list has {entry.metric!r} twice for the same pipelines.", where=where)
        made.append(entry)
    return tuple(made)


def _overlap(one: AggregateMetric, other: AggregateMetric) -> bool:
    """Whether two entries would give the same number."""
    every = one.filter_list is None or other.filter_list is None
    return one.metric == other.metric and (every or bool(set(one.filter_list or ()) & set(other.filter_list or ())))
