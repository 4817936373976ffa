"""The yes/no rules of published evaluations, kept exactly as published: POPE's own, and VLMEvalKit's for HallusionBench.

The filter `yes_no` reads more answers; these two reproduce published numbers.
"""

from __future__ import annotations

import re
from typing import Any

from mm_eval.filters.base import TRUNCATED, UNPARSED, EachAnswer, found_by, register_filter
from mm_eval.filters.extraction import is_searched, rule_for, unread

_DENIALS = frozenset(("No", "no", "not"))
_WORD = re.compile(r"\w+")
_THOUSANDS = re.compile(r"\d,\d")
_MARKS = ';/[]"{}()=+\\_-><@`,?!'
_FULL_STOP = re.compile(r"(?<!\d)\.(?!\d)")
_FULL_STOPS = 32
"""Both scripts remove at most so many full stops: they pass `re.UNICODE`, which is 32, where `re.sub` takes the count."""


@register_filter("pope_yes_no")
class PopeYesNoFilter(EachAnswer):
    """Reads an answer as POPE does: "no" if its first sentence has the word No, no or not, otherwise "yes".

    The sentence ends at the first full stop, commas are removed, and words are divided at single blanks, so "NO" and "no!" are
    read as yes. An answer without any form of yes or no is scored as the "yes" of this rule and counts as unparsed.

    Source: Li et al. 2023, arXiv:2305.10355, and evaluate.py of github.com/AoiDragon/POPE.
    """

    def one(self, answer: Any) -> Any:
        """ "yes" or "no"; None for an answer that ended while the model was thinking."""
        if not isinstance(answer, str) or getattr(answer, "rule", None) == TRUNCATED:
            return unread(answer, None)
        words = answer.partition(".")[0].replace(",", "").split(" ")
        if not _DENIALS.isdisjoint(words):
            return found_by("no", "no_word")
        said = {word.lower() for word in _WORD.findall(answer)}
        return found_by("yes", UNPARSED if said.isdisjoint(("yes", "no", "not")) else "not_no")


@register_filter("yes_no_words")
class YesNoWordsFilter(EachAnswer):
    """Finds the one of the words yes and no that an answer has; an answer with both or neither is unparsed.

    The answer is in lower case and without punctuation, except for marks that the rule keeps: "Yes:" and "**No**" are unparsed.
    fallback: replaces an answer that the rule can't read.

    Source: YOrN_Extraction and process_punctuation of github.com/open-compass/VLMEvalKit.
    """

    def __init__(self, fallback: Any = None) -> None:
        self.fallback = fallback

    def one(self, answer: Any) -> Any:
        """ "yes", "no" or the fallback."""
        if not is_searched(answer):
            return unread(answer, self.fallback)
        found = {"yes", "no"}.intersection(without_punctuation(answer.lower()).split())
        return found_by(found.pop(), rule_for(answer, "word")) if len(found) == 1 else unread(answer, self.fallback)


def without_punctuation(text: str, full_stop: re.Pattern[str] = _FULL_STOP) -> str:
    """The text without punctuation, as VQAv2's script and after it VLMEvalKit remove it.

    A mark is deleted if it stands next to a blank anywhere in the text or the text has a comma between digits; otherwise it
    becomes a blank. full_stop: the full stops that are deleted; by default those that touch no digit, as in VLMEvalKit.
    """
    deleted = _THOUSANDS.search(text) is not None
    found = text
    for mark in _MARKS:
        if mark in found:
            touches = f"{mark} " in text or f" {mark}" in text
            found = found.replace(mark, "" if touches or deleted else " ")
    return full_stop.sub("", found, count=_FULL_STOPS)
