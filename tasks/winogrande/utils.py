"""WinoGrande with partial scoring: the beginnings differ, and the rest of the sentence is what is scored.

Source: Trinh and Le 2018, arXiv:1806.02847, section 4.1.
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.values.types import found_in


def right_option(doc: Mapping[str, Any]) -> int:
    """The index of the right name: the column `answer` is "1" or "2"."""
    return found_in({"1": 0, "2": 1}, doc["answer"], "answer")


def beginnings(doc: Mapping[str, Any]) -> list[str]:
    """The sentence up to the blank, with each name in it."""
    before, _, _ = doc["sentence"].partition("_")
    return [before + doc[option] for option in ("option1", "option2")]


def rest(doc: Mapping[str, Any]) -> str:
    """The sentence after the blank."""
    _, _, after = doc["sentence"].partition("_")
    return str(after).strip()
