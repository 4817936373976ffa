"""What the rules of GSM8K find must be a number.

Source: the patterns are lm-eval's (gsm8k.yaml), which also match "$." behind a LaTeX box and the minutes of a time.
"""

from __future__ import annotations

from typing import Any

from mm_eval.tasks.rules.math_answer import last_boxed
from mm_eval.tasks.rules.math_answers import stated
from mm_eval.tasks.rules.math_equality import exact
from mm_eval.tasks.rules.math_values import rational_of

from mm_eval.scoring.filters.base import EachAnswer, found_by, is_unread
from mm_eval.scoring.filters.extraction import is_searched, rule_for, unread

LONGEST = 20_000
"""The most characters of an answer that are read; of a longer one the end."""


class Number(EachAnswer):
    """Takes a match without a digit, or a time such as "5:00", for no answer; no earlier number takes its place."""

    extracts = False

    def one(self, answer: Any) -> Any:
        """The match, or "[invalid]"."""
        if is_unread(answer) or not isinstance(answer, str):
            return answer
        is_number = any(map(str.isdigit, answer)) and ":" not in answer
        return answer if is_number else unread(answer, "[invalid]")


class Boxed(EachAnswer):
    r"""The number in the last LaTeX box, as digits: of "\boxed{256 + 37 = 293}" 293, of "\boxed{\$9{,}500}" 9500."""

    def one(self, answer: Any) -> Any:
        """The number, or "[invalid]" where the last box holds none or several."""
        box = last_boxed(str(answer)[-LONGEST:]) if is_searched(answer) else None
        values = stated(box) if box and len(box) <= 200 else []
        value = values[0].values[-1] if len(values) == 1 and values[0].values else ""
        number = exact(value)
        number = rational_of(value) if number is None else number
        if number is None or number.denominator > 10**6:
            return unread(answer, "[invalid]")
        text = str(number.numerator) if number.denominator == 1 else f"{float(number):.6f}".rstrip("0")
        return found_by(text, rule_for(answer, "boxed"))
