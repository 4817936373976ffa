r"""The filter `math_answer`: the final answer of a mathematical solution, in a box or after "answer"."""

from __future__ import annotations

import re
from typing import Any

from mm_eval.scoring.filters.base import WHOLE_ANSWER, EachAnswer, found_by, register_filter
from mm_eval.scoring.filters.extraction import is_searched, rule_for, unread

LONGEST = 20_000
"""The most characters of a solution that are read; of a longer one the end, where the answer is."""
SHORT = 60
"""A line of at most so many characters is taken for the answer itself."""

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_SIGN = re.compile(r"(?:\A|[^\d)\]}\s]\s*)[-−]\Z")
_BARE_BOX = re.compile(r"\\(?:boxed|fbox)\s+([^\s{}$\\]+)")
_ANSWER = re.compile(r"\banswer\s*(?:\*\*)?\s*(?:is|:|=)\s*:?\s*(?:\*\*)?|答案(?:是|为|：|:)", re.IGNORECASE)
_END = re.compile(r"\n|(?<!\d)\.\s|(?<=\d)\.\s+[A-Z]|\.\s*$|。")


@register_filter("math_answer")
class MathAnswerFilter(EachAnswer):
    r"""Takes the content of the last \boxed{...}, else what follows the last "answer is" or "Answer:", else a short answer whole.

    Anything else is unparsed: no number is picked from the text.
    """

    def one(self, answer: Any) -> Any:
        """The final answer of one solution; None where there is none."""
        if not is_searched(answer):
            return unread(answer, None)
        text = str(answer)[-LONGEST:].strip()
        boxed = last_boxed(text)
        if boxed is not None:
            return found_by(boxed.strip(), rule_for(answer, "boxed")) if boxed.strip() else unread(answer, None)
        *_, last = None, *_ANSWER.finditer(text)
        if last is not None:
            clause = _END.split(text[last.end() :].lstrip(), maxsplit=1)[0].strip("* ")
            return found_by(clause, rule_for(answer, "answer_is")) if clause else unread(answer, None)
        if text and len(text) <= SHORT and "\n" not in text:
            return found_by(text.strip("* "), rule_for(answer, WHOLE_ANSWER))
        return unread(answer, None)


def last_boxed(text: str) -> str | None:
    r"""The content of the last \boxed{...} whose braces are balanced, or of "\boxed 7"; None without one.

    A sign in front belongs to it: "x = -\boxed{3}" is "-3". A difference ("5-\boxed{3}") and a dash ("- \boxed{3}") are not sign.
    """
    for match in reversed([*_BOX.finditer(text)][-20:]):
        box, depth = match.end(), 0
        for place in range(box, len(text)):
            escaped = text[place - 1] == "\\" and text[place - 2 : place] != "\\\\"
            if text[place] in "{}" and not escaped:
                depth += 1 if text[place] == "{" else -1
                if depth == 0:
                    content = text[box + 1 : place]
                    signed = _SIGN.search(text[max(0, match.start() - 10) : match.start()])
                    return f"-{content}" if signed and not re.fullmatch(r"\s*[A-Z]\s*", content) else content
    *_, bare = None, *_BARE_BOX.finditer(text)
    return None if bare is None else bare[1]
