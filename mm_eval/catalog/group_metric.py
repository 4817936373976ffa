"""An entry of a group's `aggregate_metric_list`: which numbers of its members become one number of the group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mm_eval.catalog import schema
from mm_eval.catalog.located import located
from mm_eval.errors import ConfigError
from mm_eval.types import MetricKey


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
    def from_dict(cls, entry: Mapping[str, Any], where: str = "") -> GroupMetric:
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
