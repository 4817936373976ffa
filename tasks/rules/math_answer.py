r"""The filter `math_answer`: the final answer of a mathematical solution, in a box or after "answer"."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from mm_eval.scoring.filters.base import WHOLE_ANSWER, EachAnswer, found_by, register_filter
from mm_eval.scoring.filters.extraction import is_searched, rule_for, unread

LONGEST = 20_000
"""The most characters of a solution that are read; of a longer one the end, where the answer is."""
MOST_JOINED = 10
"""The most boxes before the last that are read with it."""
SHORT = 60
"""A line of at most so many characters is taken for the answer itself."""

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?=\{)")
_SIGN = re.compile(r"(?:\A|[^\d)\]}\s]\s*)[-−]\Z")
_BARE_BOX = re.compile(r"\\(?:boxed|fbox)\s+([^\s{}$\\]+)")
_JOINT = re.compile(
    r"[\s$]*(?:[,;]|(?:[,;]\s*)?(?:\\text\{)?[\s\\]*(?:and|or)[\s\\]*\}?)[\s$\\]*(?:([A-Za-z](?:_\{?\w\}?)?)\s*=\s*)?-?\$?"
)
_NAME_OF_BOX = re.compile(r"(?<![A-Za-z\\_{])([A-Za-z](?:_\{?\w\}?)?)\s*=\s*-?\$?\Z")
_HEADING = re.compile(r"(?:^|\n)[^\w\n]{0,20}(?:the\s+)?(?:final\s+|correct\s+)?answer[^\w\n]{0,20}\n", re.IGNORECASE)
"""A line that is a heading; the next one with text is the answer."""
_REASON = re.compile(r"\s+\(?(?:because|since)\b")
_NEARLY = re.compile(r"\A(?:approximately|about|roughly|exactly|simply|thus|therefore|indeed)\s+")
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
        boxed = last_boxes(text)
        if boxed is not None:
            return found_by(boxed.strip(), rule_for(answer, "boxed")) if boxed.strip() else unread(answer, None)
        *_, last = None, *sorted([*_ANSWER.finditer(text), *_HEADING.finditer(text)], key=re.Match.end)
        if last is not None:
            clause = _clause(text[last.end() :])
            return found_by(clause, rule_for(answer, "answer_is")) if clause else unread(answer, None)
        if text and len(text) <= SHORT and "\n" not in text:
            return found_by(text.strip("* "), rule_for(answer, WHOLE_ANSWER))
        return unread(answer, None)


def _clause(text: str) -> str:
    """The answer at the start of a text: the first line that is more than marks, up to its sentence's end or its reason."""
    clause = _END.split(re.sub(r"\A(?:[\s*#$>]|\\[\[(])*\n\s*", "", text).lstrip(), maxsplit=1)[0]
    return _NEARLY.sub("", _REASON.split(clause, maxsplit=1)[0].strip("* "))


def last_boxed(text: str) -> str | None:
    r"""The content of the last \boxed{...} whose braces are balanced, or of "\boxed 7"; None without one.

    A sign in front belongs to it: "x = -\boxed{3}" is "-3". A difference ("5-\boxed{3}") and a dash ("- \boxed{3}") are not sign.
    """
    box = _last_box(text)
    return None if box is None else box.content


def last_boxes(text: str) -> str | None:
    r"""As `last_boxed`, with the boxes before it that one sentence joins to it: "x=\boxed{2} and y=\boxed{3}" is "x=2, y=3"."""
    box = _last_box(text)
    if box is None:
        return None
    found, names = [box.content], list[str]()
    for _ in range(MOST_JOINED):
        before = _last_box(text[: box.start])
        joint = _JOINT.fullmatch(text, before.end, box.start) if before else None
        if before is None or joint is None:
            break
        names.insert(0, joint[1] or "")
        found.insert(0, before.content)
        box = before
    if len(found) == 1:
        return found[0]
    first = _NAME_OF_BOX.search(text[max(0, box.start - 20) : box.start])
    names.insert(0, first[1] if first else "")
    return ", ".join(f"{name}={content}" if name else content for name, content in zip(names, found, strict=True))


class _Box(NamedTuple):
    start: int
    end: int
    content: str


def _last_box(text: str) -> _Box | None:
    for match in reversed([*_BOX.finditer(text)][-20:]):
        box, depth = match.end(), 0
        for place in range(box, len(text)):
            escaped = text[place - 1] == "\\" and text[place - 2 : place] != "\\\\"
            if text[place] in "{}" and not escaped:
                depth += 1 if text[place] == "{" else -1
                if depth == 0:
                    content = text[box + 1 : place]
                    signed = _SIGN.search(text[max(0, match.start() - 10) : match.start()])
                    is_negative = signed and not re.fullmatch(r"\s*[A-Z]\s*", content)
                    return _Box(match.start(), place + 1, f"-{content}" if is_negative else content)
    *_, bare = None, *_BARE_BOX.finditer(text)
    return None if bare is None else _Box(bare.start(), bare.end(), bare[1])
