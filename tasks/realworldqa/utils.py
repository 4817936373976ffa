"""RealWorldQA: a letter, a number or a word for each photo. The benchmark has no script of its own.

Source: https://x.ai/news/grok-1.5v; for answers without letters lmms-eval's comparison.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.base import is_unread, rule_of
from mm_eval.scoring.filters.letters import McqLetterFilter

LETTERS = "ABCDEF"
OPTION = re.compile(r"^[A-F]\.\s+(.*)$", re.MULTILINE)
READER = McqLetterFilter(letters=LETTERS)


def answer_kind(doc: Mapping[str, Any]) -> str:
    """Whether the right answer is a letter or a text."""
    return "letter" if doc["answer"].strip().upper() in set(LETTERS) else "text"


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter, or for the right text apart from case and full stops at its end."""
    answer, gold = results[0] or "", doc["answer"].strip()
    if answer_kind(doc) == "letter":
        letter = READER.one(answer, [option.strip() for option in OPTION.findall(doc["question"])])
        letter = READER.one(answer) if is_unread(letter) else letter  # where the options are not one a line
        return {"exact_match": float(letter == gold.upper()), "__rule__": rule_of(letter)}
    given = answer.strip().rstrip(".").lower()
    return {"exact_match": float(given == gold.lower()), "__rule__": "whole answer" if given else "unparsed"}
