"""What the keys of task and group files may be, their other spellings, and the spelling of task names.

A key is known, known and ignored, or known and not supported (with the reason). Any other key is an error.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import Any

from mm_eval.config.arguments import Rule, is_count
from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import LocatedDict, without
from mm_eval.values.errors import ConfigError, check_all, did_you_mean

OUTPUT_TYPES = ("generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling")

ALIASES = {
    "doc_to_visial": "doc_to_visual",
    "doc_to_image": "doc_to_visual",
    "lmms_eval_specific_kwargs": "model_specific_prompt_kwargs",
    "revision": "dataset_revision",
}
"""Other spellings: a slip of lmms-eval's task guide, lm-eval's and lmms-eval's names."""

OUTPUT_TYPES_OF_OTHERS = {
    "generate_until_multi_round": {"output_type": "generate_until", "rounds": "doc_to_text"},
    "generate_until_agentic": {"output_type": "generate_until", "rounds": "agentic"},
}
"""{an output_type of another suite: the keys that say it here}."""
AMONG_GENERATION = {"max_agentic_steps": "max_rounds"}
"""{an entry of another suite's generation_kwargs: the key that says it here}."""

OF_LMMS_EVAL = ("lmms_eval_specific_kwargs", "model_specific_generation_kwargs")
"""Keys that only lmms-eval's files have."""

HARMLESS = {
    "should_decontaminate": "mm-eval has no decontamination",
    "doc_to_decontamination_query": "mm-eval has no decontamination",
    "full_docs": "process_results always gets the document",
    "model_specific_generation_kwargs": "options of lmms-eval's own adapters (image_aspect_ratio, patch_size)",
    "auto_strip_thinking": "reasoning is always cut",
    "score_key": "where lmms-eval looks for its clustered standard errors; ours are made of what is scored",
}
"""Keys that are ignored: they change no number here."""

UNSUPPORTED = {
    "use_prompt": "promptsource is not supported; write doc_to_text, doc_to_choice and doc_to_target.",
    "task_list": "write a group with `task:` members.",
}
"""Keys of lm-eval and lmms-eval that would change numbers and that mm-eval does not support.

The values null, false and "none" are accepted: they request nothing.
"""


def is_function(value: object) -> bool:
    return isinstance(value, FunctionRef) or callable(value)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_mappings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


TEXT = Rule("a text", lambda v: isinstance(v, str))
TEXTS = Rule("a text or a list of texts", lambda v: isinstance(v, str) or _is_texts(v))
ANYTHING = Rule("any value", lambda v: True)
BOOLEAN = Rule("true or false", lambda v: isinstance(v, bool))
POSITIVE = Rule("a whole number from 1", lambda v: is_count(v, 1))
MOST_REPEATS = 10_000
REPEATS = Rule(f"a whole number from 1 to {MOST_REPEATS:,}", lambda v: is_count(v, 1, MOST_REPEATS))
COUNTS = Rule("a list of whole numbers from 0", lambda v: isinstance(v, list) and all(map(is_count, v)))
MAPPING = Rule("a mapping", lambda v: isinstance(v, Mapping))
MAPPINGS = Rule("a list of mappings", is_mappings)
METADATA = Rule("a mapping or a list of mappings", lambda v: isinstance(v, Mapping) or is_mappings(v))
FUNCTION = Rule("a function (!function utils.f)", is_function)
PROMPT = Rule("a column, a template or a function", lambda v: isinstance(v, str) or is_function(v))
VISUAL = Rule("a column, a list of columns or a function", lambda v: PROMPT.fits(v) or bool(v) and _is_texts(v))
AUDIO = Rule("a column, a list of columns, a template or a function", VISUAL.fits)
TARGET = Rule(
    "a column, a template, a number, a list or a function",
    lambda v: isinstance(v, (str, int, float, list)) and not isinstance(v, bool) or is_function(v),
)
CHOICES = Rule(
    "a column, a template, a list or mapping of texts or a function (yes and no are true and false in YAML: quote them)",
    lambda v: isinstance(v, str) or _is_texts(list(v.values()) if isinstance(v, Mapping) else v) or is_function(v),
)
MARKS = Rule("pairs of marks, or none", lambda v: isinstance(v, (str, list)) or v is False)
SAMPLES = Rule("a list of documents or a function", lambda v: is_mappings(v) or is_function(v))
NAMED = Rule("a name or a mapping", lambda v: isinstance(v, (str, Mapping)))
BATCH = Rule('a whole number from 1 or "auto"', lambda v: v == "auto" or is_count(v, 1))

OUTPUT_TYPE = Rule("one of " + ", ".join(OUTPUT_TYPES), lambda v: v in OUTPUT_TYPES)

