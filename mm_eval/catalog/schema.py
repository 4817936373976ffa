"""The keys of a task file and of a group file, and what may stand under each.

A key is known, known and of no effect here, or known and not supported (with the reason). Anything else is a typo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from mm_eval.catalog.functions import FunctionRef
from mm_eval.catalog.located import LocatedDict, located, where_item
from mm_eval.errors import ConfigError, collected, did_you_mean, raise_all

OUTPUT_TYPES = ("generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling")

ALIASES = {
    "doc_to_visial": "doc_to_visual",
    "doc_to_image": "doc_to_visual",
    "lmms_eval_specific_kwargs": "model_specific_prompt_kwargs",
    "revision": "dataset_revision",
}
"""Other spellings: a slip of lmms-eval's task guide, lm-eval's and lmms-eval's names."""

OF_LMMS_EVAL = ("lmms_eval_specific_kwargs", "model_specific_generation_kwargs")
"""Keys that only lmms-eval's files have."""

HARMLESS = {
    "should_decontaminate": "mm-eval has no decontamination",
    "doc_to_decontamination_query": "mm-eval has no decontamination",
    "full_docs": "process_results always gets the doc",
    "model_specific_generation_kwargs": "options of lmms-eval's own adapters (image_aspect_ratio, patch_size)",
    "score_key": "where lmms-eval looks for its clustered standard errors; ours are made of what is scored",
}
"""Keys that are read over: what they ask for changes no number here."""

UNSUPPORTED = {
    "use_prompt": "promptsource is not supported; write doc_to_text, doc_to_choice and doc_to_target.",
    "doc_to_audio": "there is no audio.",
    "task_list": "write a group with `task:` members.",
    "reasoning_tags": "write a filter_list whose first step is `strip_thinking`.",
    "auto_strip_thinking": "write a filter_list whose first step is `strip_thinking`.",
}
"""Keys of lm-eval and lmms-eval that would change numbers and that mm-eval does not have.

null, false and "none" ask for nothing.
"""

Check = Callable[[Any], bool]
Rule = tuple[str, Check]


