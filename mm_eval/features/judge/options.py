"""What the values of the options about judges may be."""

from typing import Any

from mm_eval.config.arguments import MAPPING, Rule, is_text


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


ADAPTERS = Rule("a model's name, or a list of them", lambda value: all(map(is_text, _as_list(value))))
ARGUMENTS = Rule(f"{MAPPING.needed}, or a list of them", lambda value: all(map(MAPPING.fits, _as_list(value))))