NUMBERS_ELSEWHERE = ("judge", "submission")
"""Keys by which the numbers come from a judge or a server. They change no question."""

SCORING_KEYS = ("metric_list", "filter_list", "process_results", "scorer", *NUMBERS_ELSEWHERE)
"""Keys that say how answers are scored; a format with a scoring of its own takes their place."""

PIPELINE_KEYS = dict.fromkeys(("name", "filter", "metric_list"), ANYTHING)

MIRROR_KEYS: dict[str, Rule] = {"path": TEXT, "name": TEXTS, "revision": TEXT}

FEWSHOT_KEYS: dict[str, Rule] = {
    "sampler": TEXT,
    "split": TEXT,
    "samples": SAMPLES,
    "process_docs": FUNCTION,
    "fewshot_indices": COUNTS,
    "doc_to_visual": VISUAL,
    "doc_to_audio": AUDIO,
    "doc_to_text": PROMPT,
    "doc_to_target": TARGET,
    "doc_to_choice": CHOICES,
    "gen_prefix": PROMPT,
    "fewshot_delimiter": TEXT,
    "target_delimiter": TEXT,
}

GROUP_ONLY_KEYS: dict[str, Rule] = {
    "group": TEXT,
    "group_alias": TEXT,
    "task": Rule(
        "a name or a list of names and mappings (a name such as yes or 123 in quotes)",
        lambda v: isinstance(v, str) or isinstance(v, list) and all(isinstance(m, (str, Mapping)) for m in v),
    ),
    "include": Rule("a file or a mapping", lambda v: isinstance(v, (str, Mapping)) or _is_texts(v)),
    "aggregate_metric_list": Rule("a list of mappings", lambda v: isinstance(v, Mapping) or is_mappings(v)),
    "tag": TEXTS,
    "aliases": TEXTS,
    "metadata": METADATA,
}

AGGREGATE_KEYS: dict[str, Rule] = {
    "metric": TEXT,
    "aggregation": Rule("a name or a function", lambda v: isinstance(v, str) or is_function(v)),
    "weight_by_size": BOOLEAN,
    "filter_list": TEXTS,
    "higher_is_better": BOOLEAN,
    "of": Rule("a mapping of members to their metrics", lambda v: isinstance(v, Mapping) and bool(v)),
}

PART_KEYS: dict[str, Rule] = {
    "metric": TEXT,
    "scale": Rule("a number", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool)),
}

DATA_KEYS = ("dataset_path", "dataset_name", "custom_dataset", "training_split", "validation_split", "test_split")
DEFINING_KEYS = (*DATA_KEYS, "class", "include")
"""Keys that turn a group's unregistered member into an inline task; without any of them its name is a typo."""

TASK_ONLY_KEYS = {"include", "class", "dataset_path", "custom_dataset", "output_type"}
"""Keys with which a file that has `group` and one `task` is a task with a tag, not a group of one member."""


def fault_of_name(config: LocatedDict, key: str) -> ConfigError | None:
    """What is wrong with a name that YAML reads as a number or as true or false; None for any other value.

    key: `task` or `group`.
    """
    stated = config.get(key)
    if not isinstance(stated, (bool, int, float)):
        return None
    kind = "true or false" if isinstance(stated, bool) else "a number"
    what = f"YAML reads the name under `{key}` as {kind} ({str(stated).lower()})."
    return ConfigError(what, where=config.where(key), hint=f'Put the name in quotes: `{key}: "..."`.')


WITH_PYTHON = "@python"
"""The end of a name that asks a task with the tool python: `task@python`, `task@format@python`."""


def split_python(name: str) -> tuple[str, bool]:
    """(name, whether it asks for the tool python) of `task@format@python`."""
    plain = name.partition("#")[0]  # of two tasks with one path
    return (plain.removesuffix(WITH_PYTHON), True) if plain.endswith(WITH_PYTHON) else (name, False)


def split_format(name: str) -> tuple[str, str | None]:
    """(name, format) of `task@format` or `group::task@format@python`; the format is None where none is named."""
    name = split_python(name)[0]
    if "@" not in name.rpartition("::")[2]:
        return name, None
    name, _, chosen = name.rpartition("@")
    return name, chosen or None


def shown_name(key: str, path: str) -> str:
    """The name of a task in all outputs: its key in the results, with the format that was requested. path: its identity."""
    last = path.rpartition("::")[2]
    return last if split_format(last)[0] == split_format(key)[0] else key


