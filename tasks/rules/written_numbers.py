r"""Numbers as English words, such as "two thousand four hundred", and in LaTeX, such as "\frac{1}{2}"."""

from __future__ import annotations

import re
from typing import Any

from mm_eval.tasks.rules.math_values import value_of

_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
         "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9}
_WORD = re.compile(r"[a-z]+")
_LAYOUT = re.compile(r"\$|\\left(?![A-Za-z])|\\right(?![A-Za-z])|\\displaystyle")
_LONGEST = 500
"""The most characters of a text that is read."""


def number_in_words(text: str) -> int | float | None:
    """The number that the number words of a text make together; other words are passed over. None if there are none.

    "three dots" is 3. A scale must not come twice, and the digits after "point" are single ones; else the text is not a number.
    """
    words = _WORD.findall(text.lower()) if len(text) <= _LONGEST else []
    words = [word for word in words if word in _SMALL or word in _SCALES or word in ("hundred", "point")]
    if not words or words.count("point") > 1 or any(words.count(scale) > 1 for scale in _SCALES):
        return None
    before, _, after = " ".join(words).partition("point")
    whole = _whole(before.split())
    if not after.split():
        return whole if before.split() else None
    digits = [_SMALL.get(word, 10) for word in after.split()]
    return float(f"{whole}.{''.join(map(str, digits))}") if max(digits) < 10 else None


def is_number_in_words(words: list[str]) -> bool:
    """Whether words are one number and nothing else: "two hundred five", not "two five" and not "two dots"."""
    kinds = "".join(_KINDS.get(word, "?") for word in words)
    return re.fullmatch(r"(?:z|(?=.)(?:(?:ah)?(?:ta|[tab])?s)*(?:(?:ah)?(?:ta|[tab])?))(?:p[za]+)?", kinds) is not None


_KINDS = {
    word: "zabtshp"[kind]
    for kind, words in enumerate((_ONES[:1], _ONES[1:10], _ONES[10:], _TENS, _SCALES, ("hundred",), ("point",)))
    for word in words
}


def _whole(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word in _SCALES:
            total, current = total + (current or 1) * _SCALES[word], 0
        elif word == "hundred":
            current = (current or 1) * 100
        else:
            current += _SMALL[word]
    return total + current


def number_in_latex(text: str) -> Any:
    """The number that a whole LaTeX text stands for; None if it is none, as with a unit or a variable."""
    text = _LAYOUT.sub("", text).replace("\\dfrac", "\\frac").strip().rstrip(".")
    text = re.sub(r"\A[A-Za-z]\s*=", "", text).strip()
    if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        text = text.replace(",", "")
    share = text.endswith("\\%")
    found = value_of(text.removesuffix("\\%").strip())
    return found / 100 if share and found is not None else found


def is_float(text: str) -> bool:
    """Whether a whole text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True
