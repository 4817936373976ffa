"""What each option of a run may be, where it comes from a file or from Python and no command line has read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mm_eval.errors import ConfigError

_TEXTS = (
    "model",
    "name",
    "device",
    "include_path",
    "output_path",
    "system_instruction",
    "data_root",
    "prompt_key",
    "use_cache",
)
_SWITCHES = ("sample", "offline", "predict_only", "allow_url_media", "report", "fewshot_as_multiturn")
_COUNTS = ("num_fewshot", "bootstrap_iters")


def check_options(options: Mapping[str, Any], where: str) -> None:
    """ConfigError for the first value that its option can't have; None says that the option is not given."""
    for key, value in options.items():
        if value is not None and (needed := _needed(key, value)):
            raise ConfigError(f"`{key}` is {value!r}; {needed} is needed.", where=where)


def _needed(key: str, value: Any) -> str:
    """What an option needs where the file says something else; empty where it is right."""
    switch, count = isinstance(value, bool), isinstance(value, int) and not isinstance(value, bool)
    share = isinstance(value, float) and 0 < value < 1
    mapping = isinstance(value, Mapping)
    lists = mapping and all(isinstance(ids, list) and all(isinstance(i, int) for i in ids) for ids in value.values())
    fits = {
        "limit": ("a count from 1, or a share below 1", share or count and value >= 1),
        "fail_on_error": ("true, false, a count from 1 or a share below 1", switch or share or count and value >= 1),
        "batch_size": ("auto or a count from 1", value == "auto" or count and value >= 1),
        "samples": ("{task: [doc ids]}", lists),
        "chat_template": ("true, false or a template's name", switch or isinstance(value, str)),
        "seed": ("a whole number", count),
        "on_long_prompt": ("cut or fail", value in ("cut", "fail")),
        **dict.fromkeys(("model_args", "gen_kwargs", "prompt_blocks"), ("a mapping", mapping)),
        **dict.fromkeys(_TEXTS, ("a text", isinstance(value, str))),
        **dict.fromkeys(_SWITCHES, ("true or false", switch)),
        **dict.fromkeys(_COUNTS, ("a count", count and value >= 0)),
    }
    needed, right = fits.get(key, ("", True))
    return "" if right else needed