def is_group(config: Mapping[object, object]) -> bool:
    """Whether a mapping defines a group: it has a list of members under `task`, or one name and no key of a task."""
    if "group" not in config:
        return False
    if isinstance(config.get("task"), list) or "group_alias" in config or "aggregate_metric_list" in config:
        return True
    of_task = any(key in TASK_ONLY_KEYS or str(key).startswith("doc_to") for key in config)
    return isinstance(config["group"], str) and not of_task


def defines_task(member: Mapping[object, object]) -> bool:
    """Whether a group's member may be defined there, instead of being a reference to a registered task."""
    return any(key in member for key in DEFINING_KEYS)


SPECIFIC = "lmms_eval_specific_kwargs"


def _with_plain_keys(blocks: Mapping[object, object]) -> LocatedDict:
    """Prompt blocks whose `default` has the keys beside the blocks: lmms-eval gives them to every model."""
    default = blocks.get("default") or {}
    plain = {name: value for name, value in blocks.items() if value is not None and not isinstance(value, Mapping)}
    if not plain or not isinstance(default, Mapping):
        return LocatedDict(blocks)
    left = without(blocks, plain)
    left["default"] = {**plain, **default}
    return left


def canonical_keys(config: Mapping[object, object]) -> LocatedDict:
    """The mapping with aliases of keys replaced, and `metadata` as one mapping. ConfigError on two spellings of one key."""
    canonical = LocatedDict(config)
    canonical.of_lmms_eval = canonical.of_lmms_eval or any(key in canonical for key in OF_LMMS_EVAL)
    if isinstance(blocks := canonical.get(SPECIFIC), Mapping):
        canonical[SPECIFIC] = _with_plain_keys(blocks)
    for alias, name in ALIASES.items():
        if alias in canonical:
            if name in canonical:
                what = f"{alias!r} is another spelling of {name!r}; write one of them."
                raise ConfigError(what, where=canonical.where(alias))
            canonical[name] = canonical.pop(alias)
            if alias in canonical.places:
                canonical.places[name] = canonical.places.pop(alias)
    if keys := OUTPUT_TYPES_OF_OTHERS.get(str(canonical.get("output_type"))):
        canonical.update({**keys, **canonical, "output_type": keys["output_type"]})
    if isinstance(options := canonical.get("generation_kwargs"), Mapping) and options.keys() & AMONG_GENERATION.keys():
        canonical["generation_kwargs"] = {name: options[name] for name in options if name not in AMONG_GENERATION}
        canonical.update(
            {key: options[name] for name, key in AMONG_GENERATION.items() if name in options and key not in canonical}
        )
    if is_mappings(canonical.get("metadata")):
        canonical["metadata"] = one_mapping(canonical["metadata"])
    return canonical


def check_keys(
    config: LocatedDict, rules: Mapping[str, Rule], what: str, *, extra: bool = False, of_task: Container[str] = ()
) -> None:
    """ConfigError with file, line and a suggestion on an unknown key or a value of a wrong type; null means "not given".

    extra: unknown keys are accepted (the arguments of a task's class). of_task: the keys of the task that this mapping is in.
    """
    check_all(partial(_check_key, config, key, rules, what, extra, of_task) for key in config)


def _check_key(
    config: LocatedDict, key: Any, rules: Mapping[str, Rule], what: str, extra: bool, of_task: Container[str]
) -> None:
    value, where = config[key], config.where(key)
    are_of_task = "task" in rules  # and not those of a part of one, such as a filter pipeline
    if are_of_task and key in UNSUPPORTED and value not in (None, False, "none"):
        hint = f"To drop it, write a file that includes this one and says `{key}: null`."
        raise ConfigError(f"{key!r} is not supported: {UNSUPPORTED[key]}", where=where, hint=hint)
    if are_of_task and (key in HARMLESS or key in UNSUPPORTED) or key not in rules and extra:
        return
    if key not in rules:
        hint = f"It is a key of the task: write it beside {what}." if key in of_task else did_you_mean(str(key), rules)
        raise ConfigError(f"unknown key {key!r} in {what}.", where=where, hint=hint)
    if value is not None and not rules[key].fits(value):
        raise ConfigError(f"{key!r} must be {rules[key].needed}, not {value!r:.80}.", where=where)


def texts(value: Any) -> list[str]:
    """A text or a list of texts as a list."""
    return [value] if isinstance(value, str) else list(value or ())


def one_mapping(value: Any) -> dict[str, object]:
    """`metadata` as one mapping: lmms-eval writes it as a list of mappings."""
    mappings = [value] if isinstance(value, Mapping) else value or ()
    return {key: item for mapping in mappings for key, item in mapping.items()}


def functions_in(value: object) -> Iterator[FunctionRef]:
    """All function references in a value, in the order written."""
    if isinstance(value, FunctionRef):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from functions_in(item)
