"""What the values of the options about the end of a run may be, and of `mm-eval plan`."""

from collections.abc import Mapping
from typing import Any

from mm_eval.config.arguments import Rule, is_count, is_number, is_text, number, whole_number


def _is_pairs(value: Any) -> bool:
    return value == "all" or isinstance(value, Mapping) and set(value) == {"reference"} and is_text(value["reference"])


ENDING = Rule("decided", lambda value: value == "decided")
LOOKS = Rule("a count from 1 to 100", lambda value: is_count(value, 1, 100), whole_number)
ALPHA = Rule("a number above 0 and below 0.5", lambda value: is_number(value) and 0 < value < 0.5, number)
PAIRS = Rule("all or {reference: NAME}", _is_pairs)
POWER = Rule("a number between 0.5 and 1", lambda value: is_number(value) and 0.5 <= value < 1, number)