def is_function(value: Any) -> bool:
    return isinstance(value, FunctionRef) or callable(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_mappings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


TEXT: Rule = ("a text", lambda v: isinstance(v, str))
TEXTS: Rule = ("a text or a list of texts", lambda v: isinstance(v, str) or _is_texts(v))
BOOLEAN: Rule = ("true or false", lambda v: isinstance(v, bool))
COUNT: Rule = ("a whole number from 0", _is_count)
POSITIVE: Rule = ("a whole number from 1", lambda v: _is_count(v) and v >= 1)
COUNTS: Rule = ("a list of whole numbers from 0", lambda v: isinstance(v, list) and all(map(_is_count, v)))
MAPPING: Rule = ("a mapping", lambda v: isinstance(v, Mapping))
MAPPINGS: Rule = ("a list of mappings", _is_mappings)
METADATA: Rule = ("a mapping or a list of mappings", lambda v: isinstance(v, Mapping) or _is_mappings(v))
FUNCTION: Rule = ("a function (!function utils.f)", is_function)
PROMPT: Rule = ("a column, a template or a function", lambda v: isinstance(v, str) or is_function(v))
VISUAL: Rule = ("a column, a list of columns or a function", lambda v: PROMPT[1](v) or bool(v) and _is_texts(v))
TARGET: Rule = (
    "a column, a template, a number, a list or a function",
    lambda v: isinstance(v, (str, int, float, list)) and not isinstance(v, bool) or is_function(v),
)
CHOICES: Rule = (
    "a column, a template, a list or mapping of texts or a function (yes and no are true and false in YAML: quote them)",
    lambda v: isinstance(v, str) or _is_texts(list(v.values()) if isinstance(v, Mapping) else v) or is_function(v),
)
SAMPLES: Rule = ("a list of docs or a function", lambda v: _is_mappings(v) or is_function(v))
NAMED: Rule = ("a name or a mapping", lambda v: isinstance(v, (str, Mapping)))
BATCH: Rule = ('a whole number from 1 or "auto"', lambda v: v == "auto" or _is_count(v) and v >= 1)

TASK_KEYS: dict[str, Rule] = {
    "task": TEXT,
    "task_alias": TEXT,
    "tag": TEXTS,
    "group": TEXTS,
    "class": FUNCTION,
    "dataset_path": TEXT,
    "dataset_name": TEXT,
    "dataset_kwargs": MAPPING,
    "dataset_revision": TEXT,
    "custom_dataset": FUNCTION,
    "training_split": TEXT,
    "validation_split": TEXT,
    "test_split": TEXT,
    "fewshot_split": TEXT,
    "process_docs": FUNCTION,
    "output_type": ("one of " + ", ".join(OUTPUT_TYPES), lambda v: v in OUTPUT_TYPES),
    "formats": NAMED,
    "doc_to_visual": VISUAL,
    "doc_to_text": PROMPT,
    "doc_to_target": TARGET,
    "doc_to_choice": CHOICES,
    "doc_to_messages": FUNCTION,
    "description": PROMPT,
    "target_delimiter": TEXT,
    "fewshot_delimiter": TEXT,
    "gen_prefix": TEXT,
    "num_fewshot": COUNT,
    "fewshot_config": MAPPING,
    "fewshot_as_multiturn": BOOLEAN,
    "process_results": FUNCTION,
    "process_results_use_image": BOOLEAN,
    "generation_kwargs": MAPPING,
    "metric_list": MAPPINGS,
    "filter_list": MAPPINGS,
    "scorer": NAMED,
    "repeats": POSITIVE,
    "batch_size": BATCH,
    "model_specific_prompt_kwargs": MAPPING,
    "model_specific_target_kwargs": MAPPING,
    "multiple_inputs": BOOLEAN,
    "multiple_targets": BOOLEAN,
    "unsafe_code": BOOLEAN,
    "cluster_key": TEXTS,
    "metadata": METADATA,
}

FEWSHOT_KEYS: dict[str, Rule] = {
    "sampler": TEXT,
    "split": TEXT,
    "samples": SAMPLES,
    "process_docs": FUNCTION,
    "fewshot_indices": COUNTS,
    "doc_to_visual": VISUAL,
    "doc_to_text": PROMPT,
    "doc_to_target": TARGET,
    "doc_to_choice": CHOICES,
    "gen_prefix": TEXT,
    "fewshot_delimiter": TEXT,
    "target_delimiter": TEXT,
}

GROUP_ONLY_KEYS: dict[str, Rule] = {
    "group": TEXT,
    "group_alias": TEXT,
    "task": (
        "a name or a list of names and mappings",
        lambda v: isinstance(v, str) or isinstance(v, list) and all(isinstance(m, (str, Mapping)) for m in v),
    ),
    "include": ("a file or a mapping", lambda v: isinstance(v, (str, Mapping)) or _is_texts(v)),
    "aggregate_metric_list": ("a list of mappings", lambda v: isinstance(v, Mapping) or _is_mappings(v)),
    "tag": TEXTS,
    "metadata": METADATA,
}

AGGREGATE_KEYS: dict[str, Rule] = {
    "metric": TEXT,
    "aggregation": ("a name or a function", lambda v: isinstance(v, str) or is_function(v)),
    "weight_by_size": BOOLEAN,
    "filter_list": TEXTS,
    "higher_is_better": BOOLEAN,
}


DEFINING_KEYS = (
    "dataset_path",
    "dataset_name",
    "custom_dataset",
    "class",
    "include",
    "training_split",
    "validation_split",
    "test_split",
)
"""Keys that make a group's member with a name nobody knows a task of its own; without one the name is a typo."""


def defines_task(member: Mapping[Any, Any]) -> bool:
    """Whether a member of a group can be a task that is defined there."""
    return any(key in member for key in DEFINING_KEYS)


def canonical_keys(config: Mapping[Any, Any]) -> LocatedDict:
    """The mapping with other spellings replaced, and `metadata` one mapping; two spellings of one key are an error."""
    canonical = LocatedDict(config)
    canonical.of_lmms_eval = canonical.of_lmms_eval or any(key in canonical for key in OF_LMMS_EVAL)
    for alias, name in ALIASES.items():
        if alias in canonical:
            if name in canonical:
                raise ConfigError(
                    f"{alias!r} is another spelling of {name!r}; write one.", where=canonical.where(alias)
                )
            canonical[name] = canonical.pop(alias)
            if alias in canonical.places:
                canonical.places[name] = canonical.places.pop(alias)
    if _is_mappings(canonical.get("metadata")):
        canonical["metadata"] = one_mapping(canonical["metadata"])
    return canonical


def check_keys(config: LocatedDict, rules: Mapping[str, Rule], what: str, *, extra: bool = False) -> None:
    """ConfigError with file, line and a suggestion on an unknown key or a value of a wrong type; null is "not given".

    extra: unknown keys are let through (the arguments of a task's class).
    """
    raise_all(collected(partial(_check_key, config, key, rules, what, extra) for key in config))


def _check_key(config: LocatedDict, key: Any, rules: Mapping[str, Rule], what: str, extra: bool) -> None:
    value, where = config[key], config.where(key)
    if key in UNSUPPORTED and value not in (None, False, "none"):
        hint = f"A file of your own with `include:` of this one and `{key}: null` puts it aside."
        raise ConfigError(f"{key!r} is not supported: {UNSUPPORTED[key]}", where=where, hint=hint)
    if key in HARMLESS or key in UNSUPPORTED or key not in rules and extra:
        return
    if key not in rules:
        hint = did_you_mean(str(key), rules) if key not in TASK_KEYS else ""
        raise ConfigError(f"unknown key {key!r} in {what}.", where=where, hint=hint)
    needed, holds = rules[key]
    if value is not None and not holds(value):
        raise ConfigError(f"{key!r} must be {needed}, not {value!r:.80}.", where=where)


def holds(config: Mapping[str, Any], *keys: str) -> bool:
    """Whether the values of these keys of a task are of a right type."""
    return all(config.get(key) is None or TASK_KEYS[key][1](config[key]) for key in keys)


def check_task(source: LocatedDict, what: str, has_class: bool) -> None:
    """All that can be wrong with single keys, told together."""
    checks: list[Callable[[], None]] = [
        lambda: check_keys(source, TASK_KEYS, what, extra=has_class),
        lambda: _check_generation_blocks(source),
    ]
    if holds(source, "fewshot_config"):
        checks.append(lambda: _check_fewshot(source))
    if holds(source, "model_specific_prompt_kwargs"):
        checks.append(lambda: _check_prompt_kwargs(source))
    if holds(source, "metric_list", "filter_list"):
        checks.append(lambda: check_pipelines(source))
    raise_all(collected([*checks, *(reference.check for reference in functions_in(source))]))


def _check_fewshot(source: LocatedDict) -> None:
    settings = source.get("fewshot_config")
    if isinstance(settings, Mapping):
        check_keys(located(settings), FEWSHOT_KEYS, "fewshot_config")


def _check_prompt_kwargs(source: LocatedDict) -> None:
    key = "model_specific_prompt_kwargs"
    blocks = located(source.get(key) or {})
    for name, block in blocks.items():
        if block is not None and not isinstance(block, Mapping):
            hint = "Each block is a mapping; what holds for all models stands under `default:`."
            raise ConfigError(f"the prompt block {name!r} is {block!r:.60}.", where=blocks.where(name), hint=hint)


def _check_generation_blocks(source: LocatedDict) -> None:
    """What lmms-eval says to single adapters of its own is read over; what it says to every model is not."""
    key = "model_specific_generation_kwargs"
    blocks = source.get(key)
    if isinstance(blocks, Mapping) and blocks.get("default"):
        hint = "Write them under generation_kwargs."
        raise ConfigError(f"the `default` of {key} holds for every model.", where=source.where(key), hint=hint)


def check_pipelines(config: LocatedDict) -> None:
    """ConfigError on a metric_list or filter_list that lacks a name, or names one result twice."""
    check_metrics(config.get("metric_list"), config.where("metric_list"))
    names: set[str] = set()
    for index, pipeline in enumerate(config.get("filter_list") or ()):
        where = where_item(config["filter_list"], index, config.where("filter_list"))
        name = pipeline.get("name")
        if not isinstance(name, str) or not name:
            raise ConfigError(f"each entry of filter_list needs a `name`, which is a text, not {name!r}.", where=where)
        if name in names:
            raise ConfigError(f"two filter pipelines are named {name!r}.", where=where)
        names.add(name)
        if unknown := [key for key in pipeline if key not in ("name", "filter", "metric_list")]:
            hint = did_you_mean(str(unknown[0]), ("name", "filter", "metric_list"))
            raise ConfigError(f"unknown key {unknown[0]!r} in filter pipeline {name!r}.", where=where, hint=hint)
        steps = pipeline.get("filter")
        if not _is_mappings(steps):
            raise ConfigError(f"filter pipeline {name!r} needs `filter`, a list of steps.", where=where)
        for number, step in enumerate(steps or ()):
            if not isinstance(step.get("function"), str) and not is_function(step.get("function")):
                where = where_item(steps, number, where)
                raise ConfigError(f"a step of filter pipeline {name!r} needs a `function`.", where=where)
            _check_kwargs(step, where_item(steps, number, where))
        check_metrics(pipeline.get("metric_list"), where)


def check_metrics(metrics: Any, fallback: str) -> None:
    if metrics is not None and not _is_mappings(metrics):
        raise ConfigError("metric_list must be a list of mappings.", where=fallback)
    seen: set[str] = set()
    for index, entry in enumerate(metrics or ()):
        where = where_item(metrics, index, fallback)
        metric = entry.get("metric")
        if not (isinstance(metric, str) and metric) and not is_function(metric):
            raise ConfigError(f"each entry of metric_list needs a `metric`, not {metric!r}.", where=where)
        name = metric if isinstance(metric, str) else getattr(metric, "function", getattr(metric, "__name__", "metric"))
        if "," in name:
            raise ConfigError(f"the name of a metric holds no comma: {name!r}.", where=where)
        if name in seen:
            raise ConfigError(f"the metric {name!r} is listed twice, so one would hide the other.", where=where)
        seen.add(name)
        for key in ("aggregation", "reduction"):
            if entry.get(key) is not None and not isinstance(entry[key], str) and not is_function(entry[key]):
                raise ConfigError(f"{key!r} must be a name or a function, not {entry[key]!r}.", where=where)
        if not isinstance(entry.get("higher_is_better"), (bool, type(None))):
            raise ConfigError("'higher_is_better' must be true or false.", where=where)
        _check_kwargs(entry, where)


def _check_kwargs(entry: Mapping[str, Any], where: str) -> None:
    if entry.get("kwargs") is not None and not isinstance(entry["kwargs"], Mapping):
        raise ConfigError(f"'kwargs' must be a mapping, not {entry['kwargs']!r:.80}.", where=where)


def texts(value: Any) -> list[str]:
    """A text or a list of texts as a list."""
    return [value] if isinstance(value, str) else list(value or ())


def one_mapping(value: Any) -> dict[str, Any]:
    """`metadata` as one mapping: lmms-eval writes it as a list of mappings."""
    if isinstance(value, Mapping):
        return dict(value)
    found: dict[str, Any] = {}
    for item in value or ():
        found.update(item)
    return found


def functions_in(value: Any) -> Iterable[FunctionRef]:
    """All references in a value, in the order written."""
    if isinstance(value, FunctionRef):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from functions_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from functions_in(item)
