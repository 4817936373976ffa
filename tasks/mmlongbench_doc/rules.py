"""MMLongBench-Doc's rules for a short answer of each format.

Source: eval/eval_score.py of github.com/mayubo2333/MMLongBench-Doc.
"""

import ast
import math
import re
from typing import Any

from mm_eval.tasks.rules.written_numbers import is_float

from mm_eval.scoring.metrics.generation import edit_distance

EXACT = re.compile(
    r".*https://.*|.*(?:\.py|ipynb)|page.*|.*[ap]\.m\..*|\d+(?:[-\s]\d+)?|\d{4}[-\s]\d{2}[-\s]\d{2}"
    r"|[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}",
    re.DOTALL,
)
"""Addresses, files, pages, times, numbers and dates, which must be equal."""


def listed(text: str) -> list[Any]:
    """A list that is written as in Python; any other text is a list of one."""
    try:
        found = ast.literal_eval(text) if text.startswith("[") else text
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        found = text
    return found if isinstance(found, list) else [found]


def clean(value: Any) -> str:
    """A text in small letters without what is in brackets, outer quotes, and signs of dollars and percent."""
    text = re.sub(r"\s*\([^)]*\)", "", str(value).lower().strip()).strip()
    return re.sub(r"^['\"]|['\"]$", "", text).strip().lstrip("$").strip().rstrip("%").strip()


def similar(gold: str, said: str) -> float:
    """1 minus the normalised edit distance if that is more than one half."""
    longest = max(len(gold.upper()), len(said.upper()))
    score = 1 - edit_distance(gold, said) / longest if longest else 1.0
    return score if score > 0.5 else 0.0


def same_number(gold: float, said: float) -> bool:
    """Whether numbers are equal within 1 percent or when rounded, where percent may be written as fractions."""

    def places(number: float) -> int:
        return len(str(number).partition(".")[2]) if "." in str(number) else 3

    if not (math.isfinite(gold) and math.isfinite(said)):
        return False
    accepted = (gold / 100, gold, gold * 100)
    close = any(math.isclose(each, said, rel_tol=0.01) for each in accepted)
    digits = [max(min(places(said), places(each)), 2) for each in accepted]
    return close or any(round(said, n) == round(each, n) for each, n in zip(accepted, digits, strict=True))


def score_of(gold: str, said: str, kind: str) -> float:
    """The score of a short answer from 0 to 1. kind: Int, Float, Str, List or None (for questions without an answer)."""
    if kind == "Int":
        return float(is_float(said) and math.isfinite(float(said)) and gold.strip() == str(int(float(said))))
    if kind == "Float":
        return float(
            is_float(clean(said)) and is_float(clean(gold)) and same_number(float(clean(gold)), float(clean(said)))
        )
    if kind in ("Str", "None"):
        return float(clean(gold) == clean(said)) if EXACT.fullmatch(clean(gold)) else similar(clean(gold), clean(said))
    wanted, found = sorted(map(clean, listed(gold))), sorted(map(clean, listed(said)))
    if len(wanted) != len(found) or not wanted:
        return float(wanted == found)
    if is_float(wanted[0]) or EXACT.fullmatch(wanted[0]):
        return float("-".join(wanted) == "-".join(found))
    return min(map(similar, wanted, found))
