"""BIG-Bench Hard: the final answer of a text that ends in "So the answer is ...", or says it in another plain form."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.math_answer import SHORT, last_boxed

from mm_eval.scoring.filters.base import WHOLE_ANSWER, Filter, found_by
from mm_eval.scoring.filters.extraction import is_searched, rule_for, unread

_STATED = re.compile(r"the answer is ")
_STATED_OTHERWISE = re.compile(r"\banswer(?: is)?\**\s*(?::|(?<=is))\s*", re.IGNORECASE)
_OPTION = re.compile(r"\(?([A-Z])\)?(?![^\s.,:;]).*", re.IGNORECASE)
_ANOTHER = re.compile(r"\([A-Z]\)|\b[B-Z]\b")  # "A" and "a" are words, too


class FinalAnswer(Filter):
    """The text behind the first "the answer is", else behind the last "answer:", else in a box, else a short answer whole.

    The text ends with its line; a closing full stop and marks of emphasis are dropped. Where the question lists options "(A)",
    the letter of one option is enough; two options, as in "(A) or (B)", are none.
    """

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Mapping[str, Any]]) -> Iterable[Sequence[Any]]:
        for answers, doc in zip(resps, docs, strict=True):
            lettered = "Options:\n(A)" in str(doc.get("input"))
            yield [self._one(answer, lettered) for answer in answers]

    def _one(self, answer: Any, lettered: bool) -> Any:
        if not is_searched(answer):
            return unread(answer, None)
        rule, text = _found(answer)
        text = (last_boxed(text) or text).strip().strip("*$ ").removesuffix(".").strip("*$ ")
        letter = _OPTION.fullmatch(text) if lettered else None
        if letter and not _ANOTHER.search(text, letter.end(1) + 1):
            text = f"({letter[1].upper()})"
        return found_by(text, rule_for(answer, rule)) if text else unread(answer, None)


def _found(answer: str) -> tuple[str, str]:
    """The rule that applies, and the line that it finds; an empty line if none applies."""
    if stated := _STATED.search(answer):
        return "answer_is", answer[stated.end() :].partition("\n")[0]
    *_, last = None, *_STATED_OTHERWISE.finditer(answer)
    if last is not None:
        return "answer_is", answer[last.end() :].lstrip("* ").partition("\n")[0]
    if (box := last_boxed(answer)) is not None:
        return "boxed", box
    whole = answer.strip()
    return WHOLE_ANSWER, whole if len(whole) <= SHORT and "\n" not in whole else ""
