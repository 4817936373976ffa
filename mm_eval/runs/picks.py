"""What a row of samples/ was answered with and what is right, as a letter, yes or no, or text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def picked(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """(right, picked) of a row whose right answer is an option or yes or no; None for another one, or an unread answer.

    Options are capital letters, yes and no are words.
    """
    target = row["target"]
    if "choices" in row and isinstance(target, int) and not isinstance(target, bool) and 0 <= target < 26:
        sums = [resp[0] for resp in row["resps"][: len(row["choices"])]]
        return chr(65 + target), chr(65 + max(range(len(sums)), key=sums.__getitem__)) if sums else ""
    right = _option(target)
    read = next(iter(row["filtered_resps"].values()), None)
    pick = _option(read[0]) if read and right is not None else None
    return (
        None
        if right is None or pick is None or len(right) != len(pick) and 1 in (len(right), len(pick))
        else (right, pick)
    )


def _option(text: Any) -> str | None:
    bare = text.strip().strip("().").lower() if isinstance(text, str) else ""
    return bare.upper() if re.fullmatch("[a-z]", bare) else bare if bare in ("yes", "no") else None


def right_answer(row: Mapping[str, Any]) -> str:
    """The right answer as text: of choices the right one's."""
    target, choices = row["target"], row.get("choices")
    if choices and isinstance(target, int) and 0 <= target < len(choices):
        return str(choices[target]).strip()
    return target if isinstance(target, str) else repr(target)


def preferred(row: Mapping[str, Any]) -> str:
    """The choice that a model prefers, by its log-likelihoods."""
    choices = row.get("choices")
    if not choices or not row["resps"]:
        return repr(row["resps"])
    best = max(range(min(len(choices), len(row["resps"]))), key=lambda place: row["resps"][place][0])
    return str(choices[best]).strip()
