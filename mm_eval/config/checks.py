"""The checks of a task's single keys: its name, types, prompt blocks, and filter pipelines with their metrics."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from functools import partial
from typing import Any

from mm_eval.config.arguments import is_number
from mm_eval.config.categories import levels_of
from mm_eval.config.located import LocatedDict, located, where_item
from mm_eval.config.schema import (
    FEWSHOT_KEYS,
    MIRROR_KEYS,
    PIPELINE_KEYS,
    TEXTS,
    check_keys,
    is_function,
    is_mappings,
    texts,
)
from mm_eval.values.errors import ConfigError


def task_checks(source: LocatedDict, known: Container[str]) -> list[Callable[[], object]]:
    """Checks of the keys of a task that are more than a type; each raises ConfigError with what it finds.

    known: the keys of task files.
    """
    checks: list[Callable[[], object]] = [
        lambda: _check_generation_blocks(source),
        lambda: _check_prompt_blocks(source),
    ]
    if TEXTS.fits(aliases := source.get("aliases")):
        checks += [partial(check_name, alias, alias, source.where("aliases")) for alias in texts(aliases)]
    if isinstance(fewshot := source.get("fewshot_config"), Mapping):
        checks.append(lambda: check_keys(located(fewshot), FEWSHOT_KEYS, "fewshot_config", of_task=known))
    if all(source.get(key) is None or is_mappings(source[key]) for key in ("metric_list", "filter_list")):
        checks.append(lambda: _check_pipelines(source))
    if is_mappings(source.get("dataset_mirrors")):
        checks.append(lambda: _check_mirrors(source))
    if is_mappings(source.get("categories")):
        checks.append(lambda: levels_of(source["categories"], source.where("categories")))
    return checks


def _check_generation_blocks(source: LocatedDict) -> None:
    """Blocks for lmms-eval's own adapters are ignored; `default` is rejected, since it applies to every model."""
    key = "model_specific_generation_kwargs"
    blocks = source.get(key)
    if isinstance(blocks, Mapping) and blocks.get("default"):
        hint = "Write them under generation_kwargs."
        raise ConfigError(f"the `default` of {key} applies to every model.", where=source.where(key), hint=hint)


def _check_prompt_blocks(source: LocatedDict) -> None:
    blocks = source.get("model_specific_prompt_kwargs")
    blocks = located(blocks if isinstance(blocks, Mapping) else {})
    for name, block in blocks.items():
        if block is not None and not isinstance(block, Mapping):
            hint = "Each block is a mapping; keys for all models belong under `default:`."
            where = blocks.where(name)
            raise ConfigError(f"the prompt block {name!r} is {block!r:.60}.", where=where, hint=hint)


def _check_mirrors(source: LocatedDict) -> None:
    for index, mirror in enumerate(source["dataset_mirrors"]):
        where = where_item(source["dataset_mirrors"], index, source.where("dataset_mirrors"))
        check_keys(located(mirror), MIRROR_KEYS, "dataset_mirrors")
        if mirror.get("path") is None:
            raise ConfigError("each entry of dataset_mirrors needs a `path`, the id of the data set.", where=where)


def _check_pipelines(config: LocatedDict) -> None:
    """ConfigError on a metric_list or filter_list with a missing name, or with the same name twice."""
    check_metrics(config.get("metric_list"), config.where("metric_list"))
    names: set[str] = set()
    for index, pipeline in enumerate(config.get("filter_list") or ()):
        where = where_item(config["filter_list"], index, config.where("filter_list"))
        name = pipeline.get("name")
        if not isinstance(name, str) or not name:
            raise ConfigError(f"each entry of filter_list needs a text as its `name` (got {name!r}).", where=where)
        if name in names:
            raise ConfigError(f"two filter pipelines are named {name!r}.", where=where)
        names.add(name)
        check_keys(located(pipeline), PIPELINE_KEYS, f"filter pipeline {name!r}")
        steps = pipeline.get("filter")
        if not is_mappings(steps):
            raise ConfigError(f"filter pipeline {name!r} needs `filter`, a list of steps.", where=where)
        for number, step in enumerate(steps or ()):
            if not isinstance(step.get("function"), str) and not is_function(step.get("function")):
                where = where_item(steps, number, where)
                raise ConfigError(f"a step of filter pipeline {name!r} needs a `function`.", where=where)
            _check_kwargs(step, where_item(steps, number, where))
        check_metrics(pipeline.get("metric_list"), where)


