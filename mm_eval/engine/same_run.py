"""Which differences between two specs make another run.

A run is its requests: the model, the data, the docs and what is asked about them. A launch with the same requests goes on with
the recorded answers, however they are scored; every launch scores all of them by the rules of its own task files. The source of
a task's functions is not compared: it also decides scores, and what it makes of a doc is compared answer by answer with the
request key (`pending.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mm_eval.config.schema import SCORING_KEYS, functions_in
from mm_eval.config.task_config import ASKS_NOTHING, DISPLAY_KEYS, TaskConfig

UNSTATED = {"on_long_prompt": "cut", "blind": None}
"""The values of options that an older spec does not state."""

VERSIONS = ("adapter_version", "version")
"""The names under which adapters state their version."""

FUNCTIONS = "with_functions"
"""The digest of a task's config and of the source of its functions."""

NOT_COMPARED = frozenset(
    {
        *(*DISPLAY_KEYS, *ASKS_NOTHING, *SCORING_KEYS),
        *("batch_size", "cluster_key", "doc_to_target", "doc_to_text", "model_specific_target_kwargs"),
        *("multiple_targets", "process_results_use_image", "unsafe_code"),
        "model_specific_prompt_kwargs",
    }
)
"""Keys of a task that change no request by themselves. How a text is written is not compared, since the prompts of the first docs
and the request key of each recorded answer are. A target that a prompt or a continuation holds changes a request key, and
the prompt block of the run's model stands in the spec by itself: another family's block is none of its requests."""

PICTURE_KEYS = ("doc_to_visual", "doc_to_messages", "process_docs", "custom_dataset", "class", "fewshot_config")
"""Keys whose functions decide which pictures a doc shows."""

DIGESTS = {
    "asked": "the prompts differ",
    "data": "the data differs",
    "examples": "the data of the few-shot examples differs",
    "sha256": "the docs differ",
    "fingerprint": "the model's files differ",
}
"""What a difference between two digests of a spec means, by the digest's name."""


def requests_of_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a spec that decides the requests, as run.json gives it back."""
    spec = json.loads(json.dumps({**UNSTATED, **spec}))
    for task in spec.get("tasks", {}).values():
        config = task.get("config")
        if isinstance(config, dict) and isinstance(stated := config.get("stated"), dict):
            stated = {key: value for key, value in stated.items() if key not in NOT_COMPARED}
            if not stated.get("custom_dataset"):  # metadata are its arguments
                stated.pop("metadata", None)
            if isinstance(layout := stated.get("formats"), dict):
                stated["formats"] = {key: value for key, value in layout.items() if key != "scorer"}
            task["config"] = {"stated": stated}
    return dict(spec)


def changed_tasks(spec: Mapping[str, Any], configs: Mapping[str, TaskConfig]) -> list[str]:
    """The tasks whose file, or a function that it names, is not what it was when a folder with this spec was made."""
    made_with = {name: _functions(task) for name, task in spec.get("tasks", {}).items()}
    return [name for name, config in configs.items() if made_with.get(name) not in (None, config.digest())]


def scored_by(configs: Mapping[str, TaskConfig]) -> dict[str, str]:
    """{task: digest of its config and functions}: what results.json was made by."""
    return {name: config.digest() for name, config in configs.items()}


def _functions(task: Mapping[str, Any]) -> Any:
    config = task.get("config")
    return config.get(FUNCTIONS) if isinstance(config, Mapping) else config


def shows_by_code(config: TaskConfig) -> bool:
    """Whether a function of the task decides which pictures a doc shows."""
    return any(True for key in PICTURE_KEYS for _ in functions_in(config.source.get(key)))


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """The differences between two specs, one sentence each."""
    if at == "model" and isinstance(old, Mapping) and isinstance(new, Mapping):
        names = [name for name in VERSIONS if old.get(name) != new.get(name)]
        for name in names:
            yield (
                f"{at}.{name} was {_short(old.get(name))} and is {_short(new.get(name))}: this version of mm-eval records other "
                "texts for the same requests (`mm-eval score` still scores the folder)"
            )
        if names:  # the fingerprint holds the version
            old, new = ({k: v for k, v in each.items() if k not in (*VERSIONS, "fingerprint")} for each in (old, new))
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}, key=str):
            yield from differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
    elif old != new:
        place, _, name = at.rpartition(".")
        meaning = DIGESTS.get(name) if isinstance(old, str) and isinstance(new, str) else None
        yield f"{place}: {meaning}" if meaning else f"{at} was {_short(old)} and is {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
