"""What the rules of GSM8K find must be a number.

Source: the patterns are lm-eval's (gsm8k.yaml), which also match "$." behind a LaTeX box and the minutes of a time.
"""

from __future__ import annotations

from typing import Any

from mm_eval.scoring.filters.base import EachAnswer, is_unread
from mm_eval.scoring.filters.extraction import unread


class Number(EachAnswer):
    """Takes a match without a digit, or a time such as "5:00", for no answer; no earlier number takes its place."""

    extracts = False

    def one(self, answer: Any) -> Any:
        """The match, or "[invalid]"."""
        if is_unread(answer) or not isinstance(answer, str):
            return answer
        is_number = any(map(str.isdigit, answer)) and ":" not in answer
        return answer if is_number else unread(answer, "[invalid]")