def check_metrics(metrics: Any, fallback: str) -> None:
    """ConfigError for an entry of a metric_list without a usable name, or with a value of a wrong type. fallback: its place."""
    if metrics is not None and not is_mappings(metrics):
        raise ConfigError("metric_list must be a list of mappings.", where=fallback)
    seen: set[str] = set()
    for index, entry in enumerate(metrics or ()):
        where = where_item(metrics, index, fallback)
        metric = entry.get("metric")
        if not (isinstance(metric, str) and metric) and not is_function(metric):
            raise ConfigError(f"each entry of metric_list needs a `metric` (got {metric!r}).", where=where)
        name = metric if isinstance(metric, str) else getattr(metric, "function", getattr(metric, "__name__", "metric"))
        if "," in name:
            raise ConfigError(f"the name of a metric can't contain a comma: {name!r}.", where=where)
        if name in seen:
            raise ConfigError(f"the metric {name!r} is listed twice; one would overwrite the other.", where=where)
        if fault := fault_of_range(entry):
            what, hint = fault
            raise ConfigError(what, where=located(entry).where("range"), hint=hint)
        seen.add(name)
        for key in ("aggregation", "reduction"):
            if entry.get(key) is not None and not isinstance(entry[key], str) and not is_function(entry[key]):
                raise ConfigError(f"{key!r} must be a name or a function, not {entry[key]!r}.", where=where)
        if not isinstance(entry.get("higher_is_better"), (bool, type(None))):
            raise ConfigError(
                "'higher_is_better' must be true, false, or null for a number without a direction.", where=where
            )
        _check_kwargs(entry, where)


def _check_kwargs(entry: Mapping[str, object], where: str) -> None:
    if entry.get("kwargs") is not None and not isinstance(entry["kwargs"], Mapping):
        raise ConfigError(f"'kwargs' must be a mapping, not {entry['kwargs']!r:.80}.", where=where)


NOT_ALLOWED_IN_NAMES = ("::", "@", ",", "\n", "\r", "*", "?", "[", "#")


def check_name(stated: object, name: str, where: str) -> None:
    if not isinstance(stated, str) or not name.strip() or name != name.strip():
        raise ConfigError(f"a task needs a name under `task` (got {stated!r}).", where=where)
    if any(part in name for part in NOT_ALLOWED_IN_NAMES) or not name.isprintable() or len(name) > 200:
        reserved = " ".join(map(repr, NOT_ALLOWED_IN_NAMES))
        raise ConfigError(f"{name!r} can't be a name: {reserved} have other meanings.", where=where)


def fault_of_range(entry: Mapping[str, object]) -> tuple[str, str] | None:
    """What is wrong with the `range` of an entry of a metric_list, and what to write. None: nothing, or it states none."""
    if (stated := entry.get("range")) is None:
        return None
    numbers = [each for each in stated if is_number(each)] if isinstance(stated, (list, tuple)) else []
    if isinstance(stated, (list, tuple)) and len(numbers) == len(stated) == 2 and numbers[0] < numbers[1]:
        return None
    what = f"`range` of metric {entry.get('metric')!r} is {stated!r}; it needs [least, greatest], two numbers."
    return (
        what,
        "It applies to the number that the aggregation returns: [0, 1] for a share, [0, 10] for points out of ten.",
    )
